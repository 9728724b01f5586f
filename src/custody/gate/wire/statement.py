"""A verdict as an in-toto statement, signed in a DSSE envelope or not; and back from any of the forms.

https://github.com/in-toto/attestation (v1) and https://github.com/secure-systems-lab/dsse say what these look like.
"""

import base64
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump, parse, problem
from custody.gate.wire.report import GateReport
from custody.gate.wire.ssh_signature import fingerprint, public_key_of, strict_base64

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://custody.dev/verdict/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
VERDICT_BYTES_MAX = 128 * 1024 * 1024
NO_VERDICT = "give what 'custody gate --json' or 'custody gate --format statement' wrote"

VerdictForm = Literal["report", "statement", "envelope"]
T = TypeVar("T")


class _Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    digest: dict[str, str]


class _Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"type": "_type"}):
    type: Literal["https://in-toto.io/Statement/v1"]
    subject: list[_Subject]
    predicateType: Literal["https://custody.dev/verdict/v1"]  # noqa: N815 - in-toto's name
    predicate: dict[str, Any]


class _Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keyid: str
    sig: str


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    payload: str
    payloadType: Literal["application/vnd.in-toto+json"]  # noqa: N815 - DSSE's name
    signatures: list[_Signature]


@dataclass(frozen=True, slots=True)
class SignedStatement:
    """What was signed, the key that is said to have done it, and the SSH signature."""

    message: bytes
    keyid: str
    signature: str


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """A verdict as somebody gives it: in which form, what it says, of which commits; ``value`` has every key of it."""

    form: VerdictForm
    value: dict[str, Json]
    report: GateReport
    subjects: tuple[dict[str, str], ...] | None = None
    signed: SignedStatement | None = None


def encode_statement(report: GateReport) -> bytes:
    """The in-toto statement that says ``report`` of its head; the same verdict is the same bytes."""
    name = "the work tree" if report.worktree else "the change's head"
    subject: dict[str, Json] = {"name": name, "digest": dict(subject_of(report))}
    return dump(
        {
            "_type": STATEMENT_TYPE,
            "subject": [subject],
            "predicateType": PREDICATE_TYPE,
            "predicate": msgspec.to_builtins(report),
        }
    )


def subject_of(report: GateReport) -> dict[str, str]:
    """What the statement is about: a commit by its id, whichever digest git uses for it."""
    return {"gitCommit": report.head}


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """The bytes that are signed, by DSSE's pre-authentication encoding.

    >>> pae(b"hello world", "http://example.com/HelloWorld")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def encode_envelope(payload: bytes, signature: str) -> bytes:
    """The DSSE envelope of a statement with one SSH signature over ``pae(payload)``."""
    return dump(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [
                {
                    "keyid": fingerprint(public_key_of(signature)),
                    "sig": base64.b64encode(signature.encode()).decode(),
                }
            ],
        }
    )


def decode_verdict(data: bytes) -> GivenVerdict:
    """A verdict in any of its forms, or an ``InputError`` that says what is wrong with the file."""
    value = _object(parse(data, bytes_max=VERDICT_BYTES_MAX))
    if "payload" in value:
        return _enveloped(data, value)
    if "_type" in value:
        return _stated(value)
    return GivenVerdict("report", value, _report(value))


def _enveloped(data: bytes, value: dict[str, Json]) -> GivenVerdict:
    envelope = _convert_part(value, _Envelope, "envelope")
    if len(envelope.signatures) != 1:
        raise InputError(
            f"the envelope has {len(envelope.signatures)} signatures instead of one", hint="custody writes one"
        )
    # Only the payload is signed: whoever changes anything around it must be seen as well.
    if data not in (written := dump(value), written + b"\n"):
        raise InputError("the envelope is not as custody writes it", hint="it was changed or written anew by something")
    payload = strict_base64(envelope.payload)
    (envelope_signature,) = envelope.signatures
    try:
        signature = strict_base64(envelope_signature.sig).decode("ascii")
    except UnicodeDecodeError as error:
        raise InputError("the signature is no SSH signature", hint="the file was changed") from error
    if fingerprint(public_key_of(signature)) != envelope_signature.keyid:
        raise InputError("the signature was made by another key than the envelope names", hint="the file was changed")
    stated = _stated(_object(parse(payload, bytes_max=VERDICT_BYTES_MAX)))
    signed = SignedStatement(pae(payload), envelope_signature.keyid, signature)
    return GivenVerdict("envelope", stated.value, stated.report, stated.subjects, signed)


def _stated(value: dict[str, Json]) -> GivenVerdict:
    statement = _convert_part(value, _Statement, "statement of custody's")
    subjects = tuple(subject.digest for subject in statement.subject)
    return GivenVerdict("statement", statement.predicate, _report(statement.predicate), subjects)


def _report(value: dict[str, Json]) -> GateReport:
    return _convert_part(value, GateReport, "verdict of 'custody gate'")


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise InputError("not a verdict: not a JSON object", hint=NO_VERDICT)
    return value


def _convert_part(value: dict[str, Json], kind: type[T], what: str) -> T:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"no {what}: {problem(error)}", hint=NO_VERDICT) from error
