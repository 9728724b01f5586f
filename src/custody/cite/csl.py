"""Listed sources as CSL items, which reference managers read. Only what the list says goes in: nothing is guessed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from custody.cite.document import ListEntry
from custody.cite.markdown_text import plain
from custody.cite.works import work_key

_YEAR = re.compile(r"[(（]\s*(?P<year>1[5-9][0-9]{2}|20[0-9]{2})[^)）]{0,20}[)）]")


@dataclass(frozen=True, slots=True)
class CslItem:
    """One source: the fields of CSL that a list can fill."""

    id: str
    type: Literal["webpage", "article", "document"]
    title: str
    url: str | None = None
    doi: str | None = None
    year: int | None = None


def csl_items(entries: Iterable[ListEntry]) -> tuple[CslItem, ...]:
    """Every listed source, in the order of the list; one without a label is called by its place in it."""
    made: list[CslItem] = []
    used: set[str] = set()
    for place, entry in enumerate(entries, start=1):
        name = str(entry.label) if entry.label is not None else f"entry-{place}"
        unique = name if name not in used else f"{name}-{place}"
        used.add(unique)
        made.append(_item(unique, entry))
    return tuple(made)


def _item(name: str, entry: ListEntry) -> CslItem:
    title = plain(entry.title)
    work = work_key(entry.url) if entry.url else None
    doi = work[1] if work is not None and work[0] == "doi" else None
    found = _YEAR.search(title)
    return CslItem(
        id=name,
        type="article" if doi else "webpage" if entry.url else "document",
        title=title,
        url=entry.url,
        doi=doi,
        year=int(found["year"]) if found else None,
    )
