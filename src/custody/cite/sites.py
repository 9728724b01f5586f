"""Which work an address names, by one row of a table for each way in which a site names works.

What is only *about* a work has no row: a page that discusses a paper is another page.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

from custody.cite.identifiers import (
    WorkId,
    cve_named,
    doi_named,
    isbn_named,
    make_number_reader,
    package_named,
    parse_arxiv_id,
    pmcid_named,
    video_named,
)
from custody.cite.urls import UrlParts


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
