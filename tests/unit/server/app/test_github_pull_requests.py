"""Pull requests are judged and reported: on real repositories, with a GitHub on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.gate.wire.forms import MARK
from custody.server.app.github_jobs import CHECK, Judgement, PullRequestJudge, ReviewFate
from custody.server.github.api import GitHub, GitHubBusy, PlainToken
from custody.workspace.workspace import Workspace
from tests.builders.fake_github import REPOSITORY, TOKEN, FakeGitHub, Refusal, fake_github
from tests.builders.repo import Built, a_history, a_repository

NOW_NS = 1_767_225_600 * 1_000_000_000
OLD, NEW = b"one = first(1)\n", b"one = first(1)\nalpha = beta(gamma)\n"


@pytest.fixture
def fake() -> Iterator[FakeGitHub]:
    with fake_github() as one:
        yield one


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "mirror")


@pytest.fixture
def bench(fake: FakeGitHub, built: Built) -> Iterator[PullRequestJudge]:
    github = GitHub(fake.url, PlainToken(TOKEN), lambda: NOW_NS)
    yield PullRequestJudge(Workspace(built.path, now_ns=lambda: NOW_NS), github, REPOSITORY, lambda number: None)
    github.close()


def test_the_head_gets_a_check_run_with_the_verdict(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    fake.opened(3, base, head)
    assert bench.judge(3) == Judgement(ReviewFate.REPORTED, "review")
    (run,) = fake.check_runs.values()
    assert (run["name"], run["head_sha"], run["conclusion"]) == (CHECK, head, "neutral")
    assert "ATTR-UNSEEN" in run["output"]["summary"]
    assert not fake.comments


def test_judged_again_the_same_run_and_comment_are_edited(
    fake: FakeGitHub, built: Built, bench: PullRequestJudge
) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    fake.opened(3, base, head)
    talking = replace(bench, comments=True)
    assert talking.judge(3) == talking.judge(3) == Judgement(ReviewFate.REPORTED, "review")
    assert (len(fake.check_runs), len(fake.comments)) == (1, 1)
    assert fake.comments[1]["body"].startswith(MARK)


@pytest.mark.parametrize(("login", "other"), [(None, "somebody"), ("a-person", "somebody"), ("a-person", "x[bot]")])
def test_a_strangers_comment_with_our_mark_stays(
    fake: FakeGitHub, built: Built, bench: PullRequestJudge, login: str | None, other: str
) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    fake.opened(3, base, head)
    fake.login = other
    bench.github.put_comment(REPOSITORY, 3, f"{MARK}\napprove")
    fake.login = login
    talking = replace(bench, comments=True)
    for _ in range(2):
        talking.judge(3)
        assert set(fake.comments) == {1, 2}
    assert fake.comments[1]["body"] == f"{MARK}\napprove"


def test_a_check_run_of_somebody_else_with_our_name_stays(
    fake: FakeGitHub, built: Built, bench: PullRequestJudge
) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    fake.opened(3, base, head)
    bench.github.put_check_run(REPOSITORY, b'{"name": "custody", "head_sha": "%s", "output": {}}' % head.encode())
    fake.refusals.append(Refusal(403, "check-runs/1", message="Invalid app_id"))
    bench.judge(3)
    assert set(fake.check_runs) == {1, 2} and "conclusion" in fake.check_runs[2]
    assert "conclusion" not in fake.check_runs[1]


def test_a_closed_request_is_let_be(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    fake.opened(3, base, head)
    fake.closed(3, None)
    assert bench.judge(3) == Judgement(ReviewFate.CLOSED)
    assert not fake.check_runs


def test_a_head_that_moves_meanwhile_is_judged_again(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    base, first, last = a_history(built, {b"a.py": OLD}, {b"a.py": NEW}, {b"a.py": NEW * 2})
    fake.opened(3, base, first)
    seen = moving(fake, [last])
    replace(bench, fetch=seen).judge(3)
    assert [run["head_sha"] for run in fake.check_runs.values()] == [last]


def test_a_head_that_never_rests_is_left_for_later(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    base, first, last = a_history(built, {b"a.py": OLD}, {b"a.py": NEW}, {b"a.py": NEW * 2})
    fake.opened(3, base, first)
    assert replace(bench, fetch=moving(fake, [last, first] * 9)).judge(3) == Judgement(ReviewFate.MOVED)
    assert not fake.check_runs


def test_a_change_that_cannot_be_checked_does_not_pass(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    (base,) = a_history(built, {b"a.py": OLD})
    fake.opened(3, base, "d" * 40)
    assert replace(bench, comments=True).judge(3) == Judgement(ReviewFate.REPORTED, None)
    assert [run["head_sha"] for run in fake.check_runs.values()] == ["d" * 40]
    assert fake.check_runs[1]["conclusion"] == "action_required"
    assert "**custody**: not checked:" in fake.comments[1]["body"]


def test_hostile_words_of_a_fork_stay_words(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    pull = fake.opened(3, base, head, title="--upload-pack=touch pwned", body="\x00<img onerror=x> @everyone")
    pull["head"] |= {"ref": "--exec=touch pwned", "label": "$(touch pwned)"}
    assert replace(bench, comments=True).judge(3).level == "review"
    assert "@everyone" not in fake.comments[1]["body"]


def test_a_busy_github_is_the_callers_to_ask_again(fake: FakeGitHub, built: Built, bench: PullRequestJudge) -> None:
    base, head = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
    fake.opened(3, base, head)
    fake.refusals.append(Refusal(503, "check-runs", headers={"Retry-After": "9"}))
    with pytest.raises(GitHubBusy) as error:
        bench.judge(3)
    assert error.value.seconds == 9
    assert bench.judge(3).fate is ReviewFate.REPORTED


def moving(fake: FakeGitHub, heads: list[str]) -> Callable[[int], None]:
    """Push the next head whenever the request is fetched."""
    left = iter(heads)

    def fetch(number: int) -> None:
        if (head := next(left, None)) is not None:
            fake.pulls[number]["head"]["sha"] = head

    return fetch
