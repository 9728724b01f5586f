"""Works and their identifiers: papers, standards, videos, files, packages.

A work is identified by its identifier alone; wrapper URLs are unwrapped.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import unquote

from custody.cite.urls import UrlParts, parse_source_url, unwrap_source_url, url_key_from_parts
from custody.core.patterns import lazy_pattern

# Recognize and normalize identifiers.


WorkId = tuple[str, str]
"""Kind and id: ``("doi", "10.1000/182")``."""

_DOI = lazy_pattern(r"10\.\d{4,9}(?:\.\d+)*/\S+")
_ARXIV_NEW = lazy_pattern(r"(\d{4}\.\d{4,5})(?:v(\d+))?")
_ARXIV_OLD = lazy_pattern(r"([a-z][a-z-]*)(?:\.[a-z]{2})?/(\d{7})(?:v(\d+))?", re.IGNORECASE)
_VIDEO = lazy_pattern(r"[\w-]{11}", re.ASCII)
_DIGITS = lazy_pattern(r"[1-9]\d{0,11}", re.ASCII)
_CVE = lazy_pattern(r"CVE-(?:19|20)\d\d-\d{4,19}", re.IGNORECASE | re.ASCII)
_VERSION = lazy_pattern(r"v?\d[\w.+!-]*", re.ASCII)


def parse_work_identifier(text: str) -> WorkId | None:
    """Return the work of a text that is an identifier; None if it is anything else."""
    for pattern, read in _TEXTS:
        match = pattern.fullmatch(text)
        if match is not None:
            return read(match[1])
    return None


def parse_doi(text: str) -> WorkId | None:
    """Return the work of a DOI; DOIs of arXiv are arXiv papers."""
    doi = unquote(text).strip().rstrip(".").lower()
    if _DOI.fullmatch(doi) is None:
        return None
    if doi.startswith("10.48550/arxiv."):
        return parse_arxiv_id(doi.removeprefix("10.48550/arxiv."))
    return "doi", doi


def parse_arxiv_id(text: str) -> WorkId | None:
    """Return the paper of an arXiv id, old or new, without its version."""
    if match := _ARXIV_NEW.fullmatch(text):
        return "arxiv", match[1]
    match = _ARXIV_OLD.fullmatch(text)
    return None if match is None else ("arxiv", f"{match[1].lower()}/{match[2]}")


def make_work_number_parser(kind: str) -> Callable[[str], WorkId | None]:
    """Return a parser of works that are numbers of a kind."""

    def read(text: str) -> WorkId | None:
        digits = text.lstrip("0") if text.isascii() else ""
        return (kind, digits) if _DIGITS.fullmatch(digits) else None

    return read


def parse_pmc_id(text: str) -> WorkId | None:
    """Return the article of a PMC id."""
    return make_work_number_parser("pmc")(re.sub("^PMC", "", text, flags=re.IGNORECASE))


def parse_cve_id(text: str) -> WorkId | None:
    """Return the vulnerability of a CVE id."""
    return ("cve", text.upper()) if _CVE.fullmatch(text) else None


def parse_isbn(text: str) -> WorkId | None:
    """Return the book of an ISBN with a valid check digit."""
    isbn = normalize_isbn(text)
    return None if isbn is None else ("isbn", isbn)


def parse_youtube_id(text: str) -> WorkId | None:
    """Return the video of a YouTube id."""
    return ("youtube", text) if _VIDEO.fullmatch(text) else None


def parse_cited_package_url(text: str) -> WorkId | None:
    """Return the package of a package URL, without its scheme."""
    match = re.fullmatch(r"(\w+)/([^@?#]+)(?:@([^?#]+))?(?:[?#].*)?", text)
    if match is None:
        return None
    return cited_package_to_work(match[1].lower(), unquote(match[2]), None if match[3] is None else unquote(match[3]))


def cited_package_to_work(system: str, name: str, version: str | None) -> WorkId | None:
    """Return a package of a system, with its version if known; names are normalized as the system does."""
    name = name.strip("/")
    if system == "pypi":
        name = re.sub(r"[-_.]+", "-", name).lower()
    elif system == "nuget":
        name = name.lower()
    if not name or (version is not None and not _VERSION.fullmatch(version)):
        return None
    return "package", f"{system}/{name}" + (f"@{version}" if version else "")


_TEXTS: tuple[tuple[re.Pattern[str], Callable[[str], WorkId | None]], ...] = tuple(
    (lazy_pattern(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"(?:doi:\s*|info:doi/|urn:doi:)?(10\.\d{4,9}(?:\.\d+)*/\S+)", parse_doi),
        (r"arxiv:\s*(\S+)", parse_arxiv_id),
        (r"(?:pmid:?|info:pmid/)\s*(\d+)", make_work_number_parser("pmid")),
        (r"(?:pmcid:?\s*)?(PMC\d+)", parse_pmc_id),
        (r"rfc[:\s-]?\s*(\d{1,5})", make_work_number_parser("rfc")),
        (r"(cve-\d{4}-\d+)", parse_cve_id),
        (r"(?:urn:)?isbn(?:-1[03])?:?\s*([\dX\s-]{10,20})", parse_isbn),
        (r"pkg:(.+)", parse_cited_package_url),
    )
)


def normalize_isbn(text: str) -> str | None:
    """Return an ISBN of either length as 13 digits if its check digit is valid.

    >>> normalize_isbn("0-306-40615-2"), normalize_isbn("978-0-306-40615-7"), normalize_isbn("0-306-40615-3")
    ('9780306406157', '9780306406157', None)
    """
    digits = re.sub(r"[\s-]", "", text).upper()
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        values = [10 if digit == "X" else int(digit) for digit in digits]
        if sum(value * (10 - at) for at, value in enumerate(values)) % 11:
            return None
        return _add_isbn_check_digit(f"978{digits[:9]}")
    if re.fullmatch(r"97[89]\d{10}", digits, re.ASCII):
        return digits if _add_isbn_check_digit(digits[:12]) == digits else None
    return None


def _add_isbn_check_digit(twelve: str) -> str:
    total = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(twelve))
    return f"{twelve}{-total % 10}"


# The works of URLs: one row per site and kind of path. A page *about* a work has no row, because it is another page.
# Hosts and paths are matched as a whole.


def identify_work_by_site(parts: UrlParts) -> WorkId | None:
    """Return the work of a page of a known site."""
    host = parts.host.removeprefix("www.")
    path = unquote(parts.path)
    for hosts, pattern, read in SITES:
        if hosts.fullmatch(host) and (match := pattern.fullmatch(path)):
            known = read(match, parts)
            if known is not None:
                return known
    return None


def _make_package_work_reader(system: str) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda match, _: cited_package_to_work(system, match["name"], match.groupdict().get("version"))


def _work_from_github_file(match: re.Match[str], _: UrlParts) -> WorkId | None:
    return "github", f"{match['owner']}/{match['repo']}".lower() + f"/{match['ref']}/{match['file']}"


def _work_from_github_issue(match: re.Match[str], _: UrlParts) -> WorkId | None:
    return "github", f"{match['owner']}/{match['repo']}#{match['number']}".lower()


def _work_from_github_repository(match: re.Match[str], _: UrlParts) -> WorkId | None:
    if match["owner"].lower() in _GITHUB_OWN:
        return None
    return "github", f"{match['owner']}/{match['repo'].removesuffix('.git')}".lower()


_GITHUB_OWN = frozenset(
    "about apps blog collections customer-stories enterprise events explore features issues login marketplace new"
    " notifications orgs organizations pricing pulls readme search security sessions settings site sponsors stars team"
    " topics trending users".split()
)


def _make_work_reader(read: Callable[[str], WorkId | None]) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda match, _: read(match[1])


def _make_query_work_reader(
    name: str, read: Callable[[str], WorkId | None]
) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda _, parts: next((work for value in parts.values(name) if (work := read(value))), None)


def _work_from_publisher_doi(match: re.Match[str], _: UrlParts) -> WorkId | None:
    """Return the DOI in a publisher's path, without the publisher's suffix."""
    return parse_doi(re.sub(r"(?:/(?:full|abstract|pdf|epdf|meta|html|summary|fulltext|references))?/?$", "", match[1]))


def _make_kind_work_reader(kind: str) -> Callable[[re.Match[str], UrlParts], WorkId | None]:
    return lambda match, _: (kind, match[1])


def _work_from_tweet(match: re.Match[str], _: UrlParts) -> WorkId | None:
    return "tweet", match[1]


def _work_from_question(match: re.Match[str], parts: UrlParts) -> WorkId | None:
    return "question", f"{parts.host.removeprefix('www.')}/{match[1]}"


def _work_from_nature_article(match: re.Match[str], _: UrlParts) -> WorkId | None:
    return parse_doi(f"10.1038/{match[1]}")


_REPO = r"/(?P<owner>[\w-]+)/(?P<repo>[\w.-]+)"
_DOI_PATHS = (
    r"dl\.acm\.org|(?:[\w-]+\.)?onlinelibrary\.wiley\.com|tandfonline\.com|science\.org|pnas\.org"
    r"|journals\.sagepub\.com|pubs\.acs\.org|journals\.physiology\.org|annualreviews\.org"
)
_NCBI = r"(?:ncbi\.nlm\.nih\.gov|pmc\.ncbi\.nlm\.nih\.gov|pubmed\.ncbi\.nlm\.nih\.gov)"

SITES: tuple[tuple[re.Pattern[str], re.Pattern[str], Callable[[re.Match[str], UrlParts], WorkId | None]], ...] = tuple(
    (lazy_pattern(hosts), lazy_pattern(pattern, flags), read)
    for hosts, pattern, read, flags in (
        (r"(?:dx\.)?doi\.org", r"/(10\..+?)/?", _make_work_reader(parse_doi), 0),
        (
            _DOI_PATHS,
            r"/doi/(?:(?:abs|full|pdf|epdf|pdfdirect|book|epub)/)?(10\..+)",
            _work_from_publisher_doi,
            0,
        ),
        (
            r"link\.springer\.com",
            r"/(?:article|chapter|book|content/pdf|content/html)/(10\..+?)(?:\.pdf|\.html)?",
            _work_from_publisher_doi,
            0,
        ),
        (
            r"journals\.plos\.org",
            r"/\w+/article(?:/file|/metrics|/comments|/authors)?",
            _make_query_work_reader("id", parse_doi),
            0,
        ),
        (
            r"(?:frontiersin|biorxiv|medrxiv)\.org",
            r"(?:/journals/[^/]+)?/(?:articles|content)/(10\.\d+/[^/]+?)(?:v\d+)?(?:\.full|\.abstract|\.full\.pdf)?(?:/full|/abstract|/pdf)?",
            _work_from_publisher_doi,
            0,
        ),
        (r"nature\.com", r"/articles/([a-z0-9-]+?)(?:\.pdf)?", _work_from_nature_article, 0),
        (
            r"(?:export\.|\w\w\.)?arxiv\.org",
            r"/(?:abs|pdf|html|format|ps)/(.+?)(?:\.pdf)?/?",
            _make_work_reader(parse_arxiv_id),
            0,
        ),
        (
            r"ar5iv\.(?:org|labs\.arxiv\.org)|alphaxiv\.org",
            r"/(?:abs|html|pdf)/(.+?)/?",
            _make_work_reader(parse_arxiv_id),
            0,
        ),
        (_NCBI, r"/(?:pubmed/)?(\d+)/?", _make_work_reader(make_work_number_parser("pmid")), 0),
        (_NCBI, r"/(?:pmc/)?articles/(PMC\d+)(?:/(?:pdf/.*)?)?", _make_work_reader(parse_pmc_id), re.IGNORECASE),
        (
            r"europepmc\.org",
            r"/(?:article|abstract)/MED/(\d+)",
            _make_work_reader(make_work_number_parser("pmid")),
            re.IGNORECASE,
        ),
        (r"europepmc\.org", r"/(?:article/PMC|articles)/(?:PMC)?(\d+)", _make_work_reader(parse_pmc_id), re.IGNORECASE),
        (
            r"(?:rfc-editor|ietf|tools\.ietf|datatracker\.ietf|httpwg)\.org",
            r"/(?:rfc|info|html|doc|doc/html|specs|pdf)/rfc0*(\d{1,5})(?:\.(?:html|txt|pdf|json|xml))?/?",
            _make_work_reader(make_work_number_parser("rfc")),
            re.IGNORECASE,
        ),
        (r"nvd\.nist\.gov", r"/vuln/detail/(.+?)/?", _make_work_reader(parse_cve_id), re.IGNORECASE),
        (r"cve\.org", r"/CVERecord", _make_query_work_reader("id", parse_cve_id), re.IGNORECASE),
        (r"cve\.mitre\.org", r"/cgi-bin/cvename\.cgi", _make_query_work_reader("name", parse_cve_id), 0),
        (r"openlibrary\.org|isbnsearch\.org", r"/isbn/([\dXx-]+)/?", _make_work_reader(parse_isbn), 0),
        (
            r"amazon(?:\.\w+){1,2}",
            r"/(?:[^/]+/)?(?:dp|gp/product|exec/obidos/ASIN)/(\d{9}[\dX])(?:/.*)?",
            _make_work_reader(parse_isbn),
            0,
        ),
        (r"books\.google(?:\.\w+){1,2}", r"/books", _make_query_work_reader("isbn", parse_isbn), 0),
        (r"(?:m\.|music\.)?youtube\.com", r"/watch/?", _make_query_work_reader("v", parse_youtube_id), 0),
        (
            r"(?:m\.|music\.)?youtube(?:-nocookie)?\.com",
            r"/(?:embed|shorts|live|v|e)/([\w-]{11})/?",
            _make_work_reader(parse_youtube_id),
            0,
        ),
        (r"youtu\.be", r"/([\w-]{11})/?", _make_work_reader(parse_youtube_id), 0),
        (r"github\.com", rf"{_REPO}/(?:blob|raw)/(?P<ref>[^/]+)/(?P<file>.+)", _work_from_github_file, 0),
        (
            r"raw\.githubusercontent\.com",
            rf"{_REPO}/(?:refs/(?:heads|tags)/)?(?P<ref>[^/]+)/(?P<file>.+)",
            _work_from_github_file,
            0,
        ),
        (r"github\.com", rf"{_REPO}/(?:issues|pull|discussions)/(?P<number>\d+)/?", _work_from_github_issue, 0),
        (r"github\.com", rf"{_REPO}/?", _work_from_github_repository, 0),
        (r"(?:mobile\.|m\.)?(?:twitter|x)\.com", r"/(?:\w{1,15}|i/web)/status/(\d+)/?", _work_from_tweet, 0),
        (
            r"(?:stackoverflow|superuser|serverfault|askubuntu)\.com|[\w.]+\.stackexchange\.com",
            r"/(?:questions|q)/(\d+)(?:/(?!\d+$)[^/]*)?/?",
            _work_from_question,
            0,
        ),
        (
            r"(?:old\.|np\.|new\.|m\.|i\.)?reddit\.com",
            r"/r/\w+/comments/([a-z0-9]+)(?:/[^/]*)?/?",
            _make_kind_work_reader("reddit"),
            re.IGNORECASE,
        ),
        (
            r"pypi\.(?:org|python\.org)",
            r"/(?:project|pypi)/(?P<name>[\w.-]+)(?:/(?P<version>[\w.+!-]+))?/?",
            _make_package_work_reader("pypi"),
            0,
        ),
        (
            r"npmjs\.com",
            r"/package/(?P<name>(?:@[\w.~-]+/)?[\w.~-]+)(?:/v/(?P<version>[\w.+-]+))?/?",
            _make_package_work_reader("npm"),
            0,
        ),
        (
            r"crates\.io",
            r"/crates/(?P<name>[\w-]+)(?:/(?P<version>[\w.+-]+))?/?",
            _make_package_work_reader("cargo"),
            0,
        ),
        (r"pkg\.go\.dev", r"/(?P<name>[^@]+\.[^@]+)@(?P<version>v[\w.+-]+)/?", _make_package_work_reader("golang"), 0),
        (
            r"rubygems\.org",
            r"/gems/(?P<name>[\w.-]+)(?:/versions/(?P<version>[\w.-]+))?/?",
            _make_package_work_reader("gem"),
            0,
        ),
        (
            r"nuget\.org",
            r"/packages/(?P<name>[\w.-]+)(?:/(?P<version>[\w.+-]+))?/?",
            _make_package_work_reader("nuget"),
            re.IGNORECASE,
        ),
        (
            r"(?:mvnrepository\.com|central\.sonatype\.com)",
            r"/artifact/(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<version>[\w.+-]+))?/?",
            _make_package_work_reader("maven"),
            0,
        ),
    )
)
"""One row per way that a site names works: hosts, path, parser of the id."""


PAGE = "page"
"""The kind of a wrapped page; its id is its ``compute_source_url_key``."""


def parse_cited_work(text: str) -> WorkId | None:
    """Return the work of a URL or an identifier, unwrapped; None if it is not a known kind of work.

    >>> parse_cited_work("https://arxiv.org/pdf/2101.00001v2.pdf"), parse_cited_work("doi:10.48550/arXiv.2101.00001")
    (('arxiv', '2101.00001'), ('arxiv', '2101.00001'))
    >>> parse_cited_work("https://web.archive.org/web/2020/https://youtu.be/dQw4w9WgXcQ?t=4")
    ('youtube', 'dQw4w9WgXcQ')
    """
    text = text.strip()
    inner = unwrap_source_url(text)
    parts = parse_source_url(inner or text)
    if parts is None:
        return parse_work_identifier(text)
    known = identify_work_by_site(parts) if parts.is_web else None
    if known is not None or inner is None:
        return known
    return PAGE, url_key_from_parts(parts)


def source_works_from_metadata(metadata: Mapping[str, object]) -> Iterable[WorkId]:
    """Yield the works in metadata, under the usual names of identifiers."""
    for name, read in _METADATA.items():
        value = metadata.get(name)
        work = read(str(value).strip()) if isinstance(value, str | int) and not isinstance(value, bool) else None
        if work is not None:
            yield work


_METADATA: Mapping[str, Callable[[str], WorkId | None]] = MappingProxyType(
    {
        "doi": parse_cited_work,
        "arxiv": lambda text: parse_cited_work(text) or parse_arxiv_id(text),
        "arxiv_id": lambda text: parse_cited_work(text) or parse_arxiv_id(text),
        "pmid": lambda text: make_work_number_parser("pmid")(text) or parse_cited_work(text),
        "pmcid": lambda text: parse_pmc_id(text) or parse_cited_work(text),
        "isbn": lambda text: parse_isbn(text) or parse_cited_work(text),
        "rfc": lambda text: make_work_number_parser("rfc")(text) or parse_cited_work(text),
        "cve": parse_cve_id,
        "purl": parse_cited_work,
    }
)
