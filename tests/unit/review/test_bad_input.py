"""Changes and records that are large, strange or incomplete: the review says what it knows, and stays bounded."""

import json
from pathlib import Path

import pytest

from custody.core.wire.prompt_excerpts import EXCERPT_CHARACTERS_MAX
from custody.core.wire.report import encode_report
from custody.review.app.artifact import ARTIFACT_BYTES_MAX
from custody.review.app.forms import ANNOTATIONS_PER_KIND_MAX, COMMENT_CHARACTERS_MAX, REVIEW_FORMS
from custody.review.app.review import HUNKS_MAX, ReviewRequest, review_change
from custody.review.wire import HunkReport, ReviewReport
from tests.builders.judged import ADDED, NEW, OLD, Judged

ALPHA, DELTA = ADDED.splitlines(keepends=True)
STRANGE = {
    b"caf\xe9 \xe2\x80\xaegpj.py": b"a = 1\n",
    b"ctrl\x1b[2Jname.py": b"b = 2\n",
    b"#12 @team `x` <img src=x>.py": b"c = 3\n",
    b"logo.bin": bytes(range(256)) * 9,
    b"min.js": b"x=" * 200_000,
    b"package-lock.json": b'"a": 1,\n' * 2_000,
}


def review(judged: Judged) -> ReviewReport:
    return review_change(judged.workspace, ReviewRequest(change=f"{judged.base}..{judged.second}"))


def hunk_of(report: ReviewReport, path: str) -> HunkReport:
    return next(hunk for hunk in report.hunks if hunk.path == path)


def check_forms(report: ReviewReport) -> None:
    """Check that every format can be written within its limits."""
    assert len(encode_report(report)) < ARTIFACT_BYTES_MAX
    assert len(REVIEW_FORMS["markdown"](report).decode()) <= COMMENT_CHARACTERS_MAX
    assert len(REVIEW_FORMS["annotations"](report).splitlines()) <= 5 * ANNOTATIONS_PER_KIND_MAX
    json.loads(REVIEW_FORMS["code-quality"](report))


def test_more_hunks_than_a_report_holds_are_counted(tmp_path: Path) -> None:
    judged = Judged(tmp_path / "r", files={b"src/f%d.py" % number: b"v = 1\n" for number in range(HUNKS_MAX + 50)})
    report = review(judged)
    assert (len(report.hunks), report.more and report.more.hunks) == (HUNKS_MAX, 51)
    assert sum(report.levels.values()) == HUNKS_MAX + 51 and report.files == HUNKS_MAX + 51
    check_forms(report)


def test_strange_names_and_files_have_cards_in_every_format(tmp_path: Path) -> None:
    report = review(Judged(tmp_path / "r", files=STRANGE))
    assert {hunk.path for hunk in report.hunks} >= {"logo.bin", "min.js", "package-lock.json"}
    assert len(report.hunks) == len(STRANGE) + 1 and report.hunks[0].path == "package-lock.json"
    check_forms(report)


def test_two_agents_in_one_hunk_are_both_named(tmp_path: Path) -> None:
    judged = Judged(tmp_path / "r")
    judged.tell("edit", -60, id="1", agent="robot", session="r", path="a.py", before=OLD, after=OLD + ALPHA)
    judged.tell("edit", -30, id="2", agent="android", session="a", path="a.py", before=OLD + ALPHA, after=NEW)
    hunk = hunk_of(review(judged), "a.py")
    assert {(author.agent, author.lines) for author in hunk.authors} == {("robot", 1), ("android", 1)}
    assert len(hunk.blocks) == 2 and {card.session for card in hunk.prompts} == {"r", "a"}


@pytest.mark.parametrize("text", ["words " * 180_000, "\u202e\u2066right\u200fto left\x1b[2J\x00" * 40, "\ud83d half"])
def test_a_prompt_of_any_kind_is_a_short_excerpt(tmp_path: Path, text: str) -> None:
    judged = Judged(tmp_path / "r")
    judged.hook("UserPromptSubmit", -60, {"prompt": text})
    judged.edit()  # its session never ends
    report = review(judged)
    card = hunk_of(report, "a.py").prompt
    assert card.state == "shown" and 0 < len(card.text or "") <= EXCERPT_CHARACTERS_MAX and card.length == len(text)
    check_forms(report)
