"""The output and the exit status of each verb, as a user sees them."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from custody.cli.verb_table import SECTIONS
from tests.builders import cli
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def sealed(lines: list[Any]) -> bytes:
    """Return an export of these lines with a valid last line."""
    data = b"".join(json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n" for line in lines)
    return data + json.dumps({"digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "line": "end"}).encode() + b"\n"


STARTS = {
    "init": ("init", "--agent", "claude-code"),
    "record": ("record", "--agent", "mine"),
    "import": ("import", "events.jsonl"),
    "records": ("records",),
    "show": ("show", "1"),
    "log": ("log",),
    "blame": ("blame", "a.py"),
    "why": ("why", "a.py:1"),
    "stats": ("stats",),
    "gate": ("gate", "HEAD"),
    "dupes": ("dupes", "index"),
    "trust": ("trust", "list"),
    "cite": ("cite", "list"),
    "graph": ("graph", "show"),
    "rules": ("rules", "trust"),
    "completion": ("completion", "bash"),
    "verify": ("verify",),
    "doctor": ("doctor",),
    "export": ("export",),
    "erase": ("erase", "1", "--reason", "x", "--yes"),
    "remote": ("remote", "list"),
    "uninstall": ("uninstall",),
}
"""The words to start each verb with, in order. The other verbs need a server or take long: they show their help."""


def test_every_verb_starts_as_a_program(repository: Path) -> None:
    (repository / "a.py").write_text("print(1)\n")
    (repository / "events.jsonl").write_bytes(an_event())
    for words in (["add", "a.py"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    rest = {verb: (verb, "--help") for verbs in SECTIONS.values() for verb in verbs if verb not in STARTS}
    event = '{"custody":1,"kind":"prompt","session":"s1","text":"hello"}'
    ends = {verb: cli.custody(repository, *words, stdin=event) for verb, words in (STARTS | rest).items()}
    silent = {"record"}
    wrong = {verb: ran for verb, ran in ends.items() if ran.status or ran.err or (not ran.out) is not (verb in silent)}
    assert wrong == {}


def test_verify_on_a_fresh_repository(repository: Path) -> None:
    ran = custody(repository, "verify")
    assert (ran.status, ran.out, ran.err) == (0, "nothing has been recorded here yet\n", "")
    assert not (repository / ".git" / "custody").exists(), "looking must not make anything"


def test_verify_sees_what_waits(repository: Path) -> None:
    recorded(repository)
    ran = custody(repository, "verify")
    assert (ran.status, ran.out) == (0, "OK: 3 records verified\n")
    assert spool_of(repository).names() == []


def test_verify_names_damage_and_exits_1(repository: Path) -> None:
    recorded(repository)
    custody(repository, "verify")
    with closing(sqlite3.connect(repository / ".git" / "custody" / "custody.db")) as db, db:
        db.execute("DELETE FROM record WHERE seq = 2")
    ran = custody(repository, "verify")
    assert ran.status == 1
    assert "CHAIN-GAP  record 2 is missing from chain STORE" in ran.out
    assert ran.out.endswith("FAILED: 2 problems in 3 records\n")


def test_verify_json(repository: Path) -> None:
    recorded(repository)
    report = json.loads(custody(repository, "verify", "--json").out)
    assert report["report"] == "verify"
    assert report["version"] == 1
    assert report["outcome"] == "fine"
    assert [chain["records"] for chain in report["chains"]] == [3]


def test_verify_works_from_a_folder_below_and_by_dash_c(repository: Path) -> None:
    recorded(repository)
    (repository / "deep").mkdir()
    assert custody(repository / "deep", "verify").status == 0
    assert custody(repository.parent, "-C", str(repository), "verify").out.startswith("OK: 3 records verified")


def test_a_worktree_shares_the_store(repository: Path) -> None:
    recorded(repository)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=repository, check=True)
    subprocess.run(["git", "worktree", "add", "-q", "../other"], cwd=repository, check=True)
    assert custody(repository.parent / "other", "verify").out.startswith("OK: 3 records verified")


def test_export_and_import_round_trip_to_the_byte(repository: Path, tmp_path: Path) -> None:
    who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    first = ("commit", "--quiet", "--allow-empty", "--no-gpg-sign", "-m", "first")
    subprocess.run(["git", "-C", str(repository), *who, *first], check=True)
    recorded(repository)
    spool_of(repository).put(an_event("edit", id="long", after="x" * 10_000, path="odd/\udcfe.py"))
    other = tmp_path / "other"  # a clone: a signed head is checked against the root commits
    subprocess.run(["git", "clone", "--quiet", str(repository), str(other)], check=True)
    ran = custody(repository, "export", "-o", str(tmp_path / "one"))
    assert ran.status == 0
    assert ran.out.startswith("wrote 4 records of 1 chain to ")
    ran = custody(other, "import", str(tmp_path / "one"))
    assert (ran.status, ran.out) == (0, "chain STORE: 4 new records, 0 known\n")
    custody(other, "export", "-o", str(tmp_path / "two"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert custody(other, "import", str(tmp_path / "one")).out == "chain STORE: 0 new records, 4 known\n"
    assert custody(other, "verify").status == 0


def test_export_to_stdout_is_the_same_export(repository: Path, tmp_path: Path) -> None:
    recorded(repository)
    custody(repository, "export", "-o", str(tmp_path / "one"))
    lines = custody(repository, "export").out.splitlines()
    assert len(lines) == len((tmp_path / "one").read_text().splitlines())
    assert json.loads(lines[0])["line"] == "export"


def test_import_refuses_a_damaged_export_whole(repository: Path, tmp_path: Path) -> None:
    recorded(repository)
    custody(repository, "export", "-o", str(tmp_path / "one"))
    lines = (tmp_path / "one").read_text().splitlines(keepends=True)
    other = a_git_folder(tmp_path / "other")
    (tmp_path / "cut").write_text("".join(lines[:-2]))
    assert custody(other, "import", str(tmp_path / "cut")).status == 2
    (tmp_path / "changed").write_text("".join(lines).replace("print(1)", "print(2)"))
    ran = custody(other, "import", str(tmp_path / "changed"))
    assert ran.status == 2
    assert "the file was changed after it was written" in ran.err
    assert custody(other, "verify").out == "nothing has been recorded here yet\n"


def test_import_refuses_a_forged_chain_and_names_it(repository: Path, tmp_path: Path) -> None:
    recorded(repository)
    custody(repository, "export", "-o", str(tmp_path / "one"))
    lines = [json.loads(line) for line in (tmp_path / "one").read_text().splitlines()[:-1]]
    next(line for line in lines if line["line"] == "record" and line["seq"] == 2)["at_ns"] += 1
    (tmp_path / "forged").write_bytes(sealed(lines))
    other = a_git_folder(tmp_path / "other")
    ran = custody(other, "import", str(tmp_path / "forged"))
    assert ran.status == 1
    assert ran.out.startswith("CHAIN-LINK  record 2 of chain STORE (edit) does not fit its place in the chain")
    assert "nothing was imported" in ran.out
    assert custody(other, "verify").out == "nothing has been recorded here yet\n"


def test_import_from_a_pipe(repository: Path, tmp_path: Path) -> None:
    recorded(repository)
    custody(repository, "export", "-o", str(tmp_path / "one"))
    other = a_git_folder(tmp_path / "other")
    command = f"{sys.executable} -m custody import <(cat {tmp_path / 'one'})"
    ran = subprocess.run(["bash", "-c", command], cwd=other, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith(": 3 new records, 0 known\n")


@pytest.mark.parametrize(
    ("forge", "code"),
    [
        (lambda lines: lines[0]["chains"][0].update(link="0" * 64), "HEAD-DIFFERS"),
        (lambda lines: lines[0]["chains"][0].update(seq=2), "HEAD-DIFFERS"),
        (lambda lines: next(line for line in lines if line["line"] == "body").pop("text"), "BODY-MISSING"),
        (lambda lines: lines.remove(next(line for line in lines if line["line"] == "body")), "BODY-MISSING"),
    ],
    ids=["head's link", "head's place", "emptied body", "missing body"],
)
def test_import_holds_an_export_to_its_promises(
    repository: Path, tmp_path: Path, forge: Callable[[list[Any]], object], code: str
) -> None:
    recorded(repository)
    custody(repository, "export", "-o", str(tmp_path / "one"))
    lines = [json.loads(line) for line in (tmp_path / "one").read_text().splitlines()[:-1]]
    forge(lines)
    (tmp_path / "forged").write_bytes(sealed(lines))
    ran = custody(a_git_folder(tmp_path / "other"), "import", str(tmp_path / "forged"))
    assert ran.status == 1
    assert code in ran.out


def test_verify_misses_a_deleted_head(repository: Path) -> None:
    recorded(repository)
    custody(repository, "verify")
    next((repository / ".git" / "custody").glob("head-*")).unlink()
    ran = custody(repository, "verify")
    assert ran.status == 1
    assert ran.out.startswith("HEAD-MISSING  chain STORE has no head file")


def test_erase_forgets_the_text_and_keeps_the_proof(repository: Path) -> None:
    secret = "the word is plover"
    spool_of(repository).put(an_event("prompt", id="secret", text=secret))
    recorded(repository)
    ran = custody(repository, "erase", "1", "--reason", "a secret", "--who", "ana", "--yes")
    assert ran.status == 0
    assert ran.out.startswith("erased sha256:DIGEST (record STORE:5)")
    home = repository / ".git" / "custody"
    assert all(secret.encode() not in path.read_bytes() for path in home.iterdir() if path.is_file())
    ran = custody(repository, "verify")
    assert (ran.status, ran.out) == (0, "OK: 5 records verified, 1 erased\n")
    assert secret not in custody(repository, "export").out
    assert custody(repository, "erase", "1", "--reason", "again", "--yes").status == 2


def test_erase_asks_first(repository: Path) -> None:
    recorded(repository)
    ran = custody(repository, "erase", "1", "--reason", "a secret")
    assert (ran.status, ran.out) == (2, "")
    assert "cannot prompt without a terminal" in ran.err


@pytest.mark.parametrize("target", ["99", "no-such-event", "sha256:00000000", "0123"])
def test_erase_of_nothing_says_how_to_name_things(repository: Path, target: str) -> None:
    recorded(repository)
    ran = custody(repository, "erase", target, "--reason", "x", "--yes")
    assert ran.status == 2
    assert f"cannot find a record or text '{target}'" in ran.err


def test_doctor_is_well_and_rebuilds(repository: Path) -> None:
    recorded(repository)
    ran = custody(repository, "doctor", "--rebuild", "-v")
    assert ran.status == 0
    assert "rebuilt the tables of 3 records" in ran.out
    assert "ok       chains        chain STORE: 3 records, 0 verified (own)" in ran.out


def test_doctor_rebuild_mends_views(repository: Path) -> None:
    recorded(repository)
    custody(repository, "verify")
    with closing(sqlite3.connect(repository / ".git" / "custody" / "custody.db")) as db, db:
        db.execute("UPDATE file_edit SET path = CAST('forged' AS BLOB)")
    assert custody(repository, "verify").status == 1
    custody(repository, "doctor", "--rebuild")
    assert custody(repository, "verify").status == 0


def test_doctor_names_what_was_set_aside(repository: Path) -> None:
    recorded(repository)
    spool = spool_of(repository)
    (spool.folder / spool.names()[0]).write_bytes(b"rubbish")
    ran = custody(repository, "doctor")
    assert ran.status == 1
    assert "the event file 'EVENT' was set aside: damaged" in ran.out
    ran = custody(repository, "verify")
    assert ran.status == 1
    assert "SPOOL-DAMAGED" in ran.out
    assert "3 records" in ran.out  # two events, and one gap


def test_doctor_shows_second_observations(repository: Path) -> None:
    for text in ("one", "two"):
        spool_of(repository).put(an_event("prompt", id="same", text=text))
    assert "'event:robot:s1:prompt:same' was recorded 2 times" in custody(repository, "doctor").out


def test_a_copied_store_goes_on_under_another_name(repository: Path, tmp_path: Path) -> None:
    recorded(repository)
    custody(repository, "verify")
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    for where, name in ((repository, "here"), (copy, "there")):
        spool_of(where).put(an_event("prompt", id=name))
    report = json.loads(custody(copy, "verify", "--json").out)
    assert report["outcome"] == "fine"
    assert sorted(chain["records"] for chain in report["chains"]) == [2, 3], "a continues record, then the new one"
    assert custody(repository, "verify").out.startswith("OK: 4 records verified")


def test_records_lists_newest_first_and_show_tells(repository: Path) -> None:
    assert custody(repository, "records").out == "nothing has been recorded here yet\n"
    recorded(repository)
    spool_of(repository).put(an_event("prompt", id="p", at="2026-02-01T00:00:00Z", text="why?"))
    ran = custody(repository, "records", "-n", "2")
    assert ran.out.splitlines() == [
        "      4  2026-02-01 00:00  prompt       event:robot:s1:prompt:p",
        "      3  2026-01-31 12:00  edit         event:robot:s1:edit:3",
    ]
    shown = custody(repository, "show", "4").out
    assert '"text": "why?"' in shown
    report = json.loads(custody(repository, "show", "event:robot:s1:prompt:p", "--json").out)
    assert report["payloads"][0]["text"] == "why?"
    custody(repository, "erase", "4", "--reason", "x", "--yes")
    assert custody(repository, "show", "4").out.endswith("erased\n")
    assert custody(repository, "show", "99").status == 2


def test_rebuild_makes_the_indexes_of_bodies_again(repository: Path) -> None:
    spool_of(repository).put(an_event("edit", after="x" * 9000))
    custody(repository, "verify")
    with closing(sqlite3.connect(repository / ".git" / "custody" / "custody.db")) as db, db:
        before = db.execute("SELECT * FROM part").fetchall()
        db.execute("DELETE FROM part")
    custody(repository, "doctor", "--rebuild")
    with closing(sqlite3.connect(repository / ".git" / "custody" / "custody.db")) as db, db:
        assert db.execute("SELECT * FROM part").fetchall() == before


def test_help_teaches_by_group() -> None:
    ran = custody(Path(), "--help")
    assert ran.status == 0
    assert ran.out.index("Ask:") < ran.out.index("Set up, Store, Team:")
    every = custody(Path(), "help").out
    assert every.index("Ask:") < every.index("Set up:") < every.index("Store:") < every.index("Team:")
    for verb in ("records", "show", "verify", "doctor", "export", "import", "erase"):
        assert custody(Path(), verb, "--help").out.count("Example") >= 1


def test_version_and_completion(tmp_path: Path) -> None:
    from custody import __version__

    assert custody(tmp_path, "--version").out == f"custody, version {__version__}\n"
    for shell in ("bash", "zsh", "fish"):
        assert "_CUSTODY_COMPLETE" in custody(tmp_path, "completion", shell).out
    completed = custody(tmp_path, _CUSTODY_COMPLETE="bash_complete", COMP_WORDS="custody ver", COMP_CWORD="1")
    assert completed.out == "plain,verify\n"
