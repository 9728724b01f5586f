"""Remotes of a repository, supported URLs, and errors of unreachable remotes."""

from pathlib import Path

import pytest

from custody.core.errors import GitError, InputError
from custody.git.exchange import Exchange
from custody.git.failure import Circumstances, explain_git_failure
from custody.git.refs import Remote, RemoteUrl, parse_remote_url, parse_remotes
from tests.builders.table import table

FOLDER = Path("/home/x/repository")


def test_remotes_and_followed_branches_are_parsed() -> None:
    answer = (
        b"remote.origin.url\nhttps://a.example/x\0remote.origin.url\nhttps://second.example/x\0"
        b"remote.my.fork.url\n../fork\0remote.my.fork.pushurl\ngit@b.example:x\0branch.a/b.remote\norigin\0"
    )
    remotes = parse_remotes(answer)
    assert remotes.named == {
        "origin": Remote("origin", "https://a.example/x", "https://a.example/x"),
        "my.fork": Remote("my.fork", "../fork", "git@b.example:x"),
    }
    assert remotes.followed == {"a/b": "origin"}
    assert parse_remotes(b"").named == {}


def test_a_setting_without_a_value_is_a_git_error() -> None:
    with pytest.raises(GitError):
        parse_remotes(b"remote.origin.url\0")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x", RemoteUrl("https://a.example/x", local=False)),
        ("ssh://git@a.example/x", RemoteUrl("ssh://git@a.example/x", local=False)),
        ("git@a.example:x/y", RemoteUrl("git@a.example:x/y", local=False)),
        ("file:///srv/x.git", RemoteUrl("file:///srv/x.git", local=True)),
        ("/srv/x.git", RemoteUrl("/srv/x.git", local=True)),
        ("../x:y", RemoteUrl("/home/x/repository/../x:y", local=True)),
        ("x.git", RemoteUrl("/home/x/repository/x.git", local=True)),
    ],
)
def test_urls_are_parsed_like_git_does(url: str, expected: RemoteUrl) -> None:
    assert parse_remote_url(url, FOLDER) == expected


@table(
    "url",
    [
        *("ext::sh -c x", "fd::1", "http://a.example/x", "git://a.example/x", "ftp://a.example/x", "evil://x"),
        *("-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y", "https://-x", "", "a\nb", "x" * 5000, "HTTP://a/b"),
    ],
)
def test_other_urls_are_rejected(url: str) -> None:
    with pytest.raises(InputError):
        parse_remote_url(url, FOLDER)


@pytest.mark.parametrize(
    ("stderr", "hint"),
    [
        (b"fatal: could not read Username for 'https://x': terminal prompts disabled", "never prompts for a password"),
        (b"git@x: Permission denied (publickey).", "never prompts for a password"),
        (b"Host key verification failed.", "never prompts for a password"),
        (
            b"fatal: unable to access 'https://x/': The requested URL returned error: 403",
            "never prompts for a password",
        ),
        (b"fatal: unable to access 'https://x/': Could not resolve host: x", "nothing was lost"),
        (b"fatal: '/x' does not appear to be a git repository", "nothing was lost"),
        (b"fatal: transport 'http' not allowed", "nothing was lost"),
    ],
)
def test_an_unreachable_remote_is_a_git_error(stderr: bytes, hint: str) -> None:
    error = explain_git_failure("push", 128, stderr, Circumstances())
    assert isinstance(error, GitError)
    assert hint in str(error.hint)


def test_exchanged_commits_are_found_and_invalid_lines_are_skipped(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path / "exchange", "sha1")
    assert exchange.read_known_refs() == {}
    commit = exchange.commit({b"a/b": exchange.keep(b"x"), b"c": exchange.keep(b"y")}, [], "m", 7)
    assert sorted(exchange.files(commit)) == [b"a/b", b"c"]
    assert exchange.commit({b"a/b": exchange.keep(b"x"), b"c": exchange.keep(b"y")}, [], "m", 7) == commit
    (exchange.folder / "known").write_bytes(
        b"%s refs/custody/%s\n" % (commit.encode(), b"a" * 32)
        + b"x refs/heads/main\n"
        + b"0" * 40
        + b" refs/heads/main\n"
    )
    assert exchange.read_known_refs() == {f"refs/custody/{'a' * 32}": commit}
