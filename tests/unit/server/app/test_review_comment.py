"""The one comment from an uploaded review: only about the head of the pull request, edited in place."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from custody.core.errors import InputError
from custody.review.app.forms import MARK
from custody.server.app.github_jobs import GitHubSettings
from custody.server.app.review_comment import CommentRequest, comment_review
from custody.server.github.api import PlainToken
from custody.server.github.shapes import GitHubCommentReport
from tests.builders.fake_github import REPOSITORY, TOKEN, FakeGitHub, fake_github
from tests.builders.in_process import custody
from tests.unit.review.test_forms import a_hunk, a_review

HEAD = "b" * 40
REVIEW = msgspec.json.encode(a_review(a_hunk(1, "first")))


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with fake_github() as fake:
        fake.opened(7, "a" * 40, HEAD, fork="someone/else")
        yield fake


def comment(github: FakeGitHub, artifact: bytes = REVIEW, head: str = HEAD) -> GitHubCommentReport:
    settings = GitHubSettings(api=github.url, git="https://github.com", key=PlainToken(TOKEN))
    request = CommentRequest(repository=REPOSITORY, number=7, head=head)
    return comment_review(settings, request, artifact, lambda: 0)


def test_a_second_review_edits_the_comment(github: FakeGitHub) -> None:
    github.comments[1] = {"id": 1, "issue": 7, "body": f"{MARK}\nforged", "user": {"login": "x", "type": "User"}}
    first = comment(github)
    again = comment(github, msgspec.json.encode(a_review(a_hunk(1, "second"))))
    assert first == again == GitHubCommentReport(state="written", comment=2)
    assert github.comments[1]["body"].endswith("forged")
    body = github.comments[2]["body"]
    assert body.startswith(MARK) and "second" in body and "src/first.py" not in body
    assert f"https://github.com/{REPOSITORY}/blob/{HEAD}/src/second.py#L1-L3" in body


def test_nothing_is_written_if_the_pull_request_moved_on(github: FakeGitHub) -> None:
    github.opened(7, "a" * 40, "c" * 40)
    assert comment(github).state == "outdated"
    github.opened(7, "a" * 40, HEAD)
    github.closed(7, None)
    assert comment(github).state == "outdated"
    assert github.comments == {}


def test_a_review_of_another_head_or_no_review_is_refused_without_a_request(github: FakeGitHub) -> None:
    for artifact in (msgspec.json.encode(a_review(head="c" * 40)), b"{}", msgspec.json.encode(a_review(worktree=True))):
        with pytest.raises(InputError):
            comment(github, artifact)
    assert github.asked == []


def test_the_command_reads_a_file_and_says_what_it_did(
    github: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "review.json").write_bytes(REVIEW)
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setenv("CUSTODY_GITHUB_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("CUSTODY_GITHUB_API", github.url)
    options = ("--repository", REPOSITORY, "--pull", "7", "--head", HEAD)
    ran = custody(tmp_path, "github", "comment", str(tmp_path / "review.json"), *options)
    assert (ran.status, ran.out) == (0, "Wrote comment 1\n")


@pytest.mark.parametrize(
    ("rules", "is_shown"),
    [
        (b"[review]\npublish_prompts = true\n", True),
        (b"[review]\npublish_prompts = false\n", False),
        (b"=", False),
        (None, False),
    ],
)
def test_the_base_branch_decides_whether_a_prompt_is_shown(
    github: FakeGitHub, rules: bytes | None, is_shown: bool
) -> None:
    if rules is not None:
        github.files["a" * 40, "custody.toml"] = rules
    github.files[HEAD, "custody.toml"] = b"[review]\npublish_prompts = true\n"
    comment(github, msgspec.json.encode(a_review(a_hunk(1, "the secret plan"), publishes_prompts=True)))
    assert ("<pre>the secret plan</pre>" in github.comments[1]["body"]) is is_shown


def test_an_upload_that_publishes_nothing_shows_no_prompt(github: FakeGitHub) -> None:
    github.files["a" * 40, "custody.toml"] = b"[review]\npublish_prompts = true\n"
    comment(github, msgspec.json.encode(a_review(a_hunk(1, "the secret plan"))))
    assert "prompt not shared" in github.comments[1]["body"]
