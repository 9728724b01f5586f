"""A verdict as a statement and in an envelope: standard formats, with no byte that can change unnoticed."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.gate.wire.report import (
    AddedLines,
    ChainExtent,
    GateReport,
    decode_envelope_base64,
    decode_verdict,
    encode_statement,
    encode_statement_pae,
    encode_verdict_envelope,
    fingerprint_signing_key,
    parse_signer_public_key,
    signer_key_from_signature,
)

KEY = b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes(range(32))


def armored(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def a_signature(rest: bytes = b"the rest") -> str:
    return armored(b"SSHSIG\0\0\0\1" + len(KEY).to_bytes(4, "big") + KEY + rest)


def a_verdict(head: str = "b" * 40, *, worktree: bool = False) -> GateReport:
    return GateReport(
        base="a" * 40,
        head=head,
        fork="a" * 40,
        worktree=worktree,
        level="approve",
        assurance="enrolled",
        reasons=[],
        added=AddedLines(agent=1, mixed=0, person=0, none=2),
        unread=[],
        checks=["attribution"],
        skipped=[],
        rules_digest="sha256:" + "0" * 64,
        rules_from=[],
        as_of="2026-11-16T09:00:00Z",
        chain_head="sha256:" + "1" * 64,
        chains=[ChainExtent("c" * 32, 3, "d" * 64)],
        index=None,
        gaps=0,
        description=None,
        trust=[],
    )


def test_a_statement_is_in_totos() -> None:
    said = json.loads(encode_statement(a_verdict()))
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://custody.dev/verdict/v1"
    assert said["subject"] == [{"name": "the change's head", "digest": {"gitCommit": "b" * 40}}]
    assert said["predicate"] == json.loads(encode_report(a_verdict()))
    assert json.loads(encode_statement(a_verdict(worktree=True)))["subject"][0]["name"] == "the work tree"
    assert json.loads(encode_statement(a_verdict("e" * 64)))["subject"][0]["digest"] == {"gitCommit": "e" * 64}


def test_what_is_signed_is_what_dsse_says() -> None:
    assert encode_statement_pae(b"") == b"DSSEv1 28 application/vnd.in-toto+json 0 "
    assert encode_statement_pae("é".encode(), "é") == b"DSSEv1 2 \xc3\xa9 2 \xc3\xa9"


@given(st.binary(), st.binary(), st.text(), st.text())
def test_no_two_payloads_are_signed_alike(one: bytes, other: bytes, kind: str, another: str) -> None:
    try:
        same = encode_statement_pae(one, kind) == encode_statement_pae(other, another)
    except UnicodeEncodeError:
        return
    assert same == ((one, kind) == (other, another))


def test_every_form_gives_the_verdict_back() -> None:
    verdict = a_verdict()
    plain = decode_verdict(encode_report(verdict))
    assert (plain.form, plain.report, plain.subjects, plain.signed) == ("report", verdict, None, None)
    stated = decode_verdict(encode_statement(verdict))
    assert (stated.form, stated.report, stated.signed) == ("statement", verdict, None)
    assert stated.subjects == ({"gitCommit": "b" * 40},)
    assert stated.value == plain.value
    sealed = decode_verdict(encode_verdict_envelope(encode_statement(verdict), a_signature()))
    assert (sealed.form, sealed.report, sealed.subjects) == ("envelope", verdict, stated.subjects)
    assert sealed.signed is not None
    assert sealed.signed.message == encode_statement_pae(encode_statement(verdict))
    assert (sealed.signed.keyid, sealed.signed.signature) == (fingerprint_signing_key(KEY), a_signature())


ENVELOPE = encode_verdict_envelope(encode_statement(a_verdict()), a_signature()) + b"\n"


@given(st.integers(0, len(ENVELOPE) - 1), st.integers(0, 255))
def test_a_changed_byte_leaves_no_envelope_or_another_message_or_signature(place: int, byte: int) -> None:
    """The signature check finds all other changes."""
    changed = bytearray(ENVELOPE)
    changed[place] = byte
    if bytes(changed) == ENVELOPE:
        return
    whole = decode_verdict(ENVELOPE).signed
    try:
        signed = decode_verdict(bytes(changed)).signed
    except InputError:
        return
    assert signed is not None and whole is not None
    assert (signed.message, signed.signature) != (whole.message, whole.signature)


def test_the_last_line_end_may_be_missing() -> None:
    assert decode_verdict(ENVELOPE.rstrip(b"\n")) == decode_verdict(ENVELOPE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not JSON",
        b"[]",
        b"{}",
        b"null",
        b"\xff\xfe",
        b'{"report":"gate"}',
        b'{"report":"blame"}',
        b'{"_type":"https://in-toto.io/Statement/v0.1","subject":[],"predicateType":"x","predicate":{}}',
        encode_statement(a_verdict()).replace(b"custody.dev", b"other.example"),
        encode_statement(a_verdict())[:-1] + b',"more":1}',
        b'{"payload":"","payloadType":"text/plain","signatures":[]}',
        b'{"payload":"","payloadType":"application/vnd.in-toto+json","signatures":[]}',
        ENVELOPE.replace(b'"keyid":"SHA256:', b'"keyid":"SHA256:x'),
        ENVELOPE.replace(b'":"', b'": "', 1),
        ENVELOPE + b"\n",
        b"{" * 200,
        b'{"a":1,"a":2}',
        b'{"report":"\\ud800"}',
    ],
)
def test_an_invalid_verdict_is_reported(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_verdict(data)


def test_two_signatures_are_one_too_many() -> None:
    value = json.loads(ENVELOPE)
    value["signatures"] *= 2
    with pytest.raises(InputError, match="2 signatures"):
        decode_verdict(json.dumps(value, separators=(",", ":")).encode())


def test_a_public_key_is_read_out_of_a_signature() -> None:
    assert signer_key_from_signature(a_signature()) == KEY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no signature",
        a_signature().rstrip("\n"),
        a_signature() + "\n",
        a_signature().replace("\n", "\r\n"),
        a_signature().replace("SIGNATURE", "MESSAGE"),
        armored(b"SSHSIH\0\0\0\1" + KEY),
        armored(b"SSHSIG\0\0\0\2" + KEY),
        armored(b"SSHSIG\0\0\0\1"),
        armored(b"SSHSIG\0\0\0\1\xff\xff\xff\xff" + KEY),
        "A" * 100_000,
    ],
)
def test_an_invalid_signature_is_reported(text: str) -> None:
    with pytest.raises(InputError):
        signer_key_from_signature(text)


@pytest.mark.parametrize("text", ["QQ=", "QR==", "Q Q==", "QQ==\n", "é", "====", "QQ==QQ=="])
def test_base64_has_one_form(text: str) -> None:
    with pytest.raises(InputError):
        decode_envelope_base64(text)


@given(st.binary())
def test_what_base64_writes_is_read(data: bytes) -> None:
    assert decode_envelope_base64(base64.b64encode(data).decode()) == data


LINE = "ssh-ed25519 " + base64.b64encode(KEY).decode()


@pytest.mark.parametrize("text", [LINE, f"{LINE}\n", f"# mine\n\n{LINE} a comment with words\r\n"])
def test_a_public_key_is_taken_without_what_surrounds_it(text: str) -> None:
    assert parse_signer_public_key(text) == LINE


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{LINE}\n{LINE}",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        f"cert-authority {LINE}",
        f'namespaces="git" {LINE}',
        "ssh-ed25519",
        "ssh-ed25519 not-base64!",
    ],
)
def test_an_invalid_public_key_is_reported(text: str) -> None:
    with pytest.raises(InputError):
        parse_signer_public_key(text)
