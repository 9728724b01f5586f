"""The user's list of services: private, written whole or not at all, without URLs that must not get a token."""

import json
import stat
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.share.remote import NamedRemote, RemoteBook, check_remote_url


@pytest.fixture
def book(tmp_path: Path) -> RemoteBook:
    return RemoteBook({"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)})


def test_a_service_is_stored_where_only_its_user_can_read(book: RemoteBook) -> None:
    book.add("team", "https://custody.example.org/", "a-token")
    assert book.read_all() == {"team": NamedRemote("team", "https://custody.example.org", "a-token")}
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(book.path.parent.stat().st_mode) == 0o700
    book.add("team", "https://other.example.org", None)
    assert book.read_all()["team"].token is None
    book.remove("team")
    assert book.read_all() == {}
    with pytest.raises(InputError, match="unknown remote 'team'"):
        book.remove("team")


def test_a_token_is_not_shown(book: RemoteBook) -> None:
    assert "a-token" not in repr(book.add("team", "https://x.example", "a-token"))


@pytest.mark.parametrize(
    "url",
    [
        "http://custody.example.org",
        "ftp://x",
        "https://",
        "https://user:word@x.example",
        "https://x.example/?a=b",
        "https://x.example/#a",
        "https://x.example:99999",
        "https://x.example/a b",
        "x.example",
        "",
        "file:///etc",
        "http://127.0.0.1.example.org",
    ],
)
def test_a_url_that_must_not_get_a_token_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        check_remote_url(url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost:1", "http://[::1]:8000", "https://x.example"]
)
def test_https_and_this_machine_are_accepted(url: str) -> None:
    assert check_remote_url(url) == url


@pytest.mark.parametrize("token", ["", "two words", "n\u00f6n", "x" * 513, "a\nb"])
def test_an_invalid_token_is_refused(book: RemoteBook, token: str) -> None:
    with pytest.raises(InputError, match="invalid token"):
        book.add("team", "https://x.example", token)
    assert not book.path.exists()


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b", "x" * 65, "."])
def test_an_invalid_name_is_refused(book: RemoteBook, name: str) -> None:
    with pytest.raises(InputError, match="invalid remote name"):
        book.add(name, "https://x.example", None)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"remotes": 3}', '{"remotes": {"a": {}}}', "\0"])
def test_a_damaged_list_is_reported_and_left_alone(book: RemoteBook, content: str) -> None:
    book.path.parent.mkdir(parents=True)
    book.path.write_text(content)
    with pytest.raises(InputError, match="is not a list of remotes"):
        book.add("team", "https://x.example", None)
    assert book.path.read_text() == content


def test_the_folder_holds_nothing_else(book: RemoteBook) -> None:
    book.add("b", "https://b.example", "t")
    book.add("a", "https://a.example", None)
    assert list(json.loads(book.path.read_text())["remotes"]) == ["a", "b"]
    assert [entry.name for entry in book.path.parent.iterdir()] == ["remotes.json"]
