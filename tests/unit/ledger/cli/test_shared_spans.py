"""Spans that share a record: shown with a proof, proven without the others, erased alone; damage is found."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from custody.store.tables import decode_stored_body, encode_stored_body
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.builders.otlp import TRACE, a_request, an_otlp_span

KEY = f"span:{TRACE}:{2:016x}:whole"
OTHER = f"span:{TRACE}:{3:016x}:whole"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = a_git_folder(tmp_path / "repo")
    attributes = {"command": "deploy --to acme"}
    request = a_request(an_otlp_span(1), an_otlp_span(2, parent=1, attributes=attributes), an_otlp_span(3, parent=1))
    (folder / "spans.json").write_text(json.dumps(request))
    assert custody(folder, "import", "otlp", "spans.json").status == 0
    return folder


def shown(folder: Path, key: str = KEY) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(custody(folder, "show", key, "--json").out)
    return report


def proof_file(folder: Path) -> Path:
    with Workspace(folder).reading() as store:
        assert [head.seq for head in store.tables.chains()] == [1]
    from custody.core.wire.report import encode_report
    from custody.ledger.records import show_named_records

    (folder / "span.json").write_bytes(encode_report(show_named_records(Workspace(folder), KEY)))
    return folder / "span.json"


def test_a_span_is_shown_alone_with_its_proof(folder: Path) -> None:
    report = shown(folder)
    assert [payload["span"] for payload in report["payloads"]] == [f"{2:016x}"]
    (proof,) = report["proofs"]
    assert (proof["position"], proof["count"], len(proof["path"])) == (1, 3, 2)
    whole = json.loads(custody(folder, "show", "1", "--json").out)
    assert len(whole["payloads"][0]["spans"]) == 3
    assert whole["proofs"] == []


def test_a_proof_holds_for_its_span_only(folder: Path) -> None:
    file = proof_file(folder)
    assert custody(folder, "verify", "--span", "span.json").out == "OK: 1 span verified\n"
    report = json.loads(file.read_bytes())
    report["payloads"][0]["attributes"]["command"] = "deploy --to other"
    file.write_text(json.dumps(report))
    ran = custody(folder, "verify", "--span", "span.json")
    assert ran.status == 1
    assert ran.out.endswith("is not one of the 3 spans of record 1\nFAILED: 1 span checked\n")
    report["proofs"][0]["salt"] = "no hex"
    file.write_text(json.dumps(report))
    assert custody(folder, "verify", "--span", "span.json").status == 1


def test_a_proof_still_holds_after_another_span_was_erased(folder: Path) -> None:
    proof_file(folder)
    assert custody(folder, "erase", OTHER, "--reason", "r", "--yes").status == 0
    assert custody(folder, "verify", "--span", "span.json").out == "OK: 1 span verified\n"


@pytest.mark.parametrize(("content", "words"), [("{}", "custody show"), ('{"report":"show"}', "custody show")])
def test_a_file_without_a_proof_is_refused(folder: Path, content: str, words: str) -> None:
    (folder / "span.json").write_text(content)
    ran = custody(folder, "verify", "--span", "span.json")
    assert ran.status == 2
    assert words in ran.err


def test_a_span_is_erased_alone(folder: Path) -> None:
    ran = custody(folder, "erase", KEY, "--reason", "a customer", "--yes", "--json")
    assert ran.status == 0, ran.err
    assert custody(folder, "verify").out.startswith("OK: 2 records verified")
    assert custody(folder, "show", KEY).status == 2
    assert custody(folder, "show", OTHER).status == 0
    assert b"acme" not in b"".join(file.read_bytes() for file in (folder / ".git" / "custody").glob("custody.db*"))
    assert custody(folder, "erase", KEY, "--reason", "again", "--yes").status == 2
    exported = custody(folder, "export", "-o", "all.jsonl")
    assert exported.status == 0, exported.err
    other = a_git_folder(folder / "other")
    assert custody(other, "import", str(folder / "all.jsonl")).status == 0
    assert custody(other, "verify").out.startswith("OK: 2 records verified")
    assert custody(other, "show", OTHER).status == 0


def test_a_span_that_vanished_without_a_record_is_found(folder: Path) -> None:
    """Whoever can write the file can replace a span by its hash, but not write a record of it into the chain."""
    from custody.core.wire.span_batch import erase_batched_span, iterate_batched_spans

    database = sqlite3.connect(folder / ".git" / "custody" / "custody.db")
    digest, codec, stored = database.execute(
        "SELECT body.digest, codec, bytes FROM body JOIN record ON record.digest = body.digest WHERE kind = 'spans'"
    ).fetchone()
    data = decode_stored_body(codec, stored)
    codec, stored = encode_stored_body(erase_batched_span(data, next(iterate_batched_spans(data))))
    with database:
        database.execute("UPDATE body SET codec = ?, bytes = ? WHERE digest = ?", (codec, stored, digest))
        database.execute("DELETE FROM span WHERE span = ?", (f"{1:016x}",))
    database.close()
    ran = custody(folder, "verify")
    assert ran.status == 1
    assert "lack 1 span that was not erased" in ran.out


def test_one_span_of_a_signed_outline_stays(folder: Path) -> None:
    """The outline that others hold names every span of the record: a later one would not fit its signature."""
    with Workspace(folder).writing() as store:
        own = store.own()
        assert own is not None
        with store.writing():
            store.tables.put_record_outlines(own, 0, [(store.tables.chains()[0].link, None)])  # type: ignore[list-item]
    ran = custody(folder, "erase", KEY, "--reason", "r", "--yes")
    assert ran.status == 2
    assert "a signed outline of the record was shared" in ran.err
    assert custody(folder, "erase", "1", "--reason", "r", "--yes").status == 0
