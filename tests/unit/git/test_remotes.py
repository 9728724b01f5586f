"""Remotes as a repository names them, the addresses that custody goes to, and what is said when one cannot be had."""

from pathlib import Path

import pytest

from custody.core.errors import GitError, InputError
from custody.git.exchange import Exchange
from custody.git.failure import Circumstances, explain
from custody.git.refs import Remote, RemoteUrl, address_of, parse_remotes
from tests.builders.table import table

HERE = Path("/home/x/repository")


def test_names_addresses_and_followed_branches_are_read() -> None:
    answer = (
        b"remote.origin.url\nhttps://a.example/x\0remote.origin.url\nhttps://second.example/x\0"
        b"remote.my.fork.url\n../fork\0remote.my.fork.pushurl\ngit@b.example:x\0branch.a/b.remote\norigin\0"
    )
    found = parse_remotes(answer)
    assert found.named == {
        "origin": Remote("origin", "https://a.example/x", "https://a.example/x"),
        "my.fork": Remote("my.fork", "../fork", "git@b.example:x"),
    }
    assert found.followed == {"a/b": "origin"}
    assert parse_remotes(b"").named == {}


def test_a_setting_without_a_value_is_rubbish() -> None:
    with pytest.raises(GitError):
        parse_remotes(b"remote.origin.url\0")


@pytest.mark.parametrize(
    ("url", "address"),
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
def test_addresses_are_read_as_git_reads_them(url: str, address: RemoteUrl) -> None:
    assert address_of(url, HERE) == address


@table(
    "url",
    [
        *("ext::sh -c x", "fd::1", "http://a.example/x", "git://a.example/x", "ftp://a.example/x", "evil://x"),
        *("-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y", "https://-x", "", "a\nb", "x" * 5000, "HTTP://a/b"),
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError):
        address_of(url, HERE)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (b"fatal: could not read Username for 'https://x': terminal prompts disabled", "asks for no password"),
        (b"git@x: Permission denied (publickey).", "asks for no password"),
        (b"Host key verification failed.", "asks for no password"),
        (b"fatal: unable to access 'https://x/': The requested URL returned error: 403", "asks for no password"),
        (b"fatal: unable to access 'https://x/': Could not resolve host: x", "nothing was lost"),
        (b"fatal: '/x' does not appear to be a git repository", "nothing was lost"),
        (b"fatal: transport 'http' not allowed", "nothing was lost"),
    ],
)
def test_a_remote_that_cannot_be_had_is_the_surroundings_turn(words: bytes, hint: str) -> None:
    error = explain("push", 128, words, Circumstances())
    assert isinstance(error, GitError)
    assert hint in str(error.hint)


def test_what_was_exchanged_is_found_again_and_rubbish_is_passed_over(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path / "exchange", "sha1")
    assert exchange.known() == {}
    commit = exchange.commit({b"a/b": exchange.keep(b"x"), b"c": exchange.keep(b"y")}, [], "m", 7)
    assert sorted(exchange.files(commit)) == [b"a/b", b"c"]
    assert exchange.commit({b"a/b": exchange.keep(b"x"), b"c": exchange.keep(b"y")}, [], "m", 7) == commit
    (exchange.folder / "known").write_bytes(
        b"%s refs/custody/%s\n" % (commit.encode(), b"a" * 32)
        + b"x refs/heads/main\n"
        + b"0" * 40
        + b" refs/heads/main\n"
    )
    assert exchange.known() == {f"refs/custody/{'a' * 32}": commit}
