"""When two addresses or texts name the same work: a paper, a standard, a video, a file, a package.

A work is told from its identifier alone, wrappers opened.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import unquote

from custody.cite.urls import UrlParts, key_of, parts_of, unwrap_url

# Identifiers of works as people write them: how each kind is recognised and brought to one form.


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


# Which work an address names, by one row of a table for each way in which a site names works.
# What is only *about* a work has no row: a page that discusses a paper is another page.


def known_site(parts: UrlParts) -> WorkId | None:
    """The work that a page of a known site names."""
    host = parts.host.removeprefix("www.")
    path = unquote(parts.path)
    for hosts, pattern, read in SITES:
        if hosts.fullmatch(host) and (found := pattern.fullmatch(path)):
            known = read(found, parts)
            if known is not None:
                return known
    return None


def _packaged(system: str) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda found, _: package_named(system, found["name"], found.groupdict().get("version"))


def _github_file(found: re.Match[str], _: UrlParts) -> WorkId | None:
    return "github", f"{found['owner']}/{found['repo']}".lower() + f"/{found['ref']}/{found['file']}"


def _github_number(found: re.Match[str], _: UrlParts) -> WorkId | None:
    return "github", f"{found['owner']}/{found['repo']}#{found['number']}".lower()


def _github_repository(found: re.Match[str], _: UrlParts) -> WorkId | None:
    if found["owner"].lower() in _GITHUB_OWN:
        return None
    return "github", f"{found['owner']}/{found['repo'].removesuffix('.git')}".lower()


_GITHUB_OWN = frozenset(
    "about apps blog collections customer-stories enterprise events explore features issues login marketplace new"
    " notifications orgs organizations pricing pulls readme search security sessions settings site sponsors stars team"
    " topics trending users".split()
)


def _of(read: Callable[[str], WorkId | None]) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda found, _: read(found[1])


def _in_query(name: str, read: Callable[[str], WorkId | None]) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda _, parts: next((work for value in parts.values(name) if (work := read(value))), None)


def _publisher_doi(found: re.Match[str], _: UrlParts) -> WorkId | None:
    """A DOI inside a publisher's path, without what the publisher puts behind it."""
    return doi_named(re.sub(r"(?:/(?:full|abstract|pdf|epdf|meta|html|summary|fulltext|references))?/?$", "", found[1]))


def _as(kind: str) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda found, _: (kind, found[1])


def _tweet(found: re.Match[str], _: UrlParts) -> WorkId | None:
    return "tweet", found[1]


def _question(found: re.Match[str], parts: UrlParts) -> WorkId | None:
    return "question", f"{parts.host.removeprefix('www.')}/{found[1]}"


def _nature(found: re.Match[str], _: UrlParts) -> WorkId | None:
    return doi_named(f"10.1038/{found[1]}")


_REPO = r"/(?P<owner>[\w-]+)/(?P<repo>[\w.-]+)"
_DOI_PATHS = (
    r"dl\.acm\.org|(?:[\w-]+\.)?onlinelibrary\.wiley\.com|tandfonline\.com|science\.org|pnas\.org"
    r"|journals\.sagepub\.com|pubs\.acs\.org|journals\.physiology\.org|annualreviews\.org"
)
_NCBI = r"(?:ncbi\.nlm\.nih\.gov|pmc\.ncbi\.nlm\.nih\.gov|pubmed\.ncbi\.nlm\.nih\.gov)"

SITES: tuple[tuple[re.Pattern[str], re.Pattern[str], Callable[[re.Match[str], UrlParts], WorkId | None]], ...] = tuple(
    (re.compile(hosts), re.compile(pattern, flags), read)
    for hosts, pattern, read, flags in (
        (r"(?:dx\.)?doi\.org", r"/(10\..+?)/?", _of(doi_named), 0),
        (
            _DOI_PATHS,
            r"/doi/(?:(?:abs|full|pdf|epdf|pdfdirect|book|epub)/)?(10\..+)",
            _publisher_doi,
            0,
        ),
        (
            r"link\.springer\.com",
            r"/(?:article|chapter|book|content/pdf|content/html)/(10\..+?)(?:\.pdf|\.html)?",
            _publisher_doi,
            0,
        ),
        (r"journals\.plos\.org", r"/\w+/article(?:/file|/metrics|/comments|/authors)?", _in_query("id", doi_named), 0),
        (
            r"(?:frontiersin|biorxiv|medrxiv)\.org",
            r"(?:/journals/[^/]+)?/(?:articles|content)/(10\.\d+/[^/]+?)(?:v\d+)?(?:\.full|\.abstract|\.full\.pdf)?(?:/full|/abstract|/pdf)?",
            _publisher_doi,
            0,
        ),
        (r"nature\.com", r"/articles/([a-z0-9-]+?)(?:\.pdf)?", _nature, 0),
        (r"(?:export\.|\w\w\.)?arxiv\.org", r"/(?:abs|pdf|html|format|ps)/(.+?)(?:\.pdf)?/?", _of(parse_arxiv_id), 0),
        (r"ar5iv\.(?:org|labs\.arxiv\.org)|alphaxiv\.org", r"/(?:abs|html|pdf)/(.+?)/?", _of(parse_arxiv_id), 0),
        (_NCBI, r"/(?:pubmed/)?(\d+)/?", _of(make_number_reader("pmid")), 0),
        (_NCBI, r"/(?:pmc/)?articles/(PMC\d+)(?:/(?:pdf/.*)?)?", _of(pmcid_named), re.IGNORECASE),
        (r"europepmc\.org", r"/(?:article|abstract)/MED/(\d+)", _of(make_number_reader("pmid")), re.IGNORECASE),
        (r"europepmc\.org", r"/(?:article/PMC|articles)/(?:PMC)?(\d+)", _of(pmcid_named), re.IGNORECASE),
        (
            r"(?:rfc-editor|ietf|tools\.ietf|datatracker\.ietf|httpwg)\.org",
            r"/(?:rfc|info|html|doc|doc/html|specs|pdf)/rfc0*(\d{1,5})(?:\.(?:html|txt|pdf|json|xml))?/?",
            _of(make_number_reader("rfc")),
            re.IGNORECASE,
        ),
        (r"nvd\.nist\.gov", r"/vuln/detail/(.+?)/?", _of(cve_named), re.IGNORECASE),
        (r"cve\.org", r"/CVERecord", _in_query("id", cve_named), re.IGNORECASE),
        (r"cve\.mitre\.org", r"/cgi-bin/cvename\.cgi", _in_query("name", cve_named), 0),
        (r"openlibrary\.org|isbnsearch\.org", r"/isbn/([\dXx-]+)/?", _of(isbn_named), 0),
        (
            r"amazon(?:\.\w+){1,2}",
            r"/(?:[^/]+/)?(?:dp|gp/product|exec/obidos/ASIN)/(\d{9}[\dX])(?:/.*)?",
            _of(isbn_named),
            0,
        ),
        (r"books\.google(?:\.\w+){1,2}", r"/books", _in_query("isbn", isbn_named), 0),
        (r"(?:m\.|music\.)?youtube\.com", r"/watch/?", _in_query("v", video_named), 0),
        (
            r"(?:m\.|music\.)?youtube(?:-nocookie)?\.com",
            r"/(?:embed|shorts|live|v|e)/([\w-]{11})/?",
            _of(video_named),
            0,
        ),
        (r"youtu\.be", r"/([\w-]{11})/?", _of(video_named), 0),
        (r"github\.com", rf"{_REPO}/(?:blob|raw)/(?P<ref>[^/]+)/(?P<file>.+)", _github_file, 0),
        (
            r"raw\.githubusercontent\.com",
            rf"{_REPO}/(?:refs/(?:heads|tags)/)?(?P<ref>[^/]+)/(?P<file>.+)",
            _github_file,
            0,
        ),
        (r"github\.com", rf"{_REPO}/(?:issues|pull|discussions)/(?P<number>\d+)/?", _github_number, 0),
        (r"github\.com", rf"{_REPO}/?", _github_repository, 0),
        (r"(?:mobile\.|m\.)?(?:twitter|x)\.com", r"/(?:\w{1,15}|i/web)/status/(\d+)/?", _tweet, 0),
        (
            r"(?:stackoverflow|superuser|serverfault|askubuntu)\.com|[\w.]+\.stackexchange\.com",
            r"/(?:questions|q)/(\d+)(?:/(?!\d+$)[^/]*)?/?",
            _question,
            0,
        ),
        (
            r"(?:old\.|np\.|new\.|m\.|i\.)?reddit\.com",
            r"/r/\w+/comments/([a-z0-9]+)(?:/[^/]*)?/?",
            _as("reddit"),
            re.IGNORECASE,
        ),
        (
            r"pypi\.(?:org|python\.org)",
            r"/(?:project|pypi)/(?P<name>[\w.-]+)(?:/(?P<version>[\w.+!-]+))?/?",
            _packaged("pypi"),
            0,
        ),
        (
            r"npmjs\.com",
            r"/package/(?P<name>(?:@[\w.~-]+/)?[\w.~-]+)(?:/v/(?P<version>[\w.+-]+))?/?",
            _packaged("npm"),
            0,
        ),
        (r"crates\.io", r"/crates/(?P<name>[\w-]+)(?:/(?P<version>[\w.+-]+))?/?", _packaged("cargo"), 0),
        (r"pkg\.go\.dev", r"/(?P<name>[^@]+\.[^@]+)@(?P<version>v[\w.+-]+)/?", _packaged("golang"), 0),
        (r"rubygems\.org", r"/gems/(?P<name>[\w.-]+)(?:/versions/(?P<version>[\w.-]+))?/?", _packaged("gem"), 0),
        (r"nuget\.org", r"/packages/(?P<name>[\w.-]+)(?:/(?P<version>[\w.+-]+))?/?", _packaged("nuget"), re.IGNORECASE),
        (
            r"(?:mvnrepository\.com|central\.sonatype\.com)",
            r"/artifact/(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<version>[\w.+-]+))?/?",
            _packaged("maven"),
            0,
        ),
    )
)
"""One row for each way in which a site names works: hosts, path, how the id is read from it."""


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
