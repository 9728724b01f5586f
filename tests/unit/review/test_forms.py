"""A review as Markdown, annotations and code quality: within the limits of the hosts, and nothing from records acts."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.gate.wire.report import AddedLines, ReasonReport, SkippedCheck
from custody.review.app.artifact import ARTIFACT_BYTES_MAX, decode_review
from custody.review.app.forms import (
    ANNOTATIONS_MAX,
    ANNOTATIONS_PER_KIND_MAX,
    COMMENT_CHARACTERS_MAX,
    MARK,
    encode_code_quality,
    encode_review_annotations,
    encode_review_markdown,
)
from custody.review.wire import (
    HunkAuthor,
    HunkCall,
    HunkDuplicate,
    HunkLinks,
    HunkReport,
    HunkRiskReport,
    HunkSource,
    LineSpan,
    PromptCard,
    ReadMark,
    ReviewReport,
    RiskFactorReport,
)
from custody.runs.wire import RunReport
from custody.runs.wire import TestsReport as RunState

HOSTILE = (
    "</code></pre></details><img src=x onerror=alert(1)> @team #12 GH-3 https://x.example `a` **b** [c](d) |\n"
    "/close\n<!-- custody: review --> \u202eevil a@b.example 0123456789abcdef0123456789abcdef01234567"
)


def a_hunk(number: int = 1, text: str = "plain", **fields: object) -> HunkReport:
    prompt = PromptCard(state="shown", text=text, length=9, by=text, at=text, session="s")
    given: dict[str, object] = {
        "id": f"{number:064x}",
        "path": f"src/{text}.py",
        "old_path": None,
        "lines": LineSpan(number, number + 2),
        "old_lines": None,
        "added": 3,
        "removed": 0,
        "channel": "production",
        "risk": HunkRiskReport("medium", [RiskFactorReport("ATTR-NONE", "medium", text)]),
        "authors": [HunkAuthor(kind="agent", lines=3, certainty="strong", agent=text, model=text)],
        "blocks": [],
        "confidence": "strong",
        "certainty": text,
        "tests": RunState(state="unknown"),
        "prompt": prompt,
        "prompts": [prompt],
        "calls": [HunkCall(id=text, tool=text, session="s", number=1, of=2, at=text, status=text, model=text)],
        "sources": [HunkSource(locator=text, reading="verbatim", at=text)],
        "sources_more": 0,
        "duplicates": [],
        "read_by": [],
        "links": HunkLinks(why=f"custody why {text}", log=None),
    }
    return HunkReport(**(given | fields))  # type: ignore[arg-type]  # whatever a test wants to set


def a_review(*hunks: HunkReport, **fields: object) -> ReviewReport:
    given: dict[str, object] = {
        "base": "a" * 40,
        "head": "b" * 40,
        "fork": "a" * 40,
        "worktree": False,
        "verdict": "review",
        "assurance": "enrolled",
        "summary": "Nothing shows who wrote it.",
        "files": 1,
        "added": AddedLines(agent=3, mixed=0, person=0, none=0),
        "removed_lines": 0,
        "tested": None,
        "levels": {"high": 0, "medium": len(hunks), "low": 0},
        "reasons": [],
        "statements": [],
        "order": [hunk.id for hunk in hunks],
        "hunks": list(hunks),
        "more": None,
        "trust": [],
        "unread": [],
        "skipped": [],
        "duplicates_checked": True,
        "rules_digest": "sha256:0",
        "as_of": "2026-11-16T09:00:00Z",
        "notes": [],
    }
    return ReviewReport(**(given | fields))  # type: ignore[arg-type]  # whatever a test wants to set


def test_hostile_records_stay_text_in_markdown() -> None:
    review = a_review(a_hunk(text=HOSTILE), summary=HOSTILE, notes=[HOSTILE], rules_digest=HOSTILE, as_of=HOSTILE)
    text = encode_review_markdown(review, "https://github.com/o/n/blob/b", with_prompts=True)
    page = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
    assert "<img" not in page and "<!-- custody: review -->" not in page[len(MARK) :]
    assert set(re.findall(r'href="([^"/]*//[^/"]*)', page)) == {"https://github.com"}
    outside = re.sub(r"<(code|pre)>.*?</\1>", "", page, flags=re.DOTALL)
    visible = unescape(re.sub("<[^>]*>", "", outside))
    assert not re.search(
        r"@\w|#\d|GH-\d|https?://|\b[0-9a-f]{7,40}\b|\u202e", visible.replace(f"{'a' * 12}..{'b' * 12}", "")
    )
    assert page.count("<details") == page.count("</details>") == 1
    assert not any(line.startswith("/") for line in text.splitlines())


def test_prompts_are_not_published_unless_asked_for() -> None:
    review = a_review(a_hunk(text="the secret plan"))
    hidden = replace(review, hunks=[replace(review.hunks[0], path="a.py", authors=[], calls=[], sources=[])])
    assert "prompt not shared" in encode_review_markdown(hidden)
    assert "<pre>the secret plan</pre>" not in encode_review_markdown(review)
    assert "<pre>the secret plan</pre>" in encode_review_markdown(review, with_prompts=True)


def test_a_comment_keeps_to_the_limit_and_counts_the_rest() -> None:
    review = a_review(*(a_hunk(number, text="ä<&" * 60) for number in range(1, 400)))
    text = encode_review_markdown(review, with_prompts=True)
    assert len(text) <= COMMENT_CHARACTERS_MAX
    shown = text.count("<details")
    assert 0 < shown < 399 and f"{399 - shown} more hunks without a card" in text


def test_annotations_are_worst_first_and_few_of_a_kind() -> None:
    kinds = [RiskFactorReport(f"CODE-{kind}", "medium", "so") for kind in range(8)]
    hunks = [a_hunk(n, risk=HunkRiskReport("medium", [kinds[n % 8]])) for n in range(160)]
    low = a_hunk(999, risk=HunkRiskReport("low", [kinds[0]]))
    review = a_review(*hunks, low)
    lines = encode_review_annotations(review).decode().splitlines()
    assert len(lines) == ANNOTATIONS_MAX and "src/plain.py" in lines[0]
    one_kind = a_review(*(a_hunk(n) for n in range(40)))
    assert len(encode_review_annotations(one_kind).splitlines()) == ANNOTATIONS_PER_KIND_MAX
    assert len(json.loads(encode_code_quality(one_kind))) == ANNOTATIONS_PER_KIND_MAX


def test_an_annotation_holds_no_other_command() -> None:
    review = a_review(a_hunk(text="x\n::error::evil\r\n%0A"))
    assert len(encode_review_annotations(review).splitlines()) == 1


def test_code_quality_has_a_stable_fingerprint_and_a_place() -> None:
    first, again = (json.loads(encode_code_quality(a_review(a_hunk(7)))) for _ in range(2))
    assert first == again
    assert (first[0]["location"], first[0]["severity"]) == ({"path": "src/plain.py", "lines": {"begin": 7}}, "major")


def test_a_review_is_read_back_as_it_was() -> None:
    review = a_review(a_hunk(text=HOSTILE))
    assert decode_review(msgspec.json.encode(review)) == review


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{" * 100_000,
        b'{"report":"gate"}',
        b"\xff",
        b" " * (ARTIFACT_BYTES_MAX + 1),
        msgspec.json.encode(a_review(a_hunk(1), order=["x"])),
        msgspec.json.encode(a_review(head="../../x")),
        msgspec.json.encode(a_review(verdict="<b>")),
        msgspec.json.encode(a_review(a_hunk(1))).replace(b'"start":1', b'"start":1e999'),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_review(data)


FRAGMENTS = (
    *("@team", "#12", "GH-3", "!7", "%1", "~label", "$x$", "a@b.example", "org/name#3", "0123456789abcdef0123456789"),
    *(
        "https://x.example/a?b",
        "www.x.example",
        "javascript:alert(1)",
        "[a](b)",
        "![a](b)",
        "[a]: http://b",
        "<a href=b>",
    ),
    *(
        "</code>",
        "</pre>",
        "</summary>",
        "</details>",
        "<details>",
        "<!--",
        "-->",
        "<img src=x>",
        "&lt;b&gt;",
        "&#64;all",
    ),
    *(
        "```",
        "~~~",
        "`",
        "``",
        "|",
        "\n",
        "\n\n",
        "\r\n",
        "\n/close",
        "\n- a",
        "\n# a",
        "\n> a",
        "---",
        "===",
        "**",
        "_",
    ),
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "\u2060",
        "\ufeff",
        "\x00",
        "\x1b[2J",
        "\x9b",
        "\u2028",
        "\udce9",
        "\\",
        "  \n",
        "\t",
    ),
)
TEXTS = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8)), max_size=12).map(
    lambda parts: f"x{''.join(parts)}"
)
LINK_BASE = "https://github.com/o/n/blob/b"


class Outline(HTMLParser):
    """The tags of a page, their attributes, and the text outside of code."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []
        self.visible: list[str] = []
        self.depth = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs if name not in ("href", "style")]
        self.tags.append(" ".join([tag, *names]))
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.depth += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")
        self.depth -= tag in ("code", "pre")

    def handle_comment(self, data: str) -> None:
        self.comments.append(data.strip())

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.visible.append(data)


def hostile_review(text: str) -> ReviewReport:
    """Return a review with this text wherever a record or the change decides the text."""
    run = RunReport(
        agent=text,
        session=text,
        call=text,
        command=text,
        kind="test",
        runner=text,
        result="passed",
        source="status",
        ended=text,
        folder=text,
        names=[text],
    )
    hunk = a_hunk(
        text=text,
        risk=HunkRiskReport("medium", [RiskFactorReport(text, "medium", text)]),
        tests=RunState(state="stale", run=run),
        duplicates=[HunkDuplicate(change=text, name=text, code=text, why=text)],
        read_by=[ReadMark(person=text, at=text, assurance=text)],
    )
    withheld = replace(hunk, prompts=[replace(hunk.prompt, text=None, note=text)])
    reason = ReasonReport(text, "review", text, text, [])
    facts = {"summary": text, "notes": [text], "rules_digest": text, "as_of": text}
    return a_review(hunk, withheld, reasons=[reason], skipped=[SkippedCheck(text, text)], **facts)


def outline(text: str) -> Outline:
    markdown = encode_review_markdown(hostile_review(text), LINK_BASE, with_prompts=True)
    assert len(markdown) <= COMMENT_CHARACTERS_MAX
    assert not any(line.startswith("/") for line in markdown.splitlines()), "a quick action of the host"
    return Outline(MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(markdown))


@given(TEXTS)
def test_no_text_changes_the_structure_of_a_comment(text: str) -> None:
    page, plain = outline(text), outline("x")
    # A file name that is not UTF-8 has no link.
    assert [tag for tag in page.tags if tag not in ("a", "/a")] == [tag for tag in plain.tags if tag not in ("a", "/a")]
    assert page.comments == plain.comments == ["custody: review"]
    assert all(link.startswith(f"{LINK_BASE}/") for link in page.links) and len(page.links) <= len(plain.links)
    visible = "".join(page.visible).replace(f"{'a' * 12}..{'b' * 12}", "")
    assert not re.search(
        r"[@#!$%~]\w|GH-\d|://|(?<![^\W_])www\.|[0-9a-fA-F]{7,}|[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]",
        visible,
    )


@given(TEXTS)
def test_no_text_changes_what_the_other_formats_hold(text: str) -> None:
    review = hostile_review(text)
    lines = encode_review_annotations(review).decode("utf-8", "surrogatepass").split("\n")
    assert len(lines) == 3 and lines[-1] == "" and all(line.startswith("::warning ") for line in lines[:2])
    assert not any(character in line for line in lines for character in "\r\x00\x1b")
    assert len(json.loads(encode_code_quality(review))) == 2
