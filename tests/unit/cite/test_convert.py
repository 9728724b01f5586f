import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.cite.convert import ConversionTarget, convert_citations
from custody.cite.document import CiteError, MarkerForm
from custody.cite.subject import AuditSubject
from tests.builders.table import table
from tests.unit.cite.reports import a_report, cited, listed, untouched

TARGETS = st.sampled_from(list(ConversionTarget))

REPORT = b"""# Report

Prices rose [S2], catches fell [S1, S3]. `code [S1]` and $x[S1]$.

Boats [S1-S3]; see [a page](https://example.org/x).

## Sources

- [S1] Generic<T> and <script>alert(1)</script> https://example.org/a>b
- [S2] Second *title* (https://example.org/two)
- [S3] Third, without an address
"""

FOOTNOTES = rb"""# Report

Prices rose [^1], catches fell [^2][^3]. `code [S1]` and $x[S1]$.

Boats [^2][^1][^3]; see [a page](https://example.org/x).

## Footnotes

[^1]: Second *title* <https://example.org/two>
[^2]: Generic\<T> and \<script>alert(1)\</script> <https://example.org/a%3Eb>
[^3]: Third, without an address
"""

SOURCES = rb"""# Report

Prices rose [1], catches fell [2][3]. `code [S1]` and $x[S1]$.

Boats [2][1][3]; see [a page](https://example.org/x).

## Sources

1. Second *title* <https://example.org/two>
2. Generic\<T> and \<script>alert(1)\</script> <https://example.org/a%3Eb>
3. Third, without an address
"""


def made(text: str, to: ConversionTarget = ConversionTarget.FOOTNOTES) -> str:
    return convert_citations(text.encode(), to).text.decode()


# Conformance: 003-004, 003-066
def test_footnotes_are_numbered_by_first_use() -> None:
    assert convert_citations(REPORT, ConversionTarget.FOOTNOTES).text == FOOTNOTES


# Conformance: 003-084
def test_sources_are_a_numbered_list() -> None:
    assert convert_citations(REPORT, ConversionTarget.SOURCES).text == SOURCES


def test_markers_keep_their_ids() -> None:
    text = convert_citations(REPORT, ConversionTarget.MARKERS).text
    assert b"rose [S2], catches fell [S1][S3]" in text
    assert text.endswith(b"- [S2] Second *title* <https://example.org/two>\n- [S3] Third, without an address\n")


def test_converting_there_and_back_gives_the_same_text() -> None:
    markers = convert_citations(REPORT, ConversionTarget.MARKERS).text
    assert (
        convert_citations(convert_citations(FOOTNOTES, ConversionTarget.SOURCES).text, ConversionTarget.FOOTNOTES).text
        == FOOTNOTES
    )
    assert cited(
        convert_citations(convert_citations(markers, ConversionTarget.FOOTNOTES).text, ConversionTarget.MARKERS).text
    ) == cited(markers)


# Conformance: 003-087
def test_without_markers_the_list_is_headed_references() -> None:
    for to in (ConversionTarget.FOOTNOTES, ConversionTarget.SOURCES):
        assert made("Words.\n\n## Sources\n\n- [S1] One https://example.org/1\n", to) == (
            "Words.\n\n## References\n\n1. One <https://example.org/1>\n"
        )


def test_uncited_sources_come_after_the_others() -> None:
    text = "Words [2].\n\n## Sources\n\n1. One\n2. Two\n3. Three\n"
    assert made(text).endswith("## Footnotes\n\n[^1]: Two\n[^2]: One\n[^3]: Three\n")


def test_a_marker_without_a_source_stays_and_its_number_is_not_reused() -> None:
    text = "Words [2], [S1] and [^2].\n\n## Sources\n\n1. One\n2. Two\n"
    converted = convert_citations(text.encode(), ConversionTarget.FOOTNOTES)
    assert converted.text.decode() == "Words [^1], [^3] and [^2].\n\n## Footnotes\n\n[^1]: Two\n[^3]: One\n"


def test_a_number_that_is_not_a_marker_never_becomes_one() -> None:
    text = "Words [^a] and [1] thing.\n\n[^a]: A https://example.org/a\n"
    assert "[1] thing" in made(text, ConversionTarget.SOURCES) and cited(
        made(text, ConversionTarget.SOURCES).encode()
    ) == [
        "https://example.org/a",
        "?1",
    ]


@pytest.mark.parametrize(
    ("definition", "line"),
    [
        ("[1]: docs/plan.md", "[^1]: docs/plan.md"),
        ('[1]: docs/plan.md "The plan"', "[^1]: The plan docs/plan.md"),
        ("[1]: javascript:alert(1)", "[^1]: javascript:alert(1)"),
        ("[1]: [a](https://example.org/1)", "[^1]: %5Ba%5D <https://example.org/1>"),
        ('[1]: https://example.org/1 "The plan -"', "[^1]: The plan <https://example.org/1>"),
        ("[1]: https://example.org/1", "[^1]: <https://example.org/1>"),
        (
            "[1]: https://example.org/other\n\n## Sources\n\n1. A https://example.org/1",
            "[^1]: A https://example.org/other <https://example.org/1>",
        ),
        (
            "[1]: http://example.org/1\n\n## Sources\n\n1. A https://example.org/1",
            "[^1]: A <https://example.org/1>",
        ),
        ("[1]: docs/plan.md\n\n## Sources\n\n1. The plan", "[^1]: The plan docs/plan.md"),
    ],
)
def test_no_url_of_a_definition_is_lost(definition: str, line: str) -> None:
    text = made(f"Words [1].\n\n{definition}\n")
    assert text.splitlines()[-1] == line
    assert made(text) == text


def test_a_link_that_shows_a_number_stays_and_its_source_keeps_the_number() -> None:
    text = "Words [3][1], see [2](https://example.org/2).\n\n## Sources\n\n1. A https://example.org/1\n"
    text += "2. B https://example.org/2\n3. C https://example.org/3\n"
    assert made(text, ConversionTarget.SOURCES) == (
        "Words [1][3], see [2](https://example.org/2).\n\n## Sources\n\n1. C <https://example.org/3>\n"
        "2. B <https://example.org/2>\n3. A <https://example.org/1>\n"
    )


def test_a_marker_before_a_colon_does_not_become_a_definition() -> None:
    text = "[S1]: this is said there.\n\n## Sources\n\n- [S1] One https://example.org/1\n"
    assert made(text).startswith("[^1]\\: this is said there.")
    for before in ("1. ", "> 12) ", "- 3. "):
        assert made(before + text).startswith(f"{before}[^1]\\: this is said there.")
    for before in ("2024 ", "1.2 ", "3.", "a. "):
        assert made(before + text).startswith(f"{before}[^1]: this is said there.")


def test_text_after_a_footnote_does_not_break_it() -> None:
    text = "Words [1][words](https://example.org/x), [1][9].\n\n## Sources\n\n1. A\n"
    assert made(text).startswith("Words [^1] [words](https://example.org/x), [^1] [9].")


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
        ("Generic<T>", "Generic\\<T>"),
        ("`Generic<T>`", "`Generic<T>`"),
        ("a [2] b", "a \\[2\\] b"),
        ("a [^2] b", "a \\[^2\\] b"),
        ("already \\<T>", "already \\<T>"),
        ("2024. Report", "2024\\. Report"),
        ("# heading", "\\# heading"),
        ("a <!-- b", "a \\<!-- b"),
    ],
)
def test_titles_cannot_inject_markup(title: str, written: str) -> None:
    text = f"Words [S7].\n\n## Sources\n\n- [S7] {title} https://example.org/1\n"
    assert f"[^1]: {written} <https://example.org/1>" in made(text)


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://example.org/a>b", "<https://example.org/a%3Eb>"),
        ("https://example.org/a`b{c}", "<https://example.org/a%60b%7Bc%7D>"),
        ("https://example.org/中文", "<https://example.org/中文>"),
        ("www.example.org/a", "www.example.org/a"),
    ],
)
def test_urls_are_encoded(url: str, written: str) -> None:
    assert f"[^1]: Title {written}\n" in made(f"Words [1].\n\n## Sources\n\n1. Title {url}\n")


def test_a_javascript_link_becomes_text() -> None:
    text = "Words [1].\n\n## Sources\n\n1. [Title](javascript:alert(1))\n"
    assert made(text).endswith("[^1]: Title javascript:alert(1)\n")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Words [^1].\n\n[^1]: see [^1]\n", "line 3, column 1"),
        ("Words [^a].\n\n[^a]: see [^b]\n[^b]: see [^c]\n[^c]: see [^a]\n", "line 3, column 1"),
        ("Words [^a].\n\n[^a]: see [^b]\n[^b]: see [^b]\n", "line 4, column 1"),
    ],
)
def test_a_footnote_that_refers_to_itself_is_an_error(text: str, place: str) -> None:
    with pytest.raises(CiteError, match=place):
        made(text)


def test_a_footnote_may_refer_to_another() -> None:
    text = "Words [^b] [^a].\n\n[^a]: see [^b]\n[^b]: end\n"
    assert made(text) == "Words [^1] [^2].\n\n## Footnotes\n\n[^1]: end\n[^2]: see [^1]\n"


def test_a_list_inside_code_is_an_error() -> None:
    with pytest.raises(CiteError, match="line 5, column 1 is inside code"):
        made("Words [1].\n\n## Sources\n\n```\n[1] A https://example.org/1\n```\n")


@table("data", [b"", b"\n", b"no citation at all", b"# Sources\n", b"\x00", b"\xff\xfe", "é".encode("latin-1")])
@table("to", list(ConversionTarget))
def test_a_text_without_a_list_is_unchanged(data: bytes, to: ConversionTarget) -> None:
    assert convert_citations(data, to).text == data


def test_line_ends_and_the_end_of_the_file_stay() -> None:
    text = "Words [1].\r\n\r\n## Sources\r\n\r\n1. A https://example.org/1"
    assert made(text) == "Words [^1].\r\n\r\n## Footnotes\r\n\r\n[^1]: A <https://example.org/1>"


def test_invalid_bytes_stay() -> None:
    data = b"Words \xff\x00 [1].\n\n## Sources\n\n1. A \xff\xfe https://example.org/1\n"
    assert convert_citations(data, ConversionTarget.FOOTNOTES).text == (
        b"Words \xff\x00 [^1].\n\n## Footnotes\n\n[^1]: A \xff\xfe <https://example.org/1>\n"
    )


def test_other_text_in_the_section_and_after_the_list_stays() -> None:
    text = "Words [1].\n\n### Sources\n\nRead in May.\n\n1. A\n2. B\n\nA remark.\n\n## Next\n\nWords.\n"
    assert made(text) == (
        "Words [^1].\n\n### Footnotes\n\nRead in May.\n\n[^1]: A\n[^2]: B\n\nA remark.\n\n## Next\n\nWords.\n"
    )


def test_lists_in_several_places_become_one() -> None:
    text = "Words [1] [2].\n\n## Sources\n\n1. A\n\n## More\n\nWords.\n\n## References\n\n2. B\n"
    assert made(text) == "Words [^1] [^2].\n\n## More\n\nWords.\n\n## Footnotes\n\n[^1]: A\n[^2]: B\n"


def test_an_entry_with_code_keeps_it() -> None:
    text = "Words [1].\n\n## Sources\n\n1. A https://example.org/1\n\n   ```\n   code\n   ```\n2. B\n"
    assert "[^1]: A https://example.org/1\n\n    ```\n    code\n    ```\n[^2]: B" in made(text)


@given(a_report(), TARGETS)
@settings(deadline=None)
def test_nothing_outside_markers_and_list_changes(data: bytes, to: ConversionTarget) -> None:
    subject = AuditSubject.of(data)
    converted = convert_citations(data, to)
    assert untouched(data, converted)
    markers = {(marker.start, marker.end) for marker in subject.markers if marker.form is not MarkerForm.LINKED}
    for change in converted.changes:
        in_list = subject.is_in_list(change.start) or change.start == len(data)
        assert (change.start, change.end) in markers or in_list, change


# Conformance: 003-066
@given(a_report(), TARGETS)
@settings(deadline=None)
def test_converting_twice_is_converting_once(data: bytes, to: ConversionTarget) -> None:
    once = convert_citations(data, to).text
    assert convert_citations(once, to).text == once


@given(a_report(), TARGETS, TARGETS)
@settings(deadline=None)
def test_citations_and_sources_survive_there_and_back(
    data: bytes, there: ConversionTarget, back: ConversionTarget
) -> None:
    converted = convert_citations(convert_citations(data, there).text, back).text
    assert [one for one in cited(converted) if one[0] != "?"] == [one for one in cited(data) if one[0] != "?"]
    assert sorted(listed(converted)) == sorted(listed(data))


PIECES = (
    "[1] [2] [3] [S1] [^1] [^2] [1,2] 【1】 [cite:2] [1](http://a.b/c) `[1]` ``` http://e.f/g <http://h.i/j>"
    " [t](http://k.l/m) word. 中文句子增长12%。 <b> </b> <!-- $ * ** _ \\ < &lt; : . ) ( é"
    " javascript:x www.q.r [0,1] [2024] \x00"
).split(" ")


@given(
    st.lists(st.sampled_from([*PIECES, "\n", "\n\n", "- ", "1. ", "> ", "# Part\n\n", " "]), max_size=20).map("".join),
    TARGETS,
)
@settings(deadline=None)
def test_wild_text_before_a_list_converts_to_the_same_twice(text: str, to: ConversionTarget) -> None:
    data = (text + "\n\n## Sources\n\n1. One https://example.org/1\n2. Two https://example.org/2\n").encode()
    try:
        once = convert_citations(data, to).text
    except CiteError:
        return
    assert convert_citations(once, to).text == once


def test_a_megabyte_on_one_line_is_converted() -> None:
    text = "Prices rose [2] in 2024. " * 42_000 + "\n\n## Sources\n\n1. A\n2. B\n"
    assert made(text).count("[^1]") == 42_001


@pytest.mark.parametrize("to", list(ConversionTarget))
def test_a_marker_of_other_brackets_becomes_no_link_with_what_follows(to: ConversionTarget) -> None:
    data = "A 【1】(words) and 【2】().\n\n## Sources\n\n1. One https://example.org/1\n2. Two https://example.org/2\n".encode()
    once = convert_citations(data, to).text
    assert b"] (words) and " in once and b"] ()." in once
    assert convert_citations(once, to).text == once
