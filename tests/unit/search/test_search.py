"""``custody search``, as a user sees it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.search.model import parse_search_terms, split_search_words
from custody.store import StoreUnwritable
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.codex import a_rollout
from tests.builders.events import an_event
from tests.builders.gemini import Gemini
from tests.builders.in_process import custody
from tests.builders.repo import a_repository
from tests.builders.transcripts import a_transcript

SECRET_WORD = "zanzibarcustomer"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def recorded(repository: Path) -> Path:
    """Four sessions: about refunds, about fees, one that only ran a command, one that only changed a file."""
    for n, (kind, session, fields) in enumerate(
        (
            ("prompt", "refunds", {"text": "Support must refund a part of a payment. Round half to even."}),
            ("edit", "refunds", {"path": "src/ledger/refunds.py"}),
            ("prompt", "fees", {"text": "the fees are a cent off, round them half up, never to even cents"}),
            ("edit", "fees", {"path": "src/ledger/fees.py"}),
            ("prompt", "slow", {"text": "why is the payout job slow", "agent": "other"}),
            ("edit", "files", {"path": "docs/refundPolicy.md"}),
        )
    ):
        event = {"id": str(n), "session": session, "at": f"2026-01-3{n // 3}T0{n}:00:00Z"} | fields
        spool_of(repository).put(an_event(kind, **event))
    return repository


def read_files(repository: Path) -> bytes:
    return b"".join(file.read_bytes() for file in (repository / ".git/custody").glob("custody.db*"))


def found(repository: Path, *words: str) -> list[str]:
    ran = custody(repository, "search", *words, "--json")
    assert (ran.status, ran.err) == (0, "")
    return [session["session"] for session in json.loads(ran.out)["sessions"]]


def test_a_prompt_counts_more_than_a_file_name(repository: Path) -> None:
    assert found(recorded(repository), "refunds") == ["refunds", "files"]


def test_words_in_quotes_must_be_in_a_row(repository: Path) -> None:
    recorded(repository)
    assert set(found(repository, "half", "to", "even")) == {"refunds", "fees"}
    assert found(repository, '"half to even"') == ["refunds"]


def test_a_star_continues_a_word(repository: Path) -> None:
    recorded(repository)
    assert found(repository, "payo") == []
    assert found(repository, "payo*") == ["slow"]


def test_filters_narrow_the_search(repository: Path) -> None:
    recorded(repository)
    for options, sessions in (
        (("--file", "src/ledger"), ["refunds"]),
        (("--file", "src/ledger/fees.py"), []),
        (("--in", "file"), ["refunds", "files"]),
        (("--in", "prompt"), ["refunds"]),
        (("--agent", "other"), []),
        (("--since", "2026-01-31"), ["files"]),
    ):
        assert sorted(found(repository, "refund", *options)) == sorted(sessions), options


def test_the_answer_names_prompt_agent_and_commit(tmp_path: Path) -> None:
    repo = a_repository(tmp_path / "repository")
    commit = repo.commit({b"a.py": b"1\n"}, message=b"refund parts of a payment")
    recorded(repo.path)
    spool_of(repo.path).put(an_event("link", session="refunds", commit=commit, at="2026-01-31T10:00:00Z"))
    ran = custody(repo.path, "search", "support")
    assert ran.out.splitlines()[0].split("  ", 1) == [
        "refunds",
        "Support must refund a part of a payment. Round half to even.",
    ]
    assert "robot · " in ran.out
    assert f"committed {commit[:7]} refund parts of a payment\n" in ran.out
    assert found(repo.path, "parts", "--in", "commit") == ["refunds"]
    repo.commit({b"b.py": b"1\n"}, message=b"another root")
    assert "(not merged into HEAD)" in custody(repo.path, "search", "support").out


def test_words_that_no_text_has_are_named(repository: Path) -> None:
    recorded(repository)
    assert "No text has: xyzzy." in custody(repository, "search", "refund", "xyzzy").out
    nothing = custody(repository, "search", "xyzzy")
    assert (nothing.status, nothing.out.splitlines()[0]) == (0, "No session found among 4 sessions.")
    empty = custody(repository, "search", "...")
    assert (empty.status, empty.out) == (2, "")


def test_without_records_nothing_is_found(repository: Path) -> None:
    assert custody(repository, "search", "refund").out.startswith("No session found among 0 sessions.")
    assert "no session has a prompt with 'refund'" in custody(repository, "log", "--grep", "refund").out


def test_a_store_that_cannot_be_written_is_searched(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert custody(recorded(repository), "log").status == 0  # ingested, but not indexed

    def fail(*_: object) -> None:
        raise StoreUnwritable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("custody.workspace.workspace.open_sqlite", fail)
        ran = custody(repository, "search", "refunds", "--json")
    assert [session["session"] for session in json.loads(ran.out)["sessions"]] == ["refunds", "files"]


def test_an_erased_prompt_leaves_no_word_in_the_files(repository: Path) -> None:
    recorded(repository)
    spool_of(repository).put(an_event("prompt", id="x", session="secret", text=f"call {SECRET_WORD} back"))
    assert found(repository, SECRET_WORD) == ["secret"]
    assert SECRET_WORD.encode() in read_files(repository)
    assert custody(repository, "erase", "7", "--reason", "a name", "--yes").status == 0
    assert SECRET_WORD.encode() not in read_files(repository)
    assert found(repository, SECRET_WORD) == []
    assert found(repository, "refunds") == ["refunds", "files"]


def test_new_records_are_found(repository: Path) -> None:
    assert found(recorded(repository), "refund", "payment")[0] == "refunds"
    spool_of(repository).put(an_event("prompt", id="later", session="later", text="refund the payment in part"))
    assert set(found(repository, "refund", "payment")[:2]) == {"refunds", "later"}


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_text_has_its_words_in_a_row(before: str, text: str) -> None:
    words = split_search_words(text)
    assert split_search_words(f"{before} {text}")[-len(words) :] == words or not words
    assert all(word and word == word.casefold() for word in words if word.isascii())


@given(st.text(max_size=60))
def test_any_text_is_a_question(text: str) -> None:
    for term in parse_search_terms(text):
        assert term.words
        assert all(any(letter.isalnum() for letter in word) for word in term.words)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_an_answer_is_found_until_it_is_erased(tmp_path: Path, agent: str) -> None:
    repo = a_repository(tmp_path / "repository")
    repo.commit({b"a.py": b"1\n"})
    asked, said = "tidy the ledger up", f"I called {SECRET_WORD} and tidied it"
    if agent == "codex":
        a_rollout(repo.path).prompt(asked).says(said).put(tmp_path / "transcripts")
    elif agent == "gemini":
        Gemini(repo.path).prompt(asked).says(said).put(tmp_path / "transcripts")
    else:
        a_transcript("answered", repo.path).prompt(asked).says(said).put(tmp_path / "transcripts")
    done = custody(repo.path, "import", str(tmp_path / "transcripts"))
    assert done.status == 0, done.err
    (session,) = found(repo.path, SECRET_WORD)
    assert found(repo.path, SECRET_WORD, "--in", "answer") == [session]
    assert found(repo.path, SECRET_WORD, "--in", "prompt") == []
    shown = json.loads(custody(repo.path, "search", SECRET_WORD, "--json").out)["sessions"][0]
    assert (shown["kind"], shown["text"]) == ("answer", said)
    assert SECRET_WORD.encode() in read_files(repo.path)
    statuses = [custody(repo.path, "erase", str(n), "--reason", "a name", "--yes").status for n in range(1, 9)]
    assert statuses[0] == 0
    assert SECRET_WORD.encode() not in read_files(repo.path)
    assert found(repo.path, SECRET_WORD) == []
