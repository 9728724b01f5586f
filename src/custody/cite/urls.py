"""When two URLs name the same page, told from the URLs alone.

This file is the only one that decides it. Precision comes first: what usually but not always means the same (``www.``,
a slash at the end, ``index.html``, hosts for phones) gives different keys and the same ``loose_key``, which suggests.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

import can_ada

# Names of query parameters that say who led somebody to a page, never which page it is.
# What is on no list stays: ``ref``, ``source``, ``id``, ``v`` and ``page`` choose pages somewhere and are never here.


PREFIXES = ("utm_", "mtm_", "hsa_", "_hsenc", "_hsmi", "oly_enc_", "oly_anon_")
"""What begins so is a tracker on every host."""

EVERYWHERE = frozenset(
    "gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid fb_action_ids fb_action_types fb_ref fb_source igshid igsh"
    " msclkid yclid ysclid _openstat twclid ttclid li_fat_id epik rb_clickid irclickid vero_id vero_conv wickedid"
    " mc_cid mc_eid mkt_tok ml_subscriber ml_subscriber_hash __hstc __hssc __hsfp hsctatracking"
    " pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid piwik_campaign piwik_kwd matomo_campaign"
    " matomo_kwd matomo_source matomo_medium spm_id_from vd_source guccounter guce_referrer guce_referrer_sig"
    " __twitter_impression ref_src ref_url".split()
)
"""Trackers by their whole name, in small letters, on every host."""

BY_SITE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        site: frozenset(names.split())
        for site, names in (
            ("bilibili.com", "from_spmid share_source share_medium share_plat share_session_id unique_k plat_id bbid"),
            ("csdn.net", "spm ops_request_misc request_id biz_id depth_1-utm_source"),
            ("aliyun.com", "spm scm"),
            ("taobao.com", "spm"),
            ("zhihu.com", "share_code s_r"),
            (
                "weixin.qq.com",
                "chksm scene srcid sharer_shareinfo sharer_shareinfo_first exportkey pass_ticket wx_header",
            ),
            ("twitter.com", "s t cxt"),
            ("x.com", "s t cxt"),
            ("youtube.com", "si feature pp ab_channel"),
            ("youtu.be", "si feature"),
            ("spotify.com", "si nd"),
            ("reddit.com", "share_id rdt chainedposts"),
            ("linkedin.com", "trk trackingid lipi lici midtoken midsig"),
            ("nytimes.com", "smid smtyp partner emc"),
            ("washingtonpost.com", "wpisrc wpmm"),
            ("theguardian.com", "cmp"),
            (
                "bbc.co.uk",
                "at_medium at_campaign at_link_id at_link_type at_link_origin at_format at_ptr_name at_bbc_team",
            ),
            (
                "bbc.com",
                "at_medium at_campaign at_link_id at_link_type at_link_origin at_format at_ptr_name at_bbc_team",
            ),
            ("wsj.com", "mod reflink st"),
            ("bloomberg.com", "srnd sref"),
            ("sciencedirect.com", "via"),
        )
    }
)
"""Trackers that are ordinary names elsewhere, by the site on which they are only that; names in small letters."""


def is_tracker(host: str, name: str) -> bool:
    """Whether a parameter of this name only says how somebody came to a page of ``host``.

    >>> is_tracker("example.org", "utm_source"), is_tracker("example.org", "si"), is_tracker("m.youtube.com", "si")
    (True, False, True)
    """
    small = name.lower()
    if small in EVERYWHERE or small.startswith(PREFIXES):
        return True
    parts = host.split(".")
    return any(small in BY_SITE.get(".".join(parts[at:]), ()) for at in range(len(parts) - 1))


URL_CHARS_MAX = 4096
WRAPPED_MAX = 4
"""Wrappers around wrappers are opened this often."""

_WEB = frozenset(("http:", "https:"))
_OTHERS = frozenset(("ftp:", "file:"))
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ROUTES = ("#!", "#/")
_DIRECTIVE = ":~:"


class UrlParts(NamedTuple):
    """A URL as the WHATWG standard reads it: everything that may matter to which page it names."""

    scheme: str
    host: str
    port: str
    path: str
    query: str
    fragment: str

    @property
    def is_web(self) -> bool:
        """Whether it is fetched by HTTP."""
        return self.scheme in _WEB

    def values(self, name: str) -> Iterator[str]:
        """The values of a parameter, decoded."""
        for pair in self.query.split("&"):
            key, _, value = pair.partition("=")
            if _decoded(key) == name:
                yield _decoded(value)


def parts_of(url: str) -> UrlParts | None:
    """The parts of an absolute URL; None for what is none, has no key, or is longer than any page's address."""
    text = url.strip()
    if not text or len(text) > URL_CHARS_MAX:
        return None
    try:
        parsed = can_ada.parse(text)
    except (ValueError, TypeError):
        return None  # no URL by the standard, or signs that no URL can have: an answer, not a failure
    if parsed.protocol not in _WEB | _OTHERS or (parsed.protocol in _WEB and not parsed.hostname.strip(".")):
        return None
    query = parsed.search.removeprefix("?")
    return UrlParts(
        parsed.protocol, parsed.hostname.removesuffix("."), parsed.port, parsed.pathname, query, parsed.hash
    )


def url_key(url: str) -> str | None:
    """What two URLs of the same page have in common; None where no page is named (``javascript:``, no URL at all).

    >>> url_key("HTTP://Example.ORG:80/a/../B?utm_source=x&b=2&a=1#top")
    'https://example.org/B?a=1&b=2'
    >>> url_key("javascript:alert(1)")
    """
    parts = parts_of(url)
    return None if parts is None else key_of(parts)


def key_of(parts: UrlParts) -> str:
    """The key of a URL that was read."""
    scheme = "https:" if parts.is_web else parts.scheme
    port = "" if not parts.port or (parts.scheme, parts.port) in _DEFAULT_PORTS else f":{parts.port}"
    query = _query(parts)
    return f"{scheme}//{parts.host}{port}{_path(parts.path)}{'?' if query else ''}{query}{_route(parts.fragment)}"


def loose_key(url: str) -> str | None:
    """What URLs that probably name the same page have in common: enough to suggest a merge, never to make one.

    >>> loose_key("https://www.example.org/a/") == loose_key("http://m.example.org/a/index.html")
    True
    """
    parts = parts_of(url)
    if parts is None:
        return None
    host = re.sub(r"^(?:www\d?|m|mobile|amp)\.|(?<=\.)m\.(?=wiki)", "", parts.host)
    path = re.sub(r"/(?:index|default)\.(?:html?|php|aspx?)$|/amp/?$", "", _path(parts.path)).rstrip("/")
    return key_of(parts._replace(host=host, path=path.lower(), fragment=""))


def unwrap_url(url: str) -> str | None:
    """The URL inside an archive, cache, AMP or redirect wrapper; None when it is no wrapper.

    >>> unwrap_url("https://web.archive.org/web/20200101000000/http://example.org/a")
    'http://example.org/a'
    """
    found = None
    for _ in range(WRAPPED_MAX):
        inner = _opened_once(found or url)
        if inner is None:
            break
        found = inner
    return found


def without_credentials(url: str) -> str:
    """The URL without a name and a password in it; as it is when there are none."""
    try:
        parsed = can_ada.parse(url.strip())
    except (ValueError, TypeError):
        return url
    if not parsed.has_credentials():
        return url
    parsed.username = parsed.password = ""
    return str(parsed.href)


def _opened_once(url: str) -> str | None:
    parts = parts_of(url)
    if parts is None or not parts.is_web:
        return None
    whole = f"{parts.path}{'?' if parts.query else ''}{parts.query}"
    inner = next((found for find in _WRAPPERS if (found := find(parts, whole))), None)
    target = None if inner is None else parts_of(inner)
    return inner if target is not None and target.is_web and "." in target.host else None


_ARCHIVED = re.compile(r"/[^*]*?/?(https?:/{1,2}.+)", re.IGNORECASE)
_ARCHIVED_BARE = re.compile(r"/web/\d{4,14}\w{0,3}/([^/*]+\..+)")
_ARCHIVE_HOSTS = frozenset(
    "web.archive.org archive.ph archive.is archive.today archive.fo archive.li archive.md archive.vn"
    " webarchive.nationalarchives.gov.uk wayback.archive-it.org".split()
)


def _archived(parts: UrlParts, whole: str) -> str | None:
    if parts.host not in _ARCHIVE_HOSTS:
        return None
    found = _ARCHIVED.fullmatch(whole) or _ARCHIVED_BARE.fullmatch(whole)
    return None if found is None else _with_scheme(found[1])


def _cached(parts: UrlParts, whole: str) -> str | None:
    if parts.host != "webcache.googleusercontent.com":
        return None
    query = next(parts.values("q"), "")
    found = re.fullmatch(r"cache:(?:[\w-]{12}:)?(\S+?)(?:[ +].*)?", query)
    return None if found is None else _with_scheme(found[1])


def _accelerated(parts: UrlParts, whole: str) -> str | None:
    """AMP caches name the page in their path: ``/c/s/host/path``, where ``s`` stands for HTTPS."""
    if parts.host.endswith(".cdn.ampproject.org") or parts.host == "cdn.ampproject.org":
        found = re.fullmatch(r"/[civr]/(s/)?([^/]+\..+)", whole)
    elif re.fullmatch(r"(?:www\.)?google(?:\.\w+){1,2}", parts.host):
        found = re.fullmatch(r"/amp/(s/)?([^/]+\..+)", whole)
    else:
        return None
    return None if found is None else f"http{'s' if found[1] else ''}://{unquote(found[2])}"


def _own_amp(parts: UrlParts, whole: str) -> str | None:
    """A site's own AMP form of an article. A page that is only *about* amplifiers has no such path above it."""
    flags = [pair for pair in parts.query.split("&") if pair.lower() in _AMP_FLAGS]
    if flags:
        query = "&".join(pair for pair in parts.query.split("&") if pair.lower() not in _AMP_FLAGS)
        return key_of(parts._replace(query=query))
    segments = parts.path.strip("/").split("/")
    if "amp" in (segments[0], segments[-1]) and any(map(_ARTICLE.search, segments)):
        rest = segments[1:] if segments[0] == "amp" else segments[:-1]
        slash = "/" if parts.path.endswith("/") else ""
        return key_of(parts._replace(path="/" + "/".join(rest) + slash))
    return None


_AMP_FLAGS = frozenset(("amp", "amp=", "amp=1", "amp=true", "outputtype=amp"))
_ARTICLE = re.compile(r"(?:[^-]+-){3}|\d{5}")


def _redirected(parts: UrlParts, whole: str) -> str | None:
    for host, path, names in _REDIRECTS:
        if re.fullmatch(host, parts.host) and re.fullmatch(path, parts.path):
            found = (value for name in names.split() for value in parts.values(name))
            return next((value for value in found if re.match("https?://", value, re.IGNORECASE)), None)
    return None


def _read_for_models(parts: UrlParts, whole: str) -> str | None:
    found = re.fullmatch(r"/(https?:/{1,2}.+)", whole) if parts.host == "r.jina.ai" else None
    return None if found is None else _with_scheme(found[1])


_REDIRECTS = (
    (r"(?:www\.)?google(?:\.\w+){1,2}", "/url", "q url"),
    (r"lm?\.facebook\.com", r"/l\.php", "u"),
    (r"l\.instagram\.com", "/", "u"),
    (r"out\.reddit\.com", "/.*", "url"),
    (r"(?:www\.)?youtube\.com", "/redirect", "q"),
    (r"(?:www\.)?duckduckgo\.com", "/l/", "uddg"),
    (r"slack-redir\.net", "/link", "url"),
    (r"[\w-]+\.safelinks\.protection\.outlook\.com", "/", "url"),
    (r"(?:www\.)?linkedin\.com", "/(?:safety/go|redir/redirect)", "url"),
    (r"vk\.com", r"/away\.php", "to"),
    (r"steamcommunity\.com", "/linkfilter/?", "url u"),
    (r"link\.(?:zhihu\.com|juejin\.cn|csdn\.net)", "/?", "target"),
    (r"(?:www\.)?jianshu\.com", "/go-wild", "url"),
    (r"t\.umblr\.com", "/redirect", "z"),
    (r"proxy\.12ft\.io|12ft\.io", "/proxy", "q"),
)
_WRAPPERS = (_archived, _cached, _accelerated, _redirected, _read_for_models, _own_amp)
_DEFAULT_PORTS = frozenset((("http:", "80"), ("https:", "443"), ("ftp:", "21")))


def _with_scheme(url: str) -> str:
    """A URL whose scheme was left out or whose slashes were made one, as wrappers do."""
    url = re.sub(r"^(https?):/+", r"\1://", url, flags=re.IGNORECASE)
    return url if re.match("https?://", url, re.IGNORECASE) else f"http://{url}"


def _path(path: str) -> str:
    return _unescaped(path) or "/"


def _query(parts: UrlParts) -> str:
    pairs = [_unescaped(pair) for pair in parts.query.split("&") if pair]
    named = [(pair.partition("=")[0], pair) for pair in pairs]
    kept = [(name, pair) for name, pair in named if not is_tracker(parts.host, _decoded(name))]
    # By name alone: what has the same name stays in its order, which a page may go by.
    return "&".join(pair for _, pair in sorted(kept, key=lambda named_pair: named_pair[0]))


def _route(fragment: str) -> str:
    said = fragment.partition(_DIRECTIVE)[0]
    return _unescaped(said) if said.startswith(_ROUTES) and len(said) > len(_ROUTES[0]) else ""


def _unescaped(text: str) -> str:
    """Escapes of letters, digits and ``-._~`` undone, the others in capitals: what the standard says is the same."""
    return _ESCAPE.sub(_unescaped_one, text)


def _unescaped_one(found: re.Match[str]) -> str:
    value = int(found[1], 16)
    return chr(value) if value in _UNRESERVED else found[0].upper()


def _decoded(text: str) -> str:
    return unquote(text.replace("+", " "))
