"""Keys of pages, works and texts: tables and properties."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.keys import compute_source_excerpt_key, compute_source_keys, measure_excerpt_nearness
from custody.cite.model import ResearchSource, SourceError
from custody.cite.urls import (
    BY_SITE,
    EVERYWHERE,
    PREFIXES,
    compute_loose_source_key,
    compute_source_url_key,
    strip_source_url_credentials,
    unwrap_source_url,
)
from custody.cite.works import parse_cited_work
from tests.builders.table import table

SAME_PAGE = [
    ("http://example.org/a", "https://example.org/a"),
    ("https://EXAMPLE.org/a", "https://example.org/a"),
    ("https://example.org:443/a", "https://example.org/a"),
    ("http://example.org:80/a", "http://example.org/a"),
    ("https://example.org", "https://example.org/"),
    ("https://example.org./a", "https://example.org/a"),
    ("https://example.org/a/../b/./c", "https://example.org/b/c"),
    ("https://example.org/%7Euser/%61", "https://example.org/~user/a"),
    ("https://example.org/a%2fb", "https://example.org/a%2Fb"),
    ("https://example.org/é", "https://example.org/%c3%a9"),
    ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
    ("https://example.org/a?b=2&a=1", "https://example.org/a?a=1&b=2"),
    ("https://example.org/a?", "https://example.org/a"),
    ("https://example.org/a?utm_source=x&utm_medium=y&id=3", "https://example.org/a?id=3"),
    ("https://example.org/a?UTM_Campaign=x", "https://example.org/a"),
    ("https://example.org/a?gclid=x&fbclid=y&msclkid=z&mc_cid=1", "https://example.org/a"),
    ("https://example.org/a#part-2", "https://example.org/a"),
    ("https://example.org/a#:~:text=some%20words", "https://example.org/a"),
    ("https://ana:secret@example.org/a", "https://example.org/a"),
    ("  https://example.org/a\n", "https://example.org/a"),
    ("https://www.bilibili.com/video/BV1?vd_source=x", "https://www.bilibili.com/video/BV1"),
    ("https://blog.csdn.net/x/article/details/1?spm=1001.2", "https://blog.csdn.net/x/article/details/1"),
    ("https://www.nytimes.com/2020/a.html?smid=tw-share", "https://www.nytimes.com/2020/a.html"),
    ("http://0x7f.1/a", "http://127.0.0.1/a"),
    ("https://example.org\\a", "https://example.org/a"),
]

OTHER_PAGE = [
    ("https://example.org/Readme", "https://example.org/readme"),
    ("https://example.org/a", "https://example.org/a/"),
    ("https://example.org/a", "https://www.example.org/a"),
    ("https://example.org/a/", "https://example.org/a/index.html"),
    ("https://example.org/a?ref=1", "https://example.org/a"),
    ("https://example.org/a?source=1", "https://example.org/a?source=2"),
    ("https://example.org/a?id=1", "https://example.org/a?id=2"),
    ("https://example.org/watch?v=1", "https://example.org/watch?v=2"),
    ("https://example.org/a?page=1", "https://example.org/a?page=2"),
    ("https://example.org/a?x=1&x=2", "https://example.org/a?x=2&x=1"),
    ("https://example.org/a?X=1", "https://example.org/a?x=1"),
    ("https://example.org/a?x", "https://example.org/a?x="),
    ("https://example.org/a%2Fb", "https://example.org/a/b"),
    ("https://example.org/a?x=a%26b", "https://example.org/a?x=a&b"),
    ("https://example.org/a+b", "https://example.org/a%20b"),
    ("https://example.org:8080/a", "https://example.org/a"),
    ("http://example.org:443/a", "http://example.org/a"),
    ("https://example.org/#!/a", "https://example.org/#!/b"),
    ("https://example.org/#/a", "https://example.org/"),
    ("https://example.org/a?si=1", "https://example.org/a"),
    ("https://example.org/a?t=1", "https://example.org/a"),
    ("https://example.org//a", "https://example.org/a"),
    ("https://a.example.org/", "https://b.example.org/"),
    ("ftp://example.org/a", "https://example.org/a"),
    ("file:///a/b", "https://a/b"),
    ("https://example.org/products/amp", "https://example.org/products"),
]

SAME_WORK = [
    ("https://doi.org/10.1000/182", "http://dx.doi.org/10.1000/182"),
    ("https://doi.org/10.1145/3292500.3330701", "https://dl.acm.org/doi/pdf/10.1145/3292500.3330701"),
    ("doi:10.1007/S00354-020-1", "https://link.springer.com/article/10.1007/s00354-020-1"),
    ("10.1371/journal.pone.0000001", "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0000001"),
    ("https://doi.org/10.1038/nature12373", "https://www.nature.com/articles/nature12373.pdf"),
    ("https://arxiv.org/abs/2101.00001", "https://arxiv.org/pdf/2101.00001v3.pdf"),
    ("https://arxiv.org/abs/math.GT/0309136", "arXiv:math/0309136v1"),
    ("https://doi.org/10.48550/arXiv.2101.00001", "https://export.arxiv.org/abs/2101.00001v2"),
    ("https://pubmed.ncbi.nlm.nih.gov/12345678/", "https://www.ncbi.nlm.nih.gov/pubmed/12345678"),
    ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123/", "https://pmc.ncbi.nlm.nih.gov/articles/PMC123/pdf/a.pdf"),
    ("https://www.rfc-editor.org/rfc/rfc9110.html", "https://datatracker.ietf.org/doc/html/rfc9110#section-3"),
    ("https://tools.ietf.org/html/rfc2119", "RFC 2119"),
    ("https://www.rfc-editor.org/rfc/rfc793", "RFC 0793"),
    ("https://nvd.nist.gov/vuln/detail/CVE-2021-44228", "https://www.cve.org/CVERecord?id=cve-2021-44228"),
    ("ISBN 0-306-40615-2", "https://openlibrary.org/isbn/9780306406157"),
    ("https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=10s", "https://youtu.be/dQw4w9WgXcQ?si=abc"),
    ("https://www.youtube.com/shorts/dQw4w9WgXcQ", "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ"),
    (
        "https://github.com/Pallets/Flask/blob/main/README.md",
        "https://raw.githubusercontent.com/pallets/flask/main/README.md",
    ),
    ("https://github.com/pallets/flask/issues/12", "https://github.com/pallets/flask/pull/12"),
    ("https://github.com/pallets/flask", "https://github.com/Pallets/Flask.git"),
    ("https://pypi.org/project/Flask-SQLAlchemy/3.0.0/", "pkg:pypi/flask.sqlalchemy@3.0.0"),
    ("https://www.npmjs.com/package/@babel/core/v/7.0.0", "pkg:npm/%40babel/core@7.0.0"),
    ("https://stackoverflow.com/questions/11/how-to", "https://stackoverflow.com/q/11"),
    ("https://twitter.com/ana/status/123?s=20", "https://x.com/i/web/status/123"),
]

OTHER_WORK = [
    ("https://arxiv.org/abs/2101.00001", "https://arxiv.org/abs/2101.00002"),
    ("https://arxiv.org/abs/cs/0112017", "https://arxiv.org/abs/math/0112017"),
    ("https://doi.org/10.1000/182", "https://doi.org/10.1000/1822"),
    ("https://github.com/a/b/blob/main/x.py", "https://github.com/a/b/blob/v1/x.py"),
    ("https://github.com/a/b/blob/main/x.py", "https://github.com/a/b/blob/main/X.py"),
    ("https://github.com/a/b/issues/1", "https://github.com/a/b/issues/11"),
    ("https://github.com/a/b", "https://github.com/a/b/blob/main/x.py"),
    ("https://pypi.org/project/flask/1.0/", "https://pypi.org/project/flask/2.0/"),
    ("https://pypi.org/project/flask/1.0/", "https://pypi.org/project/flask/"),
    ("https://youtu.be/dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcR"),
    ("https://www.rfc-editor.org/rfc/rfc911", "https://www.rfc-editor.org/rfc/rfc9110"),
    ("ISBN 0-306-40615-2", "ISBN 978-3-16-148410-0"),
]

NO_WORK = [
    "https://example.org/a",
    "https://github.com/features/actions",
    "https://github.com/topics/python",
    "https://huggingface.co/papers/2101.00001",
    "https://arxiv.org/list/cs.LG/recent",
    "https://pypi.org/pypi/flask/json",
    "https://stackoverflow.com/questions/11/how-to/22",
    "https://www.reddit.com/r/python/comments/abc/title/def",
    "Why RFC 2119 is wrong",
    "ISBN 0-306-40615-3",
    "",
]

WRAPPED = [
    ("https://web.archive.org/web/20200101000000/http://example.org/a?b=1", "http://example.org/a?b=1"),
    ("https://web.archive.org/web/2020id_/example.org/a", "http://example.org/a"),
    ("https://web.archive.org/save/https://example.org/a", "https://example.org/a"),
    ("https://archive.ph/2020.01.01-000000/https://example.org/a", "https://example.org/a"),
    ("https://archive.is/newest/http://example.org/a", "http://example.org/a"),
    ("https://www-example-org.cdn.ampproject.org/c/s/www.example.org/a", "https://www.example.org/a"),
    ("https://www.google.com/amp/s/www.example.org/a", "https://www.example.org/a"),
    ("https://www.google.com/url?sa=t&url=https%3A%2F%2Fexample.org%2Fa%3Fb%3D1", "https://example.org/a?b=1"),
    (
        "https://webcache.googleusercontent.com/search?q=cache:abcdefghijkl:https://example.org/a+words",
        "https://example.org/a",
    ),
    ("https://l.facebook.com/l.php?u=https%3A%2F%2Fexample.org%2Fa&h=x", "https://example.org/a"),
    ("https://link.zhihu.com/?target=https%3A//example.org/a", "https://example.org/a"),
    ("https://r.jina.ai/https://example.org/a", "https://example.org/a"),
    ("https://example.org/2020/01/a-long-title-here/amp/", "https://example.org/2020/01/a-long-title-here/"),
    ("https://example.org/a?amp=1&b=2", "https://example.org/a?b=2"),
    ("https://web.archive.org/web/2020/https://www.google.com/url?q=https://example.org/a", "https://example.org/a"),
]

NO_PAGE = [
    "javascript:alert(1)",
    "JavaScript://example.org/%0aalert(1)",
    "data:text/html,<b>x</b>",
    "vbscript:x",
    "blob:https://example.org/1",
    "about:blank",
    "example.org/a",
    "//example.org/a",
    "/a/b",
    "https://",
    "https:///",
    "https://[::1",
    "https://exa mple.org/",
    "https://example.org/" + "a" * 5000,
    "\ud800",
    "",
    " ",
]

A_URL = st.builds(
    lambda host, path, query: f"https://{host}.example/{path}" + (f"?{query}" if query else ""),
    st.text(string.ascii_letters, min_size=1, max_size=5),
    st.text(string.ascii_letters + "/%.~-7Ee2fé ", max_size=12),
    st.lists(st.sampled_from(["a=1", "b=%7e", "B", "utm_x=1", "a=2", "ref=%41"]), max_size=5).map("&".join),
)


# Conformance: 003-021
@table(("one", "other"), SAME_PAGE)
def test_urls_of_one_page_have_one_key(one: str, other: str) -> None:
    assert compute_source_url_key(one) == compute_source_url_key(other) is not None


# Conformance: 003-021
@table(("one", "other"), OTHER_PAGE)
def test_urls_of_different_pages_have_different_keys(one: str, other: str) -> None:
    assert None is not compute_source_url_key(one) != compute_source_url_key(other) is not None
    assert compute_source_keys(ResearchSource(title="", url=one)).work_text is None


@table("url", NO_PAGE)
def test_a_url_without_a_page_has_no_key_and_is_an_error(url: str) -> None:
    assert compute_source_url_key(url) is None
    if url.strip() and len(url) < 4000:
        with pytest.raises(SourceError, match="not a (page|URL)"):
            compute_source_keys(ResearchSource(title="t", url=url))


# Conformance: 003-065
@given(A_URL)
def test_a_key_is_the_key_of_itself(url: str) -> None:
    key = compute_source_url_key(url)
    if key is not None:
        assert compute_source_url_key(key) == key


@given(A_URL)
def test_the_order_of_different_parameters_does_not_matter(url: str) -> None:
    page, _, query = url.partition("?")
    pairs = list({re.split("=", pair)[0]: pair for pair in query.split("&")}.values())
    turned = "&".join(reversed(pairs))
    assert compute_source_url_key(f"{page}?{'&'.join(pairs)}") == compute_source_url_key(f"{page}?{turned}")


@given(st.text(string.ascii_letters + string.digits + "-._~", min_size=1, max_size=10))
def test_escaping_what_needs_no_escape_changes_nothing(text: str) -> None:
    escaped = "".join(f"%{byte:02x}" for byte in text.encode())
    if text.strip(".") and text not in (".", ".."):
        assert compute_source_url_key(f"https://example.org/x{text}") == compute_source_url_key(
            f"https://example.org/x{escaped}"
        )


@given(st.sampled_from("!*'();:@&=+$,/?#[]% <>\"{}|"))
def test_escapes_of_reserved_characters_stay(sign: str) -> None:
    key = compute_source_url_key(f"https://example.org/a%{ord(sign):02x}b")
    assert key == f"https://example.org/a%{ord(sign):02X}b"


@given(st.text(max_size=30))
def test_any_text_has_a_key_or_none(text: str) -> None:
    for said in (text, f"https://{text}", f"https://example.org/{text}"):
        key = compute_source_url_key(said)
        assert key is None or compute_source_url_key(key) == key
        parse_cited_work(said)
        compute_loose_source_key(said)


def test_parameters_that_select_pages_are_not_trackers() -> None:
    listed = EVERYWHERE.union(*BY_SITE.values())
    assert not listed & {"ref", "source", "id", "v", "page", "q", "p"}
    assert not any(name.startswith(PREFIXES) for name in ("ref", "source", "id", "v", "page"))
    assert all(name == name.lower() for name in listed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.example.org/a/", "http://example.org/a"),
        ("https://m.example.org/a/index.html", "https://example.org/a"),
        ("https://en.m.wikipedia.org/wiki/A", "https://en.wikipedia.org/wiki/A"),
        ("https://example.org/A", "https://example.org/a"),
        ("https://amp.example.org/a", "https://example.org/a/amp"),
    ],
)
def test_probably_equal_pages_share_only_the_loose_key(one: str, other: str) -> None:
    assert compute_source_url_key(one) != compute_source_url_key(other)
    assert compute_loose_source_key(one) == compute_loose_source_key(other)


@table(("one", "other"), SAME_WORK)
def test_urls_and_identifiers_of_one_work_have_one_key(one: str, other: str) -> None:
    assert parse_cited_work(one) == parse_cited_work(other) is not None


@table(("one", "other"), OTHER_WORK)
def test_different_works_have_different_keys(one: str, other: str) -> None:
    assert None is not parse_cited_work(one) != parse_cited_work(other) is not None


@table("said", NO_WORK)
def test_a_page_about_a_work_has_no_work_key(said: str) -> None:
    assert parse_cited_work(said) is None


@table(("wrapper", "inner"), WRAPPED)
def test_wrappers_are_unwrapped(wrapper: str, inner: str) -> None:
    found = unwrap_source_url(wrapper)
    assert found is not None
    assert compute_source_url_key(found) == compute_source_url_key(inner)
    assert parse_cited_work(wrapper) == ("page", compute_source_url_key(inner))


@pytest.mark.parametrize(
    "url",
    [
        "https://web.archive.org/web/2020*/https://example.org/",
        "https://web.archive.org/",
        "https://archive.ph/AbCdE",
        "https://www.google.com/search?q=https://example.org/",
        "https://www.google.com/url?q=javascript:alert(1)",
        "https://l.facebook.com/l.php?u=//example.org",
        "https://example.org/amp",
        "https://example.org/?amp=guitar",
    ],
)
def test_a_url_without_an_inner_page_is_not_a_wrapper(url: str) -> None:
    assert unwrap_source_url(url) is None


# Conformance: 003-020
def test_a_source_without_page_and_work_is_identified_by_title_and_snippet() -> None:
    one = ResearchSource(title="A  Title", metadata={"snippet": "Some words"})
    assert (
        compute_source_keys(one).canonical
        == compute_source_keys(ResearchSource(title="a title", metadata={"snippet": "some WORDS"})).canonical
    )
    assert (
        compute_source_keys(one).canonical != compute_source_keys(ResearchSource(title="a title some words")).canonical
    )
    assert re.fullmatch("text:[0-9a-f]{64}", compute_source_keys(one).canonical)


def test_two_works_of_one_title_are_two_sources() -> None:
    one, other = (ResearchSource(title="Preface", metadata={"doi": f"10.1000/{n}"}) for n in (1, 2))
    assert compute_source_keys(one).canonical != compute_source_keys(other).canonical
    assert compute_source_keys(one).work_text == "doi:10.1000/1"


@pytest.mark.parametrize(
    ("metadata", "work"),
    [
        ({"doi": "https://doi.org/10.1000/1"}, "doi:10.1000/1"),
        ({"arxiv_id": "2101.00001v2"}, "arxiv:2101.00001"),
        ({"pmid": 123}, "pmid:123"),
        ({"pmcid": "PMC5"}, "pmc:5"),
        ({"isbn": "0306406152"}, "isbn:9780306406157"),
        ({"rfc": "9110"}, "rfc:9110"),
        ({"doi": True, "isbn": "1", "cve": None}, None),
    ],
)
def test_metadata_names_works(metadata: dict[str, object], work: str | None) -> None:
    assert compute_source_keys(ResearchSource(title="t", metadata=metadata)).work_text == work


def test_credentials_are_removed_from_a_url() -> None:
    assert strip_source_url_credentials("https://ana:secret@example.org/a?b") == "https://example.org/a?b"
    assert strip_source_url_credentials("https://example.org/A%7e") == "https://example.org/A%7e"
    assert strip_source_url_credentials("no url") == "no url"


# Conformance: 003-045, 003-101
def test_near_copies_are_found_and_others_are_not() -> None:
    words = [f"word{n}" for n in range(200)]
    whole = compute_source_excerpt_key(" ".join(words))
    assert measure_excerpt_nearness(whole, compute_source_excerpt_key(" ".join(words[:150]))) > 0.9
    assert measure_excerpt_nearness(whole, compute_source_excerpt_key(" ".join(words[::-1]))) < 0.1
    assert (
        measure_excerpt_nearness(
            compute_source_excerpt_key("一二三四五六七八九十" * 3),
            compute_source_excerpt_key("零一二三四五六七八九十" * 3),
        )
        > 0.3
    )
    assert measure_excerpt_nearness(compute_source_excerpt_key(""), compute_source_excerpt_key("")) == 1.0
