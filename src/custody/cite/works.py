"""When two addresses or texts name the same work: a paper, a standard, a video, a file, a package.

A work is told from its identifier alone, wrappers opened.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from custody.cite.identifiers import (
    WorkId,
    cve_named,
    identified,
    isbn_named,
    make_number_reader,
    parse_arxiv_id,
    pmcid_named,
)
from custody.cite.sites import known_site
from custody.cite.urls import key_of, parts_of, unwrap_url

PAGE = "page"
"""The kind of a wrapper's inner page, whose id is its ``url_key``."""


def work_key(said: str) -> WorkId | None:
    """The work that a URL or an identifier names, wrappers opened; None when it names none that we know.

    >>> work_key("https://arxiv.org/pdf/2101.00001v2.pdf"), work_key("doi:10.48550/arXiv.2101.00001")
    (('arxiv', '2101.00001'), ('arxiv', '2101.00001'))
    >>> work_key("https://web.archive.org/web/2020/https://youtu.be/dQw4w9WgXcQ?t=4")
    ('youtube', 'dQw4w9WgXcQ')
    """
    text = said.strip()
    inner = unwrap_url(text)
    parts = parts_of(inner or text)
    if parts is None:
        return identified(text)
    known = known_site(parts) if parts.is_web else None
    if known is not None or inner is None:
        return known
    return PAGE, key_of(parts)


def works_in(metadata: Mapping[str, object]) -> Iterable[WorkId]:
    """The works that metadata names under the usual names of identifiers."""
    for name, read in _METADATA.items():
        value = metadata.get(name)
        found = read(str(value).strip()) if isinstance(value, str | int) and not isinstance(value, bool) else None
        if found is not None:
            yield found


_METADATA: Mapping[str, Callable[[str], WorkId | None]] = MappingProxyType(
    {
        "doi": work_key,
        "arxiv": lambda text: work_key(text) or parse_arxiv_id(text),
        "arxiv_id": lambda text: work_key(text) or parse_arxiv_id(text),
        "pmid": lambda text: make_number_reader("pmid")(text) or work_key(text),
        "pmcid": lambda text: pmcid_named(text) or work_key(text),
        "isbn": lambda text: isbn_named(text) or work_key(text),
        "rfc": lambda text: make_number_reader("rfc")(text) or work_key(text),
        "cve": cve_named,
        "purl": work_key,
    }
)
