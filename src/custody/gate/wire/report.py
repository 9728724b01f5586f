"""The report of ``custody gate``: the verdict on a change, its reasons by code, and its basis."""

import base64
import binascii
import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from custody.core.assurance import SELF_REPORTED_ONLY
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun, noun_for_count
from custody.core.wire.canonical import Json, describe_conversion_error, dump_canonical_json, parse_json_bytes
from custody.core.wire.report import IntegrityFinding, Report
from custody.runs.wire import RunReport
from custody.trust.wire import AgentApproval

VerdictLevelName = Literal["approve", "review", "block"]
AssuranceName = Literal["self-reported", "enrolled", "witnessed"]
CommitId = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
ChainName = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{1,64}$(?!\n)")]
LinePlace = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class PlaceReport(msgspec.Struct, frozen=True):
    """Lines of a file after the change; null for the whole file."""

    path: str
    start_line: int | None
    end_line: int | None


class ReasonReport(msgspec.Struct, frozen=True):
    """One reason: its code, its level, a sentence, what to do about it, and the places concerned."""

    code: str
    level: VerdictLevelName
    sentence: str
    remedy: str
    places: list[PlaceReport]


class StatementReport(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of the description or a commit message, and what records or the diff say about it.

    ``text`` is the sentence as written, ``line`` where it starts in ``source``. ``unknown``: records cannot say
    anything. ``paths`` are the files that ``record`` is about.
    """

    state: Literal["backed", "unbacked", "contradicted", "unknown"]
    kind: str
    source: str
    line: int
    text: str
    record: str
    run: RunReport | None
    paths: list[str]


class AddedLines(msgspec.Struct, frozen=True, kw_only=True):
    """The number of added lines by author; lines of unread files are not counted."""

    agent: int
    mixed: int
    person: int
    none: int


class UnreadFile(msgspec.Struct, frozen=True):
    """A file with additions that could not be checked, and why."""

    path: str
    why: str


class SkippedCheck(msgspec.Struct, frozen=True):
    """A check that was skipped, and why; only the rules of the base can skip one."""

    name: str
    why: str


_CHECK_NAMES = {"calls": "tool calls"}


def render_skipped_check(check: SkippedCheck) -> str:
    """Return a skipped check as text.

    >>> render_skipped_check(SkippedCheck("calls", "gate.calls = off"))
    'tool calls (gate.calls = off)'
    """
    return f"{_CHECK_NAMES.get(check.name, check.name)} ({check.why})"


def count_added_lines(added: AddedLines) -> int:
    """Return the number of added lines of all authors."""
    return added.agent + added.mixed + added.person + added.none


def render_added_lines(added: AddedLines) -> str:
    """Return the number of added lines, and of those of each kind of author that wrote some.

    >>> render_added_lines(AddedLines(agent=1, mixed=0, person=20, none=0))
    '21 added lines: 1 agent, 20 people'
    """
    counts = (
        (added.agent, noun_for_count(added.agent, "agent")),
        (added.mixed, "both"),
        (added.person, noun_for_count(added.person, "person", "people")),
        (added.none, "unknown"),
    )
    parts = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return f"{count_noun(count_added_lines(added), 'added line')}{': ' if parts else ''}{parts}"


def render_assurance_note(level: str, assurance: str) -> str:
    """Return what to add to an approval that rests on self-reported evidence.

    >>> render_assurance_note("approve", "self-reported"), render_assurance_note("review", "self-reported")
    (' (self-reported evidence only)', '')
    """
    return SELF_REPORTED_ONLY if (level, assurance) == ("approve", "self-reported") else ""


class ChainExtent(msgspec.Struct, frozen=True):
    """A chain that was read up to the record ``seq`` with the link ``link``."""

    store: ChainName
    seq: LinePlace
    link: str


class IndexExtentReport(msgspec.Struct, frozen=True):
    """The number of indexed changes that were searched, in order of indexing, and the head of the last one."""

    changes: LinePlace
    last: str


class BudgetLeft(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that an agent may merge without review in the budget window, and how many of them are left now."""

    agent: str
    operator: str | None
    budget: int
    left: int


class BudgetReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the lines that an approval takes from the budgets.

    ``state``: ``reserved`` now, ``known`` since the same patch was reserved before, ``dry`` where nothing is reserved,
    ``refused`` and ``unverifiable`` where they could not be, ``none`` where the verdict does not rest on trust.
    ``patch`` identifies the change whatever its message and base are. ``left`` is what is left after this change if its
    lines are reserved.
    """

    place: Literal["store", "remote"]
    state: Literal["reserved", "known", "dry", "refused", "unverifiable", "none"]
    patch: str | None
    lines: int
    recorded: list[str]
    left: list[BudgetLeft]
    why: str | None = None


class AuditReport(msgspec.Struct, frozen=True):
    """Whether the change was selected for an audit; null where it needs a review anyway."""

    drawn: bool | None


class LocalReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict says about this machine and time; it is left out when verdicts are compared.

    ``withheld`` counts texts that other stores did not share.
    """

    budget: BudgetReport
    audit: AuditReport
    withheld: int


LOCAL_CODES = frozenset(("TRUST-BUDGET", "TRUST-AUDIT"))
"""Codes of reasons that follow from ``local``."""


class ShortenedLine(msgspec.Struct, frozen=True):
    """A line that lost words, by its number after the change."""

    line: int
    words: list[str]


class CallRemovals(msgspec.Struct, frozen=True, kw_only=True):
    """What one call removed from a file: whole ``lines``, and words of lines that are still there.

    ``path`` is the file before the change. ``shortened`` lists the first 50 lines that lost words.
    """

    path: str
    agent: str
    session_id: str
    tool_call_id: str | None
    lines: int
    words: int
    shortened: list[ShortenedLine]


class GateReport(Report, frozen=True, kw_only=True, tag="gate"):
    """The verdict on the lines that ``head`` adds since ``fork``, the point where it left ``base``.

    With ``worktree``, ``head`` is a temporary commit of the work tree. ``rules_from`` are the files that set rules.
    ``trust`` has the agents' scores and budgets as of ``as_of``. ``assurance`` is the lowest of the evidence in favor
    of the change. ``local`` depends on this machine and time. ``files`` counts the changed files and ``removed_lines``
    the lines removed from them; null in verdicts of versions that did not count them. ``removals`` names the captured
    calls that removed text, as far as their texts are here; it is left out when verdicts are compared.

    The verdict rests on the records of ``chains``; ``chain_head`` is the SHA-256 over their heads (null without
    chains). It also rests on the known ``gaps`` (null if unreadable), on the ``index`` of changes if it was searched,
    and on the description with the digest ``description``. The same basis gives the same verdict, apart from ``local``
    and the reasons that follow from it.
    """

    base: CommitId
    head: CommitId
    fork: CommitId
    worktree: bool
    level: VerdictLevelName
    assurance: AssuranceName
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
    local: LocalReport | None = None
    files: int | None = None
    removed_lines: int | None = None
    removals: list[CallRemovals] = msgspec.field(default_factory=list)


COUNT_FIELDS = ("files", "removed_lines")
"""Fields that older verdicts lack; what they count follows from ``fork`` and ``head``."""


def encode_portable_verdict(value: Mapping[str, Json]) -> bytes:
    """Encode a verdict without ``local``, the reasons that follow from it, and ``removals``.

    It is equal for the same basis anywhere.
    """
    every = value.get("reasons")
    reasons = [reason for reason in every if not _is_local_reason(reason)] if isinstance(every, list) else every
    rest = {name: part for name, part in value.items() if name not in ("local", "removals")}
    if reasons != every and isinstance(reasons, list):
        level = _find_strictest_level(reasons)
        rest |= {"reasons": reasons, "level": level, "outcome": "found" if level == "block" else "fine"}
    return dump_canonical_json(rest)


def _is_local_reason(reason: Json) -> bool:
    return isinstance(reason, dict) and reason.get("code") in LOCAL_CODES


def _find_strictest_level(reasons: Sequence[Json]) -> str:
    order = get_args(VerdictLevelName)
    levels = (str(reason.get("level")) for reason in reasons if isinstance(reason, dict))
    return max((level for level in levels if level in order), key=order.index, default=str(order[0]))


# The report of ``custody verify --verdict``: who signed a verdict, and whether it can be reproduced from its basis.


class SignatureReport(msgspec.Struct, frozen=True, kw_only=True):
    """The signature of a verdict: ``none``, ``named`` for an allowed signer, ``unnamed`` for any other key.

    ``wrong`` is an invalid signature. ``keyid`` is the fingerprint of the key, ``signer`` the name of its owner.
    """

    state: Literal["none", "named", "unnamed", "wrong"]
    keyid: str | None = None
    signer: str | None = None


class VerdictReport(Report, frozen=True, kw_only=True, tag="verify-verdict"):
    """Whether a verdict is intact and signed, and whether judging its change again on the same records reproduces it.

    ``again`` is ``not`` where that was impossible and ``skipped`` where only the signature was checked; ``findings``
    say why. ``unseen`` counts records in this store that claim a time before ``as_of`` and are not part of its basis;
    null if unknown. ``home`` is the chain whose store reproduces the verdict: imported records count for less, and here
    all of them were imported.
    """

    form: Literal["report", "statement", "envelope"]
    base: str
    head: str
    level: VerdictLevelName
    as_of: str
    rules_digest: str
    chain_head: str | None
    signature: SignatureReport
    again: Literal["identical", "differs", "not", "skipped"]
    unseen: int | None
    home: str | None
    findings: list[IntegrityFinding]


# OpenSSH signatures: only the key is read here, ``ssh-keygen`` verifies them. Only the exact form that OpenSSH writes
# is accepted, so that no byte can be changed unnoticed.


BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
MAGIC = b"SSHSIG"
LINE_CHARACTERS = 70
BYTES_MAX = 64 * 1024
_PUBLIC = lazy_pattern(r"((?:ssh|ecdsa|sk)-[a-z0-9@.-]{1,60})[ \t]+([A-Za-z0-9+/]{40,20000}={0,2})(?:[ \t].*)?")


def signer_key_from_signature(armored: str) -> bytes:
    """Return the public key in a signature; an ``InputError`` if it is not exactly as OpenSSH writes it."""
    if len(armored) > BYTES_MAX:
        raise _make_signature_error()
    lines = armored.removesuffix("\n").split("\n")
    blob = decode_envelope_base64("".join(lines[1:-1]))
    if armored != _armor_ssh_signature(blob) or not blob.startswith(MAGIC + b"\0\0\0\1"):
        raise _make_signature_error()
    return _read_signature_field(blob, len(MAGIC) + 4)


def fingerprint_signing_key(key: bytes) -> str:
    """Return the fingerprint of a key, as ``ssh-keygen -l`` prints it.

    >>> fingerprint_signing_key(b"")
    'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU'
    """
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def parse_signer_public_key(text: str) -> str:
    """Return the type and base64 of the only public key in a file such as ``id_ed25519.pub``."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    match = _PUBLIC.fullmatch(lines[0]) if len(lines) == 1 else None
    if match is None:
        raise InputError("not a public SSH key", hint="pass the file that ends in .pub")
    return f"{match[1]} {match[2]}"


def decode_envelope_base64(text: str) -> bytes:
    """Decode base64 text; only the canonical form is accepted."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError) as error:
        raise InputError("not base64", hint="the file was changed or cut short") from error
    if base64.b64encode(data).decode() != text:
        raise InputError("not canonical base64", hint="the file was changed")
    return data


def _armor_ssh_signature(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + LINE_CHARACTERS] for at in range(0, len(text), LINE_CHARACTERS)]
    return "\n".join([BEGIN, *lines, END, ""])


def _read_signature_field(blob: bytes, at: int) -> bytes:
    """Return the bytes after a length prefix."""
    if len(blob) < at + 4:
        raise _make_signature_error()
    (length,) = struct.unpack_from(">I", blob, at)
    if len(blob) < at + 4 + length:
        raise _make_signature_error()
    return blob[at + 4 : at + 4 + length]


def _make_signature_error() -> InputError:
    return InputError("not an SSH signature as OpenSSH writes it", hint="the file was changed or cut short")


# Verdicts as in-toto statements, plain or signed in a DSSE envelope, and decoding of all forms.
# Formats: https://github.com/in-toto/attestation (v1) and https://github.com/secure-systems-lab/dsse.


STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://custody.dev/verdict/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
VERDICT_BYTES_MAX = 128 * 1024 * 1024
NO_VERDICT = "pass a file written by 'custody gate --json' or 'custody gate --format statement'"

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


class SignedStatement(msgspec.Struct, frozen=True):
    """The signed bytes, the id of the key, and the SSH signature."""

    message: bytes
    keyid: str
    signature: str


class GivenVerdict(msgspec.Struct, frozen=True):
    """A decoded verdict file: its form, content, subjects and signature; ``value`` has every key as written."""

    form: VerdictForm
    value: dict[str, Json]
    report: GateReport
    subjects: tuple[dict[str, str], ...] | None = None
    signed: SignedStatement | None = None


def encode_statement(report: GateReport) -> bytes:
    """Encode ``report`` as an in-toto statement about its head; the same verdict gives the same bytes."""
    name = "the work tree" if report.worktree else "the change's head"
    subject: dict[str, Json] = {"name": name, "digest": dict(statement_subject_from_report(report))}
    return dump_canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [subject],
            "predicateType": PREDICATE_TYPE,
            "predicate": msgspec.to_builtins(report),
        }
    )


def statement_subject_from_report(report: GateReport) -> dict[str, str]:
    """Return the subject of the statement: the head commit by its id, in git's own digest."""
    return {"gitCommit": report.head}


def encode_statement_pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return the bytes that are signed, in DSSE's pre-authentication encoding.

    >>> encode_statement_pae(b"hello world", "http://example.com/HelloWorld")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def encode_verdict_envelope(payload: bytes, signature: str) -> bytes:
    """Encode the DSSE envelope of a statement with one SSH signature over its PAE."""
    return dump_canonical_json(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [
                {
                    "keyid": fingerprint_signing_key(signer_key_from_signature(signature)),
                    "sig": base64.b64encode(signature.encode()).decode(),
                }
            ],
        }
    )


def decode_verdict(data: bytes) -> GivenVerdict:
    """Decode a verdict in any of its forms; an ``InputError`` says what is wrong with the file."""
    value = _require_verdict_object(parse_json_bytes(data, bytes_max=VERDICT_BYTES_MAX))
    if "payload" in value:
        return _decode_verdict_envelope(data, value)
    if "_type" in value:
        return _decode_verdict_statement(value)
    return GivenVerdict("report", value, _decode_gate_report(value))


def _decode_verdict_envelope(data: bytes, value: dict[str, Json]) -> GivenVerdict:
    envelope = _convert_verdict_part(value, _Envelope, "envelope")
    if len(envelope.signatures) != 1:
        raise InputError(
            f"the envelope has {len(envelope.signatures)} signatures, expected one", hint="the file was changed"
        )
    # Only the payload is signed, so changes around it must be detected too.
    if data not in (written := dump_canonical_json(value), written + b"\n"):
        raise InputError("the envelope is not in custody's format", hint="the file was changed or reformatted")
    payload = decode_envelope_base64(envelope.payload)
    (envelope_signature,) = envelope.signatures
    try:
        signature = decode_envelope_base64(envelope_signature.sig).decode("ascii")
    except UnicodeDecodeError as error:
        raise InputError("invalid SSH signature", hint="the file was changed") from error
    if fingerprint_signing_key(signer_key_from_signature(signature)) != envelope_signature.keyid:
        raise InputError("the signature is not by the key that the envelope names", hint="the file was changed")
    stated = _decode_verdict_statement(_require_verdict_object(parse_json_bytes(payload, bytes_max=VERDICT_BYTES_MAX)))
    signed = SignedStatement(encode_statement_pae(payload), envelope_signature.keyid, signature)
    return GivenVerdict("envelope", stated.value, stated.report, stated.subjects, signed)


def _decode_verdict_statement(value: dict[str, Json]) -> GivenVerdict:
    statement = _convert_verdict_part(value, _Statement, "custody statement")
    subjects = tuple(subject.digest for subject in statement.subject)
    return GivenVerdict("statement", statement.predicate, _decode_gate_report(statement.predicate), subjects)


def _decode_gate_report(value: dict[str, Json]) -> GateReport:
    return _convert_verdict_part(value, GateReport, "verdict of 'custody gate'")


def _require_verdict_object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise InputError("not a verdict: not a JSON object", hint=NO_VERDICT)
    return value


def _convert_verdict_part(value: dict[str, Json], kind: type[T], what: str) -> T:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"invalid {what}: {describe_conversion_error(error)}", hint=NO_VERDICT) from error
