"""What an editor shows: the text of a hover, titles of lenses and hints, and texts of unsaved files as bytes."""

import codecs
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from custody.attribution.wire import Attribution
from custody.core.paths import Lines
from custody.terminal.screen import Screen, escape_controls
from custody.why.cli import render_why
from custody.why.report import ChainCommit, SessionLink, WhyReport

MarkMode = Literal["off", "agents", "on"]
"""Whose blocks are marked: none, those that agents wrote at least in part, or all."""

HOVER_CHARACTERS_MAX = 4_000
TITLE_CHARACTERS_MAX = 100
PROMPT_CHARACTERS_MAX = 60
SCREEN = Screen(columns=80, is_terminal=True)
"""A hover is as wide as a terminal of 80 columns, without colors: long prompts are cut."""
AUTHOR_WORDS: Mapping[str, str] = MappingProxyType({"person": "a person", "none": "unknown author"})
_BACKTICKS = "```"


class AuthorBlock(Struct, frozen=True):
    """Neighboring lines with one author, one session and one certainty."""

    lines: Lines
    kind: str
    title: str
    session: str | None


def render_hover(report: WhyReport, ids: Mapping[str, str], now_ns: int, *, is_markdown: bool) -> str:
    """Return the answer of ``custody why`` for a hover; as Markdown it is one fenced block, which no text ends."""
    lines = [
        SCREEN.render(part)
        for line in render_why(report, ids, SCREEN, now_ns, verbose=False)
        for part in SCREEN.wrap(line)
    ]
    # The editor shows the line itself, and -v is an option of the command line.
    shown = "\n".join(line for line in lines[2:] if not line.startswith("hint: ")).strip("\n")
    text = shown if len(shown) <= HOVER_CHARACTERS_MAX else f"{shown[:HOVER_CHARACTERS_MAX]}…"
    if not is_markdown:
        return text
    while _BACKTICKS in text:
        text = text.replace(_BACKTICKS, "`\u200b`\u200b`")
    return f"{_BACKTICKS}text\n{text}\n{_BACKTICKS}"


def find_session(report: WhyReport) -> str | None:
    """Return the recorded session behind a line, if there is one."""
    return next((link.session for link in report.chain if isinstance(link, SessionLink) and link.started), None)


def find_commit(report: WhyReport) -> str | None:
    """Return the commit that brought a line; None while it is not committed."""
    return next((link.commit for link in report.chain if isinstance(link, ChainCommit) and link.commit), None)


def list_author_blocks(attributions: Sequence[Attribution], mode: MarkMode) -> Iterator[AuthorBlock]:
    """Yield the blocks to mark, in order; neighbors that say the same are one block."""
    before: AuthorBlock | None = None
    for attribution in attributions:
        block = _make_author_block(attribution)
        if before is not None and _says_the_same(before, block):
            before = AuthorBlock(Lines(before.lines.first, block.lines.last), block.kind, block.title, block.session)
            continue
        if before is not None and _is_marked(before, mode):
            yield before
        before = block
    if before is not None and _is_marked(before, mode):
        yield before


def _says_the_same(before: AuthorBlock, block: AuthorBlock) -> bool:
    is_adjacent = before.lines.last + 1 == block.lines.first
    return is_adjacent and (before.kind, before.title, before.session) == (block.kind, block.title, block.session)


def _is_marked(block: AuthorBlock, mode: MarkMode) -> bool:
    return mode == "on" or (mode == "agents" and block.kind in ("agent", "mixed"))


def _make_author_block(attribution: Attribution) -> AuthorBlock:
    words = [AUTHOR_WORDS.get(attribution.kind) or attribution.agent or "an agent"]
    if attribution.kind == "mixed":
        words.append(f"{attribution.share:.0%} of each line")
    if attribution.kind != "none":
        words.append(attribution.certainty)
    prompt = " ".join((attribution.conversation_summary or "").split())
    if prompt and attribution.kind in ("agent", "mixed"):
        words.append(prompt if len(prompt) <= PROMPT_CHARACTERS_MAX else f"{prompt[:PROMPT_CHARACTERS_MAX]}…")
    title = escape_controls(" · ".join(words))[:TITLE_CHARACTERS_MAX]
    return AuthorBlock(
        Lines(attribution.start_line, attribution.end_line), attribution.kind, title, attribution.session_id
    )


def encode_buffer(text: str, on_disk: bytes | None) -> bytes:
    r"""Return the bytes that an editor would save, judging by those on disk: encoding, byte order mark, line ends.

    >>> encode_buffer("caf\xe9\nb\n", b"caf\xe9\r\n")
    b'caf\xe9\r\nb\r\n'
    >>> encode_buffer("a\n", None)
    b'a\n'
    """
    disk = on_disk or b""
    if b"\r\n" in disk and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    if disk.startswith(codecs.BOM_UTF8):
        return codecs.BOM_UTF8 + text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    if not _is_utf8(disk):
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            pass  # it has characters that the file on disk could not have: saved as UTF-8
    return text.encode("utf-8", "surrogatepass")


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
