"""Ids of documents in URLs: random words that are no secrets. Only redaction needs them."""

from __future__ import annotations

_SITES = tuple(
    "docs.google. drive.google. sheets.google. slides.google. forms.google. script.google. colab.research.google."
    " calendar.google. photos.google. photos.app.goo.gl forms.gle lookerstudio.google. datastudio.google. figma.com"
    " youtube.com youtu.be loom.com miro.com notion.so notion.site airtable.com sharepoint.com 1drv.ms onedrive.live."
    " dropbox.com box.com quip.com canva.com overleaf.com gitbook. medium.com ipfs arweave.net lucid.app whimsical.com"
    " mural.co typeform.com observablehq.com huggingface.co deepnote.com replit.com codepen.io excalidraw.com".split()
)
_FOLDERS = frozenset(
    "d e u folders folder file files document documents doc docs spreadsheets presentation forms design proto board"
    " boards playlist watch share view embed ipfs ipns blob c channel scl fi fo s p page pages projects drive open"
    " notebooks viewer reporting".split()
)
URL_REACH = 200


def is_document_id(text: str, start: int) -> bool:
    """Return whether a random word begins an element of the URL of a document, a drawing or a video."""
    words = text[max(0, start - URL_REACH) : start].split()
    before = words[-1] if words and not text[start - 1 : start].isspace() else ""
    for character in "\"'`<>()[]{}":
        before = before.rpartition(character)[2]
    site, slash, path = before.lower().partition("://")[2].partition("/") if "://" in before else before.partition("/")
    if not slash or not any(name in site for name in _SITES):
        return False
    folders = path.partition("?")[0].split("/")
    key = before.rpartition("?")[2].rpartition("&")[2] if "?" in before else ""
    if key:
        return key in ("id=", "list=", "v=", "node-id=", "docId=", "srcid=", "resourcekey=")
    return len(folders) < 2 or bool(_FOLDERS.intersection(folders[:-1])) or "ipfs" in site
