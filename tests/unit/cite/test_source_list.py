import pytest

from custody.cite.markdown import parse_markdown_layout
from custody.cite.source_list import find_source_listing
from tests.builders.table import table


def entries(text: str) -> list[tuple[str, str, str | None]]:
    return [
        (str(entry.label) if entry.label else "-", entry.title, entry.url)
        for entry in find_source_listing(parse_markdown_layout(text.encode())).entries
    ]


ONE = ("1", "Title one", "https://example.org/1")
TWO = ("2", "Title two", "https://example.org/2")


@table(
    "text",
    [
        "## Sources\n\n1. Title one https://example.org/1\n2. Title two - https://example.org/2",
        "# References\n\n[1] Title one https://example.org/1\n\n[2] Title two: https://example.org/2",
        "## 参考文献\n\n[1] Title one，https://example.org/1\n[2] Title two。https://example.org/2",
        "参考文献：\n[1] https://example.org/1 - Title one\n[2] https://example.org/2 - Title two",
        "**Bibliography**\n\n- [1] [Title one](https://example.org/1)\n- [2] [Title two](https://example.org/2)",
        "#### 7. Works Cited\n\n* **[1]** Title one <https://example.org/1>\n* **[2]**: Title two <https://example.org/2>",
        '[1]: https://example.org/1 "Title one"\n[2]: https://example.org/2 (Title two)',
        "Sources\n=======\n\n1) Title one (https://example.org/1)\n2) Title two (URL: https://example.org/2)",
        "References\n\n(1) Title one https://example.org/1\n\n(2) Title two https://example.org/2",
        "## 来源\n\n|#|T|L|\n|-|-|-|\n|1|Title one|https://example.org/1|\n|[2]|Title two|https://example.org/2|",
        "## Quellen\n\n- [1](https://example.org/1) Title one\n- [2](https://example.org/2) Title two",
        "## Citations\n\n[[1]](#a) **[Title one](https://example.org/1)**\n\n[[2]](#b) **[Title two](https://example.org/2)**",
        "Prose ends here.\n\n[1] Title one https://example.org/1\n[2] Title two https://example.org/2",
        "## Sources\n\n1. Title one\n   - Link: https://example.org/1\n2. Title two\n   - Link: https://example.org/2",
    ],
)
def test_every_kind_of_list_is_parsed(text: str) -> None:
    found = [
        (label, title.replace("*", "").removesuffix("。").removesuffix(" — Link"), url)
        for label, title, url in entries(text)
    ]
    assert found == [ONE, TWO]


def test_ids_and_footnotes_keep_their_kind() -> None:
    assert entries(
        "## Sources\n\n- [S1] Title one https://example.org/1\n- S2 – Title two (https://example.org/2)"
    ) == [
        ("S1", *ONE[1:]),
        ("S2", *TWO[1:]),
    ]
    notes = "Words [^1] [^b].\n\n[^1]: Title one <https://example.org/1>\n\nMore words.\n\n[^b]: Title two <https://example.org/2>"
    assert entries(notes) == [("^1", *ONE[1:]), ("^b", *TWO[1:])]


def test_numbers_count_as_written_if_they_ascend_else_as_rendered() -> None:
    assert [label for label, _, _ in entries("## Sources\n\n1. A\n2. B\n4. C")] == ["1", "2", "4"]
    assert [label for label, _, _ in entries("## Sources\n\n1. A\n1. B\n1. C")] == ["1", "2", "3"]


def test_a_list_without_labels_needs_urls() -> None:
    text = "## Sources\n\n- Title one https://example.org/1\n- no address here\n- Title two https://example.org/2"
    assert entries(text) == [("-", *ONE[1:]), ("-", *TWO[1:])]


@pytest.mark.parametrize(
    "text",
    [
        "## Sources of funding\n\n1. A fund https://example.org",
        "## Results\n\n1. First step\n2. Second step",
        "## Data sources\n\nWe asked people.",
        "**Sources:**\n\n- a https://example.org/a\n\nAnd then the prose goes on.",
        "```\n## Sources\n\n1. A\n```",
    ],
)
def test_other_sections_are_not_a_list(text: str) -> None:
    assert entries(text) == []


def test_text_after_a_rule_or_the_next_heading_is_not_an_entry() -> None:
    text = "## Sources\n\n1. Title one https://example.org/1\n\n---\n\nBy https://example.org/bot\n\n## More\n\n1. no"
    assert entries(text) == [ONE]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("## Sources\n\n[1] A https://example.org/1\n[2] B https://example.org/2", "run together"),
        ("## Sources\n\n[1] A https://example.org/1 [2] B https://example.org/2", "run together"),
        ("## Sources\n\n```\n[1] A https://example.org/1\n[2] B https://example.org/2\n```", "inside code"),
        ("Words [1].\n\n## Sources\n\n[1]: https://example.org/1\n", "render as nothing"),
    ],
)
def test_a_list_that_does_not_render_is_parsed_with_the_reason(text: str, why: str) -> None:
    listing = find_source_listing(parse_markdown_layout(text.encode()))
    assert listing.entries and [why in trouble.why for trouble in listing.troubles] == [True]


@pytest.mark.parametrize("end", ["  \n", "\\\n", "<br>\n"])
def test_hard_breaks_separate_entries(end: str) -> None:
    text = f"## Sources\n\n[1] A https://example.org/1{end}[2] B https://example.org/2"
    listing = find_source_listing(parse_markdown_layout(text.encode()))
    assert len(listing.entries) == 2 and not listing.troubles


def test_a_url_keeps_its_brackets_without_trailing_punctuation() -> None:
    text = "## Sources\n\n1. A (see https://example.org/a_(b)).\n2. B https://example.org/x?y[0]=1, 2020."
    assert [url for _, _, url in entries(text)] == ["https://example.org/a_(b)", "https://example.org/x?y[0]=1"]
