"""What ``custody gate`` answers: the verdict on a change, its reasons by code, and what it was about."""

import base64
import binascii
import hashlib
import re
import struct
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump, parse, problem
from custody.core.wire.report import IntegrityFinding, Report
from custody.trust.wire import AgentApproval

VerdictLevelName = Literal["approve", "review", "block"]
CommitId = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
ChainName = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{1,64}$(?!\n)")]
LinePlace = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class PlaceReport(msgspec.Struct, frozen=True):
    """Lines of a file as it is after the change; null for the file as a whole."""

    path: str
    start_line: int | None
    end_line: int | None


class ReasonReport(msgspec.Struct, frozen=True):
    """One reason: its code, what it asks for, a sentence, what to do about it, and the places that it is about."""

    code: str
    level: VerdictLevelName
    sentence: str
    remedy: str
    places: list[PlaceReport]


class AddedLines(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines the change adds, by whose they are; those of unread files are not counted."""

    agent: int
    mixed: int
    person: int
    none: int


class UnreadFile(msgspec.Struct, frozen=True):
    """A file to which something was added that could not be looked up, and why."""

    path: str
    why: str


class SkippedCheck(msgspec.Struct, frozen=True):
    """A check that did not look, and why; only the rules of the base can say so."""

    name: str
    why: str


class ChainExtent(msgspec.Struct, frozen=True):
    """A chain that was read up to the record ``seq``, whose link is ``link``."""

    store: ChainName
    seq: LinePlace
    link: str


class IndexExtentReport(msgspec.Struct, frozen=True):
    """How many indexed changes were searched, in the order of indexing, and the head of the last of them."""

    changes: LinePlace
    last: str


class GateReport(Report, frozen=True, kw_only=True, tag="gate"):
    """The verdict on what ``head`` has over ``fork``, the point where it left ``base``.

    With ``worktree``, ``head`` is the work tree as a commit that nobody made. ``rules_from`` are the places that set
    any of the rules. ``trust`` is what the records of the agents that wrote it say at the moment ``as_of``.

    The verdict rests on the records of ``chains``, of which ``chain_head`` is the one name (SHA-256 over their heads;
    null where there was none), on the ``gaps`` that were known (null where they could not be read), on the ``index`` of
    changes if that was searched, and on the description with the digest ``description``. From the same it follows
    again.
    """

    base: CommitId
    head: CommitId
    fork: CommitId
    worktree: bool
    level: VerdictLevelName
    reasons: list[ReasonReport]
    added: AddedLines
    unread: list[UnreadFile]
    checks: list[str]
    skipped: list[SkippedCheck]
    rules_digest: str
    rules_from: list[str]
    as_of: str
    chain_head: str | None
    chains: list[ChainExtent]
    index: IndexExtentReport | None
    gaps: int | None
    description: str | None
    trust: list[AgentApproval]


# What ``custody verify --verdict`` answers: whose a verdict is, and whether it follows again from what it names.


class SignatureReport(msgspec.Struct, frozen=True, kw_only=True):
    """The signature of a verdict: ``none``, ``named`` where it is of a signer that was allowed, else ``unnamed``.

    ``wrong`` is one that does not fit. ``keyid`` is the fingerprint of the key, ``signer`` whose it is said to be.
    """

    state: Literal["none", "named", "unnamed", "wrong"]
    keyid: str | None = None
    signer: str | None = None


class VerdictReport(Report, frozen=True, kw_only=True, tag="verify-verdict"):
    """Whether a verdict is whole and signed, and whether judging its change again on the same records gives the same.

    ``again`` is ``not`` where that could not be done; ``findings`` say why. ``unseen`` counts records that are here,
    claim no later moment than ``as_of``, and are none that it rests on; null where nobody could count. ``home`` is the
    chain at whose store it comes out so: records that were imported count for less, and here all of them were.
    """

    form: Literal["report", "statement", "envelope"]
    base: str
    head: str
    level: VerdictLevelName
    as_of: str
    rules_digest: str
    chain_head: str | None
    signature: SignatureReport
    again: Literal["identical", "differs", "not"]
    unseen: int | None
    home: str | None
    findings: list[IntegrityFinding]


# OpenSSH's signature of a text, as far as one needs to read it: that it is one, and which key made it.
# Whether it fits the text is ``ssh-keygen``'s to say. What is read here must be in the one form that OpenSSH writes,
# so that no byte of it can be another one unnoticed.


BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
MAGIC = b"SSHSIG"
LINE_SIGNS = 70
BYTES_MAX = 64 * 1024
_PUBLIC = re.compile(r"((?:ssh|ecdsa|sk)-[a-z0-9@.-]{1,60})[ \t]+([A-Za-z0-9+/]{40,20000}={0,2})(?:[ \t].*)?")


def public_key_of(armored: str) -> bytes:
    """The public key inside a signature, or an ``InputError`` when it is none or not as OpenSSH writes it."""
    if len(armored) > BYTES_MAX:
        raise _no_signature()
    lines = armored.removesuffix("\n").split("\n")
    blob = strict_base64("".join(lines[1:-1]))
    if armored != _armored(blob) or not blob.startswith(MAGIC + b"\0\0\0\1"):
        raise _no_signature()
    return _text(blob, len(MAGIC) + 4)


def fingerprint(key: bytes) -> str:
    """The name of a key, as ``ssh-keygen -l`` prints it.

    >>> fingerprint(b"")
    'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU'
    """
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def public_line(text: str) -> str:
    """The type and the bytes of the one public key in a file such as ``id_ed25519.pub``."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = _PUBLIC.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None:
        raise InputError("not a public SSH key", hint="name the file that ends in .pub")
    return f"{found[1]} {found[2]}"


def strict_base64(text: str) -> bytes:
    """The bytes of a base64 text that has one form only."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError) as error:
        raise InputError("not base64", hint="the file was changed or cut short") from error
    if base64.b64encode(data).decode() != text:
        raise InputError("not base64 as it is written", hint="the file was changed")
    return data


def _armored(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + LINE_SIGNS] for at in range(0, len(text), LINE_SIGNS)]
    return "\n".join([BEGIN, *lines, END, ""])


def _text(blob: bytes, at: int) -> bytes:
    """The bytes behind a length."""
    if len(blob) < at + 4:
        raise _no_signature()
    (length,) = struct.unpack_from(">I", blob, at)
    if len(blob) < at + 4 + length:
        raise _no_signature()
    return blob[at + 4 : at + 4 + length]


def _no_signature() -> InputError:
    return InputError("not an SSH signature as OpenSSH writes it", hint="the file was changed or cut short")


# A verdict as an in-toto statement, signed in a DSSE envelope or not; and back from any of the forms.
# https://github.com/in-toto/attestation (v1) and https://github.com/secure-systems-lab/dsse say what these look like.


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
