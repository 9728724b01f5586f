"""Identifiers of works as people write them: how each kind is recognised and brought to one form."""

import re
from collections.abc import Callable
from urllib.parse import unquote

WorkId = tuple[str, str]
"""Kind and id: ``("doi", "10.1000/182")``."""

_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+")
_ARXIV_NEW = re.compile(r"(\d{4}\.\d{4,5})(?:v(\d+))?")
_ARXIV_OLD = re.compile(r"([a-z][a-z-]*)(?:\.[a-z]{2})?/(\d{7})(?:v(\d+))?", re.IGNORECASE)
_VIDEO = re.compile(r"[\w-]{11}", re.ASCII)
_DIGITS = re.compile(r"[1-9]\d{0,11}", re.ASCII)
_CVE = re.compile(r"CVE-(?:19|20)\d\d-\d{4,19}", re.IGNORECASE | re.ASCII)
_VERSION = re.compile(r"v?\d[\w.+!-]*", re.ASCII)


def identified(text: str) -> WorkId | None:
    """The work that a whole text names as an identifier; None when it is more or less than that."""
    for pattern, read in _TEXTS:
        found = pattern.fullmatch(text)
        if found is not None:
            return read(found[1])
    return None


def doi_named(text: str) -> WorkId | None:
    """The work of a DOI; arXiv's own DOIs are arXiv's papers."""
    doi = unquote(text).strip().rstrip(".").lower()
    if _DOI.fullmatch(doi) is None:
        return None
    if doi.startswith("10.48550/arxiv."):
        return parse_arxiv_id(doi.removeprefix("10.48550/arxiv."))
    return "doi", doi


def parse_arxiv_id(text: str) -> WorkId | None:
    """The paper of an arXiv id, old or new, without its version."""
    if found := _ARXIV_NEW.fullmatch(text):
        return "arxiv", found[1]
    found = _ARXIV_OLD.fullmatch(text)
    return None if found is None else ("arxiv", f"{found[1].lower()}/{found[2]}")


def make_number_reader(kind: str) -> Callable[[str], WorkId | None]:
    """How a work that is a number of its kind is read."""

    def read(text: str) -> WorkId | None:
        digits = text.lstrip("0") if text.isascii() else ""
        return (kind, digits) if _DIGITS.fullmatch(digits) else None

    return read


def pmcid_named(text: str) -> WorkId | None:
    """The article of a PMC id."""
    return make_number_reader("pmc")(re.sub("^PMC", "", text, flags=re.IGNORECASE))


def cve_named(text: str) -> WorkId | None:
    """The vulnerability of a CVE id."""
    return ("cve", text.upper()) if _CVE.fullmatch(text) else None


def isbn_named(text: str) -> WorkId | None:
    """The book of an ISBN with a right check digit."""
    found = isbn13(text)
    return None if found is None else ("isbn", found)


def video_named(text: str) -> WorkId | None:
    """The video of a YouTube id."""
    return ("youtube", text) if _VIDEO.fullmatch(text) else None


def purl_named(text: str) -> WorkId | None:
    """The package that a package URL names, without its scheme."""
    found = re.fullmatch(r"(\w+)/([^@?#]+)(?:@([^?#]+))?(?:[?#].*)?", text)
    if found is None:
        return None
    return package_named(found[1].lower(), unquote(found[2]), None if found[3] is None else unquote(found[3]))


def package_named(system: str, name: str, version: str | None) -> WorkId | None:
    """A package of a system, with its version if one is said; names are compared as the system does."""
    name = name.strip("/")
    if system == "pypi":
        name = re.sub(r"[-_.]+", "-", name).lower()
    elif system == "nuget":
        name = name.lower()
    if not name or (version is not None and not _VERSION.fullmatch(version)):
        return None
    return "package", f"{system}/{name}" + (f"@{version}" if version else "")


_TEXTS: tuple[tuple[re.Pattern[str], Callable[[str], WorkId | None]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"(?:doi:\s*|info:doi/|urn:doi:)?(10\.\d{4,9}(?:\.\d+)*/\S+)", doi_named),
        (r"arxiv:\s*(\S+)", parse_arxiv_id),
        (r"(?:pmid:?|info:pmid/)\s*(\d+)", make_number_reader("pmid")),
        (r"(?:pmcid:?\s*)?(PMC\d+)", pmcid_named),
        (r"rfc[:\s-]?\s*(\d{1,5})", make_number_reader("rfc")),
        (r"(cve-\d{4}-\d+)", cve_named),
        (r"(?:urn:)?isbn(?:-1[03])?:?\s*([\dX\s-]{10,20})", isbn_named),
        (r"pkg:(.+)", purl_named),
    )
)


def isbn13(text: str) -> str | None:
    """An ISBN of either length as 13 digits, when its check digit is right.

    >>> isbn13("0-306-40615-2"), isbn13("978-0-306-40615-7"), isbn13("0-306-40615-3")
    ('9780306406157', '9780306406157', None)
    """
    signs = re.sub(r"[\s-]", "", text).upper()
    if re.fullmatch(r"\d{9}[\dX]", signs, re.ASCII):
        values = [10 if sign == "X" else int(sign) for sign in signs]
        if sum(value * (10 - at) for at, value in enumerate(values)) % 11:
            return None
        return _with_check_digit(f"978{signs[:9]}")
    if re.fullmatch(r"97[89]\d{10}", signs, re.ASCII):
        return signs if _with_check_digit(signs[:12]) == signs else None
    return None


def _with_check_digit(twelve: str) -> str:
    total = sum(int(sign) * (3 if at % 2 else 1) for at, sign in enumerate(twelve))
    return f"{twelve}{-total % 10}"
