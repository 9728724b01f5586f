"""Verification of a verdict: its signer, its subject, and that no byte was changed."""

import json
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.core.wire.canonical import dump_canonical_json
from custody.core.wire.report import encode_report
from custody.gate.app.verify_verdict import encode_verdict_statement
from custody.gate.wire.report import VerdictReport, encode_statement
from tests.builders.verdicts import Court, Key, a_key, changed


@pytest.fixture
def court(tmp_path: Path) -> Court:
    return Court(tmp_path / "repository").proven().edited()


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return a_key(tmp_path / "keys")


def found(checked: VerdictReport) -> list[str]:
    assert (checked.outcome == "found") == bool(checked.findings)
    return [finding.code for finding in checked.findings]


def test_every_form_holds(court: Court, key: Key) -> None:
    verdict = court.said()
    for form, data in (
        ("report", encode_report(verdict)),
        ("statement", encode_verdict_statement(verdict)),
        ("envelope", encode_verdict_statement(verdict, key.private)),
    ):
        checked = court.checked(data)
        assert (checked.form, checked.again, found(checked)) == (form, "identical", [])
        assert (checked.head, checked.level, checked.as_of) == (verdict.head, verdict.level, verdict.as_of)
        assert (checked.rules_digest, checked.chain_head) == (verdict.rules_digest, verdict.chain_head)


def test_who_signed_is_reported(court: Court, key: Key, tmp_path: Path) -> None:
    signed, other = encode_verdict_statement(court.said(), key.private), a_key(tmp_path / "keys", "other")
    assert court.checked(signed).signature.state == "unnamed"
    by_key = court.checked(signed, key=key.public)
    assert (by_key.signature.state, by_key.signature.signer, found(by_key)) == ("named", "key", [])
    by_list = court.checked(signed, allowed=key.allowed("ci@example.org"), key=other.public)
    assert (by_list.signature.signer, found(by_list)) == ("ci@example.org", [])
    assert by_list.signature.keyid is not None and by_list.signature.keyid.startswith("SHA256:")


def test_another_signer_than_the_named_one_is_rejected(court: Court, key: Key, tmp_path: Path) -> None:
    other = a_key(tmp_path / "keys", "other")
    signed = encode_verdict_statement(court.said(), key.private)
    assert found(court.checked(signed, key=other.public)) == ["signer_unknown"]
    assert found(court.checked(signed, allowed=b"")) == ["signer_unknown"]
    assert found(court.checked(encode_verdict_statement(court.said()), key=key.public)) == ["signature_missing"]
    assert found(court.checked(encode_report(court.said()), allowed=key.allowed())) == ["signature_missing"]


def test_a_changed_payload_is_wrongly_signed(court: Court, key: Key) -> None:
    """Use an allowed signer, then change the verdict, with every format valid."""
    verdict = court.said()
    mine, theirs = (
        json.loads(encode_verdict_statement(one, key.private)) for one in (verdict, court.said(b"other words"))
    )
    swapped = dump_canonical_json({**mine, "payload": theirs["payload"]})
    for more in ({}, {"key": key.public}):
        checked = court.checked(swapped, **more)
        assert checked.signature.state == "wrong"
        assert "signature_wrong" in found(checked)


def test_any_changed_byte_of_a_signed_verdict_is_found(court: Court, key: Key) -> None:
    signed = encode_verdict_statement(court.said(), key.private)
    places = range(0, len(signed), max(1, len(signed) // 60))
    for place in places:
        other = bytearray(signed)
        other[place] ^= 1
        try:
            checked = court.checked(bytes(other), key=key.public)
        except InputError:
            continue
        assert found(checked), place


def test_a_statement_about_another_commit_is_found(court: Court) -> None:
    value = json.loads(encode_statement(court.said()))
    value["subject"][0]["digest"] = {"gitCommit": court.base}
    assert found(court.checked(dump_canonical_json(value))) == ["subject_differs"]
    value["subject"] = []
    assert found(court.checked(dump_canonical_json(value))) == ["subject_differs"]


def test_a_level_that_its_reasons_do_not_give_is_found(court: Court) -> None:
    court.indexed()
    verdict = court.said()
    assert verdict.level == "review"
    assert found(court.checked(changed(verdict, level="approve"))) == ["level_wrong", "verdict_differs"]
    assert found(court.checked(changed(verdict, outcome="found"))) == ["level_wrong", "verdict_differs"]


def test_a_verdict_with_its_reasons_taken_out_is_found_by_judging_again(court: Court) -> None:
    court.indexed()
    milder = changed(court.said(), level="approve", reasons=[])
    assert found(court.checked(milder)) == ["verdict_differs", "verdict_differs"]


@pytest.mark.parametrize("more", [{"key": b"no key"}, {"key": b"\xff\xfe"}, {"key": b""}])
def test_a_key_that_is_none_is_the_callers_turn(court: Court, more: dict[str, bytes]) -> None:
    with pytest.raises(InputError, match="not a public SSH key"):
        court.checked(court.said(), **more)


def test_an_expectation_is_not_met_by_a_verdict_about_less_than_the_change(court: Court) -> None:
    nothing = court.said_about(court.head, court.head)
    assert found(court.checked(nothing)) == []
    assert found(court.checked(nothing, head=court.head)) == ["nothing_judged"]
    ours = court.built.commit({b"a.py": b"x = 1\n"}, court.head, ref="refs/heads/ours")
    part = court.said_about(court.head, ours)
    court.built.git("update-ref", "refs/heads/main", court.base)
    assert found(court.checked(part, head=ours)) == ["base_differs"]
    assert found(court.checked(part, head=ours, base="ours")) == []
    assert found(court.checked(part, head=ours, base="none")) == ["base_differs"]
    assert found(court.checked(court.said_about(court.base, ours), head=ours)) == []
