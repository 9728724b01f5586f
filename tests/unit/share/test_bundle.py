"""A bundle holds everything that a verdict rests on: in a clone without records, it is judged again from that."""

import json
import subprocess
from pathlib import Path

import pytest

from custody.core.wire.report import encode_report
from custody.gate.app.verify_verdict import encode_verdict_statement
from tests.builders.in_process import custody
from tests.builders.verdicts import Court, Key, a_key


@pytest.fixture
def court(tmp_path: Path) -> Court:
    """A repository with a change, records about it, and an index of changes."""
    court = Court(tmp_path / "repository").proven().edited()
    court.indexed()
    return court


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return a_key(tmp_path / "keys")


@pytest.fixture
def verdict(court: Court, key: Key, tmp_path: Path) -> Path:
    path = tmp_path / "verdict.json"
    path.write_bytes(encode_verdict_statement(court.said(), key.private))
    return path


@pytest.fixture
def bundle(court: Court, verdict: Path, tmp_path: Path) -> Path:
    path = tmp_path / "verdict.bundle"
    ran = custody(court.folder, "export", "--verdict", str(verdict), "-o", str(path))
    assert ran.status == 0, ran.err
    return path


@pytest.fixture
def clone(court: Court, tmp_path: Path) -> Path:
    """A clone without records."""
    path = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--mirror", court.folder, path / ".git"], check=True)
    subprocess.run(["git", "-C", path, "config", "core.bare", "false"], check=True)
    return path


def test_an_empty_clone_judges_again_from_a_bundle(clone: Path, verdict: Path, bundle: Path, key: Key) -> None:
    without = custody(clone, "verify", "--verdict", str(verdict), "--key", str(key.public_path))
    assert (without.status, "verdict_not_again" in without.out) == (1, True)
    ran = custody(
        clone, "verify", "--verdict", str(verdict), "--key", str(key.public_path), "--bundle", str(bundle), "--json"
    )
    answer = json.loads(ran.out)
    assert (ran.status, answer["again"], answer["findings"]) == (0, "identical", [])
    assert json.loads(custody(clone, "records", "--json").out)["total"] == 0


def test_later_records_stay_out_of_a_bundle(court: Court, verdict: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert custody(court.folder, "export", "--verdict", str(verdict), "-o", str(first)).status == 0
    court.happens("edited_again")
    assert custody(court.folder, "export", "--verdict", str(verdict), "-o", str(second)).status == 0
    assert first.read_bytes() == second.read_bytes()


def test_every_cut_and_every_flipped_line_of_a_bundle_is_refused(
    clone: Path, verdict: Path, bundle: Path, tmp_path: Path
) -> None:
    lines = bundle.read_bytes().splitlines(keepends=True)
    bad = tmp_path / "bad"
    for number in range(0, len(lines), max(1, len(lines) // 12)):
        cut = b"".join(lines[:number]) + lines[number][: len(lines[number]) // 2]
        without = b"".join(lines[:number] + lines[number + 1 :])
        for data in (cut, without):
            bad.write_bytes(data)
            ran = custody(clone, "verify", "--verdict", str(verdict), "--bundle", str(bad))
            assert ran.status in (1, 2), (number, ran.out)
            assert "OK" not in ran.out


def test_a_verdict_must_be_what_the_caller_expects(court: Court, verdict: Path) -> None:
    said = court.said()
    level, other = said.level, court.base
    met = custody(court.folder, "verify", "--verdict", str(verdict), "--head", said.head, "--min-level", level)
    assert met.status == 0, met.out
    foreign = custody(court.folder, "verify", "--verdict", str(verdict), "--head", other)
    assert (foreign.status, "head_differs" in foreign.out) == (1, True)
    if level != "approve":
        strict = custody(court.folder, "verify", "--verdict", str(verdict), "--min-level", "approve")
        assert (strict.status, "level_too_strict" in strict.out) == (1, True)


def test_a_verdict_must_rest_on_the_assurance_that_the_caller_needs(court: Court, verdict: Path) -> None:
    said = court.said().assurance
    assert said == "self-reported"
    met = custody(court.folder, "verify", "--verdict", str(verdict), "--min-assurance", said)
    assert met.status == 0, met.out
    weak = custody(court.folder, "verify", "--verdict", str(verdict), "--min-assurance", "enrolled")
    assert (weak.status, "assurance_too_low" in weak.out) == (1, True)


def test_the_signature_alone_can_be_checked(clone: Path, verdict: Path, key: Key, tmp_path: Path) -> None:
    ran = custody(clone, "verify", "--verdict", str(verdict), "--key", str(key.public_path), "--signature-only")
    assert (ran.status, "not judged again" in ran.out) == (0, True)
    other = a_key(tmp_path / "keys", "other")
    wrong = custody(clone, "verify", "--verdict", str(verdict), "--key", str(other.public_path), "--signature-only")
    assert (wrong.status, "signer_unknown" in wrong.out) == (1, True)
    unnamed = custody(clone, "verify", "--verdict", str(verdict), "--signature-only")
    assert (unnamed.status, "--allowed-signers" in unnamed.err) == (2, True)


@pytest.mark.parametrize("options", [("--head", "HEAD"), ("--min-level", "approve"), ("--signature-only",)])
def test_options_of_a_verdict_need_one(court: Court, options: tuple[str, ...]) -> None:
    ran = custody(court.folder, "verify", *options)
    assert (ran.status, "--verdict" in ran.err) == (2, True)


def test_a_verdict_about_records_that_are_not_here_has_no_bundle(clone: Path, court: Court, tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_bytes(encode_report(court.said()))
    ran = custody(clone, "export", "--verdict", str(path), "-o", str(tmp_path / "none"))
    assert ran.status == 2
    assert not (tmp_path / "none").exists()
