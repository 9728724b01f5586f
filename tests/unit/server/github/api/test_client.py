"""The GitHub client: its requests, its results, and every kind of failure."""

from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from custody.core.errors import InputError
from custody.server.github.api import AppKey, GitHub, GitHubBusy, GitHubRefusal, PlainToken
from tests.builders.fake_github import REPOSITORY, TOKEN, FakeGitHub, Refusal, fake_github

BASE, HEAD = "b" * 40, "a" * 40
NOW_NS = 1_767_225_600 * 1_000_000_000
"""2026-01-01T00:00:00Z, an hour before the fake's tokens end."""


@pytest.fixture
def fake() -> Iterator[FakeGitHub]:
    with fake_github() as one:
        yield one


@pytest.fixture
def github(fake: FakeGitHub) -> Iterator[GitHub]:
    one = GitHub(fake.url, PlainToken(TOKEN), lambda: NOW_NS)
    yield one
    one.close()


def test_a_pull_request_is_read(fake: FakeGitHub, github: GitHub) -> None:
    fake.opened(3, BASE, HEAD)
    assert not github.pull(REPOSITORY, 3).is_merged
    fake.closed(3, "c" * 40)
    pull = github.pull(REPOSITORY, 3)
    assert (pull.number, pull.head.sha, pull.base.sha, pull.is_merged) == (3, HEAD, BASE, True)


def test_a_deleted_fork_is_not_an_error(fake: FakeGitHub, github: GitHub) -> None:
    fake.opened(3, BASE, HEAD, fork=None)
    assert github.pull(REPOSITORY, 3).head.sha == HEAD


def test_all_pages_are_read(fake: FakeGitHub, github: GitHub) -> None:
    fake.page_size = 4
    for number in range(1, 12):
        fake.opened(number, BASE, HEAD)
    assert [pull.number for pull in github.pulls(REPOSITORY)] == list(range(1, 12))
    assert len(fake.asked) == 3


def test_a_check_run_is_made_once_and_then_changed(fake: FakeGitHub, github: GitHub) -> None:
    body = b'{"name": "custody", "head_sha": "%s", "output": {}}' % HEAD.encode()
    number = github.put_check_run(REPOSITORY, body)
    (known,) = github.check_runs(REPOSITORY, HEAD, "custody")
    assert known.id == number
    assert github.put_check_run(REPOSITORY, body, known.id) == number
    assert len(fake.check_runs) == 1


def test_a_comment_is_written_once_and_then_changed(fake: FakeGitHub, github: GitHub) -> None:
    number = github.put_comment(REPOSITORY, 3, "first")
    github.put_comment(REPOSITORY, 3, "second", number)
    assert [comment.body for comment in github.comments(REPOSITORY, 3)] == ["second"]
    assert len(fake.comments) == 1


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (Refusal(429, headers={"Retry-After": "17"}), 17),
        (Refusal(403, headers={"Retry-After": "5"}, message="You have exceeded a secondary rate limit"), 5),
        (Refusal(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW_NS // 10**9 + 90)}), 90),
        (Refusal(403, message="API rate limit exceeded for installation"), 60),
        (Refusal(500), 60),
        (Refusal(502, headers={"Retry-After": "a day"}), 60),
        (Refusal(503, headers={"Retry-After": "99999999999999999"}), 3600),
    ],
)
def test_a_busy_server_says_when_to_come_again(
    fake: FakeGitHub, github: GitHub, refusal: Refusal, seconds: int
) -> None:
    fake.refusals.append(refusal)
    with pytest.raises(GitHubBusy) as error:
        github.pull(REPOSITORY, 3)
    assert error.value.seconds == seconds


@pytest.mark.parametrize("status", [401, 403, 404, 410, 422])
def test_a_refusal_is_not_tried_again(fake: FakeGitHub, github: GitHub, status: int) -> None:
    fake.refusals.append(Refusal(status, message="Resource not\naccessible\x1b[31m by integration"))
    with pytest.raises(GitHubRefusal, match="Resource not accessible") as error:
        github.pull(REPOSITORY, 3)
    assert error.value.status == status
    assert "\x1b" not in error.value.message


def test_an_unreachable_service_is_reported_as_busy(fake: FakeGitHub) -> None:
    with fake_github() as other:
        gone = other.url
    with pytest.raises(GitHubBusy, match="cannot reach GitHub"):
        GitHub(gone, PlainToken(TOKEN), lambda: NOW_NS).pull(REPOSITORY, 3)


def test_a_renamed_repository_is_followed_on_the_same_host(fake: FakeGitHub, github: GitHub) -> None:
    fake.opened(3, BASE, HEAD)
    moved = f"{fake.url}/repos/{REPOSITORY}/pulls/3"
    fake.refusals.append(Refusal(301, "octo-org/old", headers={"Location": moved}))
    assert github.pull("octo-org/old", 3).number == 3


@pytest.mark.parametrize(
    "where", ["https://elsewhere.example/repos/x", "//elsewhere.example/x", "http://127.0.0.1:1/x"]
)
def test_no_other_host_gets_our_token(fake: FakeGitHub, github: GitHub, where: str) -> None:
    fake.refusals.append(Refusal(302, headers={"Location": where}))
    with pytest.raises(GitHubRefusal, match="another host"):
        github.pull(REPOSITORY, 3)


def test_a_circle_of_redirects_ends(fake: FakeGitHub, github: GitHub) -> None:
    fake.refusals.append(Refusal(301, times=99, headers={"Location": f"{fake.url}/repos/{REPOSITORY}/pulls/3"}))
    with pytest.raises(GitHubRefusal, match="too many redirects"):
        github.pull(REPOSITORY, 3)


@pytest.mark.parametrize("name", ["", "a", "a/b/c", "../x", "a/..", "a/b?x", "a/b#", "a b/c", "a/b%2e", "-a/b", "ä/b"])
def test_no_odd_name_becomes_part_of_an_address(fake: FakeGitHub, github: GitHub, name: str) -> None:
    with pytest.raises(InputError, match="invalid GitHub repository"):
        github.pull(name, 1)
    assert not fake.asked


def test_an_answer_of_another_shape_is_named(fake: FakeGitHub, github: GitHub) -> None:
    fake.pulls[3] = {"number": "three"}
    with pytest.raises(InputError, match="cannot parse the pull request from GitHub"):
        github.pull(REPOSITORY, 3)


def test_an_app_asks_for_a_token_once_and_again_before_it_ends(fake: FakeGitHub) -> None:
    fake.opened(3, BASE, HEAD)
    now = [NOW_NS]
    github = GitHub(fake.url, AppKey("4711", _pem()), lambda: now[0], installation=7)
    github.pull(REPOSITORY, 3)
    github.pull(REPOSITORY, 3)
    assert fake.tokens_given == 1
    now[0] += 3_590 * 10**9
    github.pull(REPOSITORY, 3)
    assert fake.tokens_given == 2
    github.close()


def test_a_key_that_is_none_is_the_operators_turn(fake: FakeGitHub) -> None:
    with pytest.raises(InputError, match="private key"):
        GitHub(fake.url, AppKey("4711", "no key"), lambda: NOW_NS, installation=7).pull(REPOSITORY, 3)


def test_no_secret_is_shown() -> None:
    shown = repr([PlainToken("keep-secret"), AppKey("1", "keep-secret"), GitHub("x", PlainToken("keep-secret"), int)])
    assert "keep-secret" not in shown


def _pem() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kind = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()
