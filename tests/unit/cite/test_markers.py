from custody.cite.document import MarkerForm
from custody.cite.markdown import parse_markdown_layout
from custody.cite.markers import scan_citation_markers
from custody.cite.source_list import find_source_listing
from tests.builders.table import table

NUMBERED = "\n\n## Sources\n\n" + "\n".join(f"{n}. Title {n} https://example.org/{n}" for n in range(1, 13))


def seen(text: str, list_text: str = NUMBERED) -> list[tuple[str, str]]:
    layout = parse_markdown_layout((text + list_text).encode())
    return [
        (layout.text(one.start, one.end), " ".join(map(str, one.labels)))
        for one in scan_citation_markers(layout, find_source_listing(layout)).markers
    ]


@table(
    ("written", "labels"),
    [
        ("[S3]", "S3"),
        ("[3]", "3"),
        ("[^3]", "^3"),
        ("[S1, S3]", "S1 S3"),
        ("[S1-S3]", "S1 S2 S3"),
        ("【3】", "3"),
        ("【3†L2】", "3"),
        ("【3†source】", "3"),
        ("【4:0†source】", "4"),
        ("[cite: 3]", "3"),
        ("[cite: 1, 3]", "1 3"),
        ("[citation:3]", "3"),
        ("[1,2;3]", "1 2 3"),
        ("[1–3]", "1 2 3"),
        ("[3-1]", "1 2 3"),
        ("［１，３］", "1 3"),
        ("[1、3]", "1 3"),
        ("[s2]", "S2"),
        ("[ 7 ]", "7"),
        (r"\[3\]", "3"),
        ("[^note]", "^note"),
    ],
)
def test_every_form_of_marker_is_found(written: str, labels: str) -> None:
    assert seen(f"Prices rose{written}. 价格上涨{written}。") == [(written, labels)] * 2


def test_adjacent_markers_are_two() -> None:
    assert seen("Prices rose [S1][S2].") == [("[S1]", "S1"), ("[S2]", "S2")]


@table(
    "text",
    [
        "`[1]`",
        "``a ` [1]``",
        "```\n[1]\n```",
        "    [1]",
        "~~~py\nx[1]\n~~~",
        "$x[1]$",
        "$$\nx[1]\n$$",
        "[words [1] here](https://example.org/a)",
        '[words](https://example.org/a "title [1]")',
        "![picture [1]](https://example.org/a.png)",
        "<https://example.org/[1]>",
        "https://example.org/?a[1]=2",
        '<b title="[1]">',
        "<code>[1]</code>",
        '<a href="#1">[1]</a>',
        "<div>\n[1]\n</div>",
        "<!-- [1] -->",
        "- [x] done\n- [ ] open",
        "the interval [0, 1]",
        "[2024]",
        "[12345]",
        "[50, 100]",
        "[1-5000]",
        "[1.5]",
        "[0]",
    ],
)
def test_what_only_looks_like_a_marker_is_ignored(text: str) -> None:
    assert seen(f"Words.\n\n{text}\n\nMore words.") == []


def test_front_matter_has_no_markers_but_text_between_rules_does() -> None:
    assert seen("---\ntitle: '[1]'\n---\n\nWords [2].") == [("[2]", "2")]
    assert seen("Words.\n\n---\nMore words [2].\n\n---\n\nEnd.") == [("[2]", "2")]


def test_amounts_of_money_are_not_math() -> None:
    assert seen("It cost $5 [1]–$10, then US$7[2]–7$.") == [("[1]", "1"), ("[2]", "2")]


def test_a_number_that_is_not_listed_is_a_marker_where_numbers_are_listed() -> None:
    assert seen("Prices rose [99].") == [("[99]", "99")]
    assert seen("Prices rose [99].", "\n\n[^1]: note") == []


def test_without_a_list_numbers_are_markers_if_they_begin_with_one() -> None:
    assert seen("Prices rose [1], fell [2].", "") == [("[1]", "1"), ("[2]", "2")]
    assert seen("The array holds [7] and [8].", "") == []


def test_a_name_of_a_link_that_is_a_number_is_a_marker() -> None:
    definitions = '\n\n[1]: https://example.org/1 "One"\n[2]: https://example.org/2\n'
    assert seen("Prices rose [1] and [1][2], see [this][2].", definitions) == [("[1]", "1"), ("[1]", "1"), ("[2]", "2")]


def test_a_link_that_shows_a_listed_number_is_a_marker() -> None:
    layout = parse_markdown_layout(("Prices rose [3](https://example.org/3) [[4]](#ref-4)." + NUMBERED).encode())
    found = scan_citation_markers(layout, find_source_listing(layout)).markers
    assert [(one.form, str(one.labels[0])) for one in found] == [(MarkerForm.LINKED, "3"), (MarkerForm.LINKED, "4")]


def test_a_megabyte_on_one_line_is_read() -> None:
    text = "Prices rose by 12% [3]. " * 44_000
    assert len(seen(text)) == 44_000
    for hostile in ("[" * 1_000_000, "[1," * 330_000, "【1†" * 140_000, "[^" * 500_000, "\\[1" * 330_000):
        assert seen(hostile, "") == []
