"""Keys of URLs: equal for URLs of the same page.

Only this file decides that, with precision first: differences that usually mean nothing (``www.``, a trailing slash,
``index.html``, mobile hosts) give different keys but the same ``compute_loose_source_key``, which only suggests.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

import can_ada

from custody.core.patterns import lazy_pattern

# Tracking parameters, which never select a page. Parameters that select pages on some sites, such as ``ref``,
# ``source``, ``id``, ``v`` and ``page``, are not listed and stay.


PREFIXES = ("utm_", "mtm_", "hsa_", "_hsenc", "_hsmi", "oly_enc_", "oly_anon_")
"""Prefixes of tracking parameters on every host."""

EVERYWHERE = frozenset(
    "gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid fb_action_ids fb_action_types fb_ref fb_source igshid igsh"
    " msclkid yclid ysclid _openstat twclid ttclid li_fat_id epik rb_clickid irclickid vero_id vero_conv wickedid"
    " mc_cid mc_eid mkt_tok ml_subscriber ml_subscriber_hash __hstc __hssc __hsfp hsctatracking"
    " pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid piwik_campaign piwik_kwd matomo_campaign"
    " matomo_kwd matomo_source matomo_medium spm_id_from vd_source guccounter guce_referrer guce_referrer_sig"
    " __twitter_impression ref_src ref_url".split()
)
"""Tracking parameters on every host, in lower case."""

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
"""Tracking parameters of single sites that are ordinary names elsewhere, in lower case."""


def is_url_tracking_parameter(host: str, name: str) -> bool:
    """Return whether a parameter is for tracking on ``host``.

    >>> cases = (("example.org", "utm_source"), ("example.org", "si"), ("m.youtube.com", "si"))
    >>> [is_url_tracking_parameter(host, name) for host, name in cases]
    [True, False, True]
    """
    small = name.lower()
    if small in EVERYWHERE or small.startswith(PREFIXES):
        return True
    parts = host.split(".")
    return any(small in BY_SITE.get(".".join(parts[at:]), ()) for at in range(len(parts) - 1))


URL_CHARS_MAX = 4096
WRAPPED_MAX = 4
"""Maximum nesting of wrappers."""

_WEB = frozenset(("http:", "https:"))
_OTHERS = frozenset(("ftp:", "file:"))
_ESCAPE = lazy_pattern("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ROUTES = ("#!", "#/")
_DIRECTIVE = ":~:"


class UrlParts(NamedTuple):
    """The parts of a URL by the WHATWG standard that identify a page."""

    scheme: str
    host: str
    port: str
    path: str
    query: str
    fragment: str

    @property
    def is_web(self) -> bool:
        """Return whether it is an HTTP URL."""
        return self.scheme in _WEB

    def values(self, name: str) -> Iterator[str]:
        """Yield the decoded values of a parameter."""
        for pair in self.query.split("&"):
            key, _, value = pair.partition("=")
            if _decode_source_url_parameter(key) == name:
                yield _decode_source_url_parameter(value)


def parse_source_url(url: str) -> UrlParts | None:
    """Return the parts of an absolute URL; None if it is invalid, has no key, or is too long."""
    text = url.strip()
    if not text or len(text) > URL_CHARS_MAX:
        return None
    try:
        parsed = can_ada.parse(text)
    except (ValueError, TypeError):
        return None  # invalid by the standard
    if parsed.protocol not in _WEB | _OTHERS or (parsed.protocol in _WEB and not parsed.hostname.strip(".")):
        return None
    query = parsed.search.removeprefix("?")
    return UrlParts(
        parsed.protocol, parsed.hostname.removesuffix("."), parsed.port, parsed.pathname, query, parsed.hash
    )


def compute_source_url_key(url: str) -> str | None:
    """Return the key that all URLs of a page share; None if it is not a page (``javascript:``, not a URL).

    >>> compute_source_url_key("HTTP://Example.ORG:80/a/../B?utm_source=x&b=2&a=1#top")
    'https://example.org/B?a=1&b=2'
    >>> compute_source_url_key("javascript:alert(1)")
    """
    parts = parse_source_url(url)
    return None if parts is None else url_key_from_parts(parts)


def url_key_from_parts(parts: UrlParts) -> str:
    """Return the key of a parsed URL."""
    scheme = "https:" if parts.is_web else parts.scheme
    port = "" if not parts.port or (parts.scheme, parts.port) in _DEFAULT_PORTS else f":{parts.port}"
    query = _normalize_source_url_query(parts)
    path, fragment = _normalize_source_url_path(parts.path), _normalize_source_url_fragment(parts.fragment)
    return f"{scheme}//{parts.host}{port}{path}{'?' if query else ''}{query}{fragment}"


def compute_loose_source_key(url: str) -> str | None:
    """Return a key that URLs of probably the same page share: only for suggestions, never for merges.

    >>> len(set(map(compute_loose_source_key, ("https://www.example.org/a/", "http://m.example.org/a/index.html"))))
    1
    """
    parts = parse_source_url(url)
    if parts is None:
        return None
    host = re.sub(r"^(?:www\d?|m|mobile|amp)\.|(?<=\.)m\.(?=wiki)", "", parts.host)
    path = re.sub(
        r"/(?:index|default)\.(?:html?|php|aspx?)$|/amp/?$", "", _normalize_source_url_path(parts.path)
    ).rstrip("/")
    return url_key_from_parts(parts._replace(host=host, path=path.lower(), fragment=""))


def unwrap_source_url(url: str) -> str | None:
    """Return the URL inside an archive, cache, AMP or redirect URL; None if it is not a wrapper.

    >>> unwrap_source_url("https://web.archive.org/web/20200101000000/http://example.org/a")
    'http://example.org/a'
    """
    unwrapped = None
    for _ in range(WRAPPED_MAX):
        inner = _unwrap_source_url_once(unwrapped or url)
        if inner is None:
            break
        unwrapped = inner
    return unwrapped


def strip_source_url_credentials(url: str) -> str:
    """Return the URL without user name and password; unchanged if it has none."""
    try:
        parsed = can_ada.parse(url.strip())
    except (ValueError, TypeError):
        return url
    if not parsed.has_credentials():
        return url
    parsed.username = parsed.password = ""
    return str(parsed.href)


def _unwrap_source_url_once(url: str) -> str | None:
    parts = parse_source_url(url)
    if parts is None or not parts.is_web:
        return None
    whole = f"{parts.path}{'?' if parts.query else ''}{parts.query}"
    inner = next((inner_url for find in _WRAPPERS if (inner_url := find(parts, whole))), None)
    target = None if inner is None else parse_source_url(inner)
    return inner if target is not None and target.is_web and "." in target.host else None


_ARCHIVED = lazy_pattern(r"/[^*]*?/?(https?:/{1,2}.+)", re.IGNORECASE)
_ARCHIVED_BARE = lazy_pattern(r"/web/\d{4,14}\w{0,3}/([^/*]+\..+)")
_ARCHIVE_HOSTS = frozenset(
    "web.archive.org archive.ph archive.is archive.today archive.fo archive.li archive.md archive.vn"
    " webarchive.nationalarchives.gov.uk wayback.archive-it.org".split()
)


def _unwrap_archive_url(parts: UrlParts, whole: str) -> str | None:
    if parts.host not in _ARCHIVE_HOSTS:
        return None
    match = _ARCHIVED.fullmatch(whole) or _ARCHIVED_BARE.fullmatch(whole)
    return None if match is None else _restore_source_url_scheme(match[1])


def _unwrap_cache_url(parts: UrlParts, whole: str) -> str | None:
    if parts.host != "webcache.googleusercontent.com":
        return None
    query = next(parts.values("q"), "")
    match = re.fullmatch(r"cache:(?:[\w-]{12}:)?(\S+?)(?:[ +].*)?", query)
    return None if match is None else _restore_source_url_scheme(match[1])


def _unwrap_amp_cache_url(parts: UrlParts, whole: str) -> str | None:
    """Unwrap an AMP cache URL: ``/c/s/host/path``, where ``s`` means HTTPS."""
    if parts.host.endswith(".cdn.ampproject.org") or parts.host == "cdn.ampproject.org":
        match = re.fullmatch(r"/[civr]/(s/)?([^/]+\..+)", whole)
    elif re.fullmatch(r"(?:www\.)?google(?:\.\w+){1,2}", parts.host):
        match = re.fullmatch(r"/amp/(s/)?([^/]+\..+)", whole)
    else:
        return None
    return None if match is None else f"http{'s' if match[1] else ''}://{unquote(match[2])}"


def _unwrap_site_amp_url(parts: UrlParts, whole: str) -> str | None:
    """Unwrap a site's own AMP form of an article; a page *about* amplifiers has no such parent path."""
    flags = [pair for pair in parts.query.split("&") if pair.lower() in _AMP_FLAGS]
    if flags:
        query = "&".join(pair for pair in parts.query.split("&") if pair.lower() not in _AMP_FLAGS)
        return url_key_from_parts(parts._replace(query=query))
    segments = parts.path.strip("/").split("/")
    if "amp" in (segments[0], segments[-1]) and any(map(_ARTICLE.search, segments)):
        rest = segments[1:] if segments[0] == "amp" else segments[:-1]
        slash = "/" if parts.path.endswith("/") else ""
        return url_key_from_parts(parts._replace(path="/" + "/".join(rest) + slash))
    return None


_AMP_FLAGS = frozenset(("amp", "amp=", "amp=1", "amp=true", "outputtype=amp"))
_ARTICLE = lazy_pattern(r"(?:[^-]+-){3}|\d{5}")


def _unwrap_redirect_url(parts: UrlParts, whole: str) -> str | None:
    for host, path, names in _REDIRECTS:
        if re.fullmatch(host, parts.host) and re.fullmatch(path, parts.path):
            targets = (value for name in names.split() for value in parts.values(name))
            return next((value for value in targets if re.match("https?://", value, re.IGNORECASE)), None)
    return None


def _unwrap_reader_url(parts: UrlParts, whole: str) -> str | None:
    match = re.fullmatch(r"/(https?:/{1,2}.+)", whole) if parts.host == "r.jina.ai" else None
    return None if match is None else _restore_source_url_scheme(match[1])


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
_WRAPPERS = (
    _unwrap_archive_url,
    _unwrap_cache_url,
    _unwrap_amp_cache_url,
    _unwrap_redirect_url,
    _unwrap_reader_url,
    _unwrap_site_amp_url,
)
_DEFAULT_PORTS = frozenset((("http:", "80"), ("https:", "443"), ("ftp:", "21")))


def _restore_source_url_scheme(url: str) -> str:
    """Restore a missing scheme or a collapsed double slash, as wrappers write them."""
    url = re.sub(r"^(https?):/+", r"\1://", url, flags=re.IGNORECASE)
    return url if re.match("https?://", url, re.IGNORECASE) else f"http://{url}"


def _normalize_source_url_path(path: str) -> str:
    return _normalize_source_url_escapes(path) or "/"


def _normalize_source_url_query(parts: UrlParts) -> str:
    pairs = [_normalize_source_url_escapes(pair) for pair in parts.query.split("&") if pair]
    named = [(pair.partition("=")[0], pair) for pair in pairs]
    selecting = [
        (name, pair)
        for name, pair in named
        if not is_url_tracking_parameter(parts.host, _decode_source_url_parameter(name))
    ]
    # Sort by name only: parameters with the same name keep their order, which may matter.
    return "&".join(pair for _, pair in sorted(selecting, key=lambda named_pair: named_pair[0]))


def _normalize_source_url_fragment(fragment: str) -> str:
    route = fragment.partition(_DIRECTIVE)[0]
    return _normalize_source_url_escapes(route) if route.startswith(_ROUTES) and len(route) > len(_ROUTES[0]) else ""


def _normalize_source_url_escapes(text: str) -> str:
    """Decode escapes of letters, digits and ``-._~``, and write the others in upper case, as in RFC 3986."""
    return _ESCAPE.sub(_unescape_source_url_match, text)


def _unescape_source_url_match(match: re.Match[str]) -> str:
    value = int(match[1], 16)
    return chr(value) if value in _UNRESERVED else match[0].upper()


def _decode_source_url_parameter(text: str) -> str:
    return unquote(text.replace("+", " "))
