"""The review page: the report of ``custody review`` beside the code, within the size of a page."""

import re
from html import unescape
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import CommitSha
from custody.review.app.review import ReviewRequest, review_change
from custody.review.wire import ReviewReport
from custody.server.app.questions import NameNotFound
from custody.server.page_data import review as review_data
from custody.server.page_data.diff import DiffReader, read_change_diff
from custody.server.page_data.work import WorkQueue
from custody.server.pages.code import compare_words, render_code_line
from custody.server.pages.frame import ServedLinks
from custody.server.pages.page import PageMemory
from custody.server.pages.review import make_review_page
from custody.terminal.syntax import CodePart, color_code_lines
from tests.builders.judged import Judged
from tests.builders.rendered import HOSTILE, acts, in_files, nodes_of, rendered, words_of

ELEMENTS_MAX, HTML_BYTES_MAX = 1_500, 150_000
CHANGED: dict[bytes, bytes] = {b"auth/login.py": b"def login():\n    pass\n", b"logo.bin": b"\0\1"}


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    return Judged(tmp_path / "repository", files=dict(CHANGED))


def name_range(judged: Judged, head: CommitSha | None = None) -> str:
    return f"{judged.base}..{head or judged.second}"


def report_of(judged: Judged) -> ReviewReport:
    return review_change(judged.workspace, ReviewRequest(change=name_range(judged)))


def page_of(judged: Judged, **fields: Any) -> str:
    return rendered(judged.workspace, "change", name=name_range(judged), **fields)


def hunks_in(html: str) -> list[str]:
    return re.findall(r'<article [^>]*data-hunk="([^"]+)"', html)


def test_the_page_shows_the_report_of_the_command(judged: Judged) -> None:
    judged.hook("UserPromptSubmit", -60, {"prompt": "Add two lines."})
    judged.edit()
    report, html = report_of(judged), page_of(judged, note=lambda _what: None)
    assert hunks_in(html) == report.order
    words = words_of(html)
    assert report.summary in words and "Needs review" in words
    added = report.added
    assert f"Who wrote the {added.agent + added.mixed + added.person + added.none} added lines" in words
    assert report.tested is not None
    assert f"{report.tested.tested} of {report.tested.lines} agent lines" in words
    levels = [level for hunk in report.hunks for level in [hunk.risk.level.title()]]
    assert re.findall(r'<article .*?class="level \w+">(\w+)<', html, re.DOTALL) == levels
    assert "“Add two lines.”" in words
    card = next(hunk for hunk in report.hunks if hunk.path == "a.py")
    assert card.certainty in words and f'href="/why?file=a.py&amp;rev={report.head}&amp;line=3"' in html


def test_prompts_are_shown_and_logged_only_for_readers_of_conversations(judged: Judged) -> None:
    judged.hook("UserPromptSubmit", -60, {"prompt": "Add two secret lines."})
    judged.edit()
    memory, logged = PageMemory(), list[str]()
    html = page_of(judged, note=logged.append, memory=memory)
    assert "secret" in html and len(logged) == 1
    hidden = page_of(judged, memory=memory)
    assert "secret" not in hidden and "your token cannot read conversations" in hidden


def test_lines_have_the_marks_of_their_authors(judged: Judged) -> None:
    judged.edit()
    html = page_of(judged)
    assert re.findall(r'class="l add g-(\w)" data-o="\s*" data-n="\s*(\d+)"', html) == [
        *(("u", "1"), ("u", "2")),
        *(("a", "3"), ("a", "4")),
    ]
    assert len(re.findall(r'class="l" ', html)) == 2, "the unchanged lines before"


def test_a_file_without_lines_says_why_and_a_missing_author_says_what_to_do(judged: Judged) -> None:
    words = words_of(page_of(judged))
    assert "This file is a binary file." in words
    assert "No session recorded these 2 lines." in words and "custody author auth/login.py:1-2" in words


def test_hostile_records_and_files_are_text(judged: Judged) -> None:
    hostile = {
        b"x.py": f"# {HOSTILE}\n</script><script>alert(1)</script>\n".encode(),
        HOSTILE.replace("/", "").encode(): b"1\n",
    }
    judged.second = judged.built.commit({b"a.py": b"x\n", **hostile}, judged.base, message=HOSTILE.encode())
    judged.hook("UserPromptSubmit", -60, {"prompt": f"{HOSTILE} " * 30_000})
    judged.edit(after="x\n")
    html = page_of(judged, note=lambda _what: None)
    assert not acts(html) and "<script>alert" not in html
    assert "⟨202E⟩" in html
    assert len(html.encode()) <= HTML_BYTES_MAX


def make_large_change(judged: Judged, files: int, lines: int) -> Judged:
    body = b"".join(b"    total = total + amount_%d  # what to add\n" % n for n in range(lines))
    changed = {b"src/file_%04d.py" % n: b"def f(total):\n" + body for n in range(files)}
    judged.second = judged.built.commit(changed, judged.base)
    return judged


@pytest.mark.parametrize(("files", "lines"), [(1, 10_000), (40, 250), (1_500, 1)], ids=str)
def test_a_large_change_is_a_small_page_and_every_hunk_can_be_reached(judged: Judged, files: int, lines: int) -> None:
    make_large_change(judged, files, lines)
    memory, seen, start = PageMemory(), list[str](), 0
    report = report_of(judged)
    diff = read_change_diff(judged.workspace, name_range(judged))
    for _ in range(4):
        html = page_of(judged, memory=memory, from_=start)
        assert nodes_of(html) <= ELEMENTS_MAX and len(html.encode()) <= HTML_BYTES_MAX
        seen += hunks_in(html)
        after = re.search(r'href="[^"]*from=(\d+)[^"]*" rel="next"', html)
        if after is None:
            break
        start = int(after[1])
    assert seen == [*report.order, *diff.hunks][: len(seen)] and len(set(seen)) == len(seen)
    assert len(seen) >= min(files, 40)


def test_while_the_review_is_computed_the_diff_is_there(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, real = Event(), review_data._review

    def wait(*arguments: Any) -> ReviewReport:
        assert go_on.wait(30)
        return real(*arguments)

    monkeypatch.setattr(review_data, "_review", wait)
    memory = PageMemory(WorkQueue(lambda: 0))
    html = page_of(judged, memory=memory)
    assert "Checking…" in html and 'id="review-status"' in html
    assert len(hunks_in(html)) == 3 and "login" in words_of(html)
    go_on.set()
    for _ in range(200):
        html = page_of(judged, memory=memory)
        if "Checking…" not in html:
            break
    assert hunks_in(html) == report_of(judged).order


def test_a_folded_hunk_is_shown_alone_and_an_unknown_one_is_missing(judged: Judged) -> None:
    report = report_of(judged)
    html = rendered(judged.workspace, "change-hunk", name=name_range(judged), hunk=report.order[0])
    assert hunks_in(html) == report.order[:1] and "login" in html
    first = page_of(judged, hunk=report.order[-1])
    assert hunks_in(first)[0] == report.order[-1]
    with pytest.raises(NameNotFound, match="not in the change"):
        rendered(judged.workspace, "change-hunk", name=name_range(judged), hunk="0" * 64)


def test_a_report_in_files_has_the_whole_review(judged: Judged) -> None:
    html = page_of(judged, links=in_files())
    assert hunks_in(html) == report_of(judged).order
    assert "hx-get" not in html


def test_by_file_keeps_the_order_of_the_files(judged: Judged) -> None:
    diff = read_change_diff(judged.workspace, name_range(judged))
    assert hunks_in(page_of(judged, by="file")) == list(diff.hunks)
    shown = make_review_page(judged.workspace, diff, report_of(judged), start=0, is_by_file=True)
    assert [box.hunk.path for box in shown.boxes] == ["a.py", "auth/login.py", "logo.bin"]


def test_removed_lines_keep_their_numbers_and_changed_words_are_marked(judged: Judged) -> None:
    old = "".join(f"line_{n} = compute({n})\n" for n in range(20))
    first = judged.built.commit({b"m.py": old.encode()}, judged.base)
    new = old.replace("compute(9)", "compute(90)").replace("line_15 = compute(15)\n", "")
    head = judged.built.commit({b"m.py": new.encode()}, first)
    diff = read_change_diff(judged.workspace, f"{first}..{head}")
    lines = [line for hunk in diff.hunks.values() for line in DiffReader(judged.workspace).read_lines(hunk)]
    by_old = {line.old: line.text for line in lines if line.old is not None}
    by_new = {line.new: line.text for line in lines if line.new is not None}
    assert all(old.splitlines()[number - 1] == text for number, text in by_old.items())
    assert all(new.splitlines()[number - 1] == text for number, text in by_new.items())
    assert [(line.sign, line.old) for line in lines if line.sign == "-"] == [("-", 10), ("-", 16)]
    html = rendered(judged.workspace, "change", name=f"{first}..{head}")
    assert [words_of(mark) for mark in re.findall(r"<mark>.*?</mark>", html)] == ["9", "90"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_words_that_did_not_change_are_the_same_on_both_sides(old: str, new: str) -> None:
    masks = compare_words(old, new)
    if masks is None:
        return
    assert [len(mask) for mask in masks] == [len(old), len(new)]
    kept = [
        "".join(c for c, n in zip(line, mask, strict=True) if not n)
        for line, mask in zip((old, new), masks, strict=True)
    ]
    assert kept[0] == kept[1]


@given(st.text(max_size=80).filter(str.isprintable), st.data())
def test_a_line_of_code_is_its_text(text: str, data: st.DataObject) -> None:
    mask = data.draw(st.none() | st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
    half = len(text) // 2
    html = str(render_code_line((CodePart("k", text[:half]), CodePart("", text[half:])), mask))
    assert unescape(re.sub(r"</?(span|mark)[^>]*>", "", html)) == text
    assert "<" not in re.sub(r"</?(span|mark)( class=\"k\")?>", "", html)


@given(st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=30), max_size=8))
def test_colored_lines_keep_their_text(lines: list[str]) -> None:
    for path in ("a.py", "b.go", "c.md", "d.unknown", "Makefile"):
        colored = color_code_lines(path, lines)
        assert ["".join(part.text for part in line) for line in colored] == lines


@given(st.text(min_size=1, max_size=40))
def test_the_url_of_a_change_holds_its_name(name: str) -> None:
    url = ServedLinks().find_page_url("change", {"name": name})
    if url.startswith("/changes/"):
        assert unquote(url.removeprefix("/changes/")) == name
        assert not re.search(r"(^|/)\.{0,2}(/|$)", name) and "?" not in url and "#" not in url
    else:
        assert url.startswith("/change?name=")
    assert ServedLinks().find_page_url("change", {"name": "a/../b"}).startswith("/change?")
