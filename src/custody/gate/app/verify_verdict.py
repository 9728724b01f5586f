"""Verification of a verdict: its form, its signature, its subject, and whether it can be reproduced."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.core.errors import CustodyError, InputError
from custody.core.ids import PENDING, Link, RecordRef, Seq, StoreId, digest_from_bytes
from custody.core.plural import count_noun, noun_for_count
from custody.core.record import ChainTip
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.report import IntegrityFinding
from custody.core.wire.time import parse_timestamp
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.snapshot import (
    EvidenceBasis,
    digest_verdict_chains,
    open_verdict_workspace,
    read_verdict_index_extent,
)
from custody.gate.app.verdict_subject import (
    find_base_problems,
    find_default_base,
    find_stricter_verdict_now,
    find_unreserved_approval,
)
from custody.gate.model import VerdictLevel
from custody.gate.wire.report import (
    COUNT_FIELDS,
    ChainExtent,
    GateReport,
    GivenVerdict,
    SignatureReport,
    VerdictLevelName,
    VerdictReport,
    decode_verdict,
    encode_portable_verdict,
    encode_statement,
    encode_statement_pae,
    encode_verdict_envelope,
    parse_signer_public_key,
    statement_subject_from_report,
)
from custody.signing import (
    allowed_signers_from_key,
    find_signature_fault,
    find_signer,
    sign_message,
)
from custody.store import Store, count_records_claimed_until, count_records_erased_since, find_own_chain
from custody.workspace.workspace import Workspace

# Judge a change again on exactly the records that a verdict names, and compare the verdicts byte for byte. The result
# says what differs, or why the verdict cannot be reproduced.


SHOWN_MAX = 200
"""Characters of a value quoted in a sentence."""
DAMAGE = "INTEG-"
HOMES_MAX = 8
"""Stores to try as the origin of a verdict when none of its chains belongs to this store."""

RerunState = Literal["identical", "differs", "not", "skipped"]


class RerunResult(Struct, frozen=True):
    """The result of judging again: whether it was possible and identical, and a sentence for each difference.

    ``unseen`` counts records in this store that claim a time before the verdict and are not part of its basis.
    ``home`` is the chain of the store that reproduces the verdict, if that is another store.
    """

    state: RerunState
    sentences: tuple[str, ...] = ()
    unseen: int = 0
    home: StoreId | None = None


class RerunError(InputError):
    """A verdict cannot be reproduced here."""


def rerun_verdict(workspace: Workspace, submitted: GivenVerdict, description: bytes | None) -> RerunResult:
    """Judge the change of a verdict again as of its time, with the same description."""
    verdict = submitted.report
    try:
        basis = basis_from_verdict(verdict)
        _check_description(verdict, description)
        as_of_ns = parse_timestamp(verdict.as_of)
        still = replace(workspace, now_ns=lambda: as_of_ns)
        with still.reading() as store:
            check_verdict_records(store, basis)
            unseen = count_records_claimed_until(store, basis.chains, as_of_ns)
            homes = list(_list_candidate_verdict_bases(store, basis))
        result = _rerun_on_candidate_bases(still, submitted, description, homes)
        return replace(result, unseen=unseen)
    except CustodyError as error:
        return RerunResult("not", (error.message,))


def basis_from_verdict(verdict: GateReport) -> EvidenceBasis:
    """Return the records that a verdict names; an ``InputError`` if it contradicts itself."""
    heads = tuple(_tip_from_verdict_chain(chain) for chain in verdict.chains)
    if len({head.store for head in heads}) < len(heads):
        raise InputError("the verdict lists a chain twice", hint="the verdict was changed")
    waiting = sum(head.seq for head in heads if head.store == PENDING)
    if waiting:
        raise RerunError(f"the verdict was made from {count_noun(waiting, 'event')} not yet stored in a chain")
    if verdict.chain_head != digest_verdict_chains(heads):
        raise InputError("'chain_head' does not match the listed chains")
    return EvidenceBasis(heads, index=verdict.index, gaps=verdict.gaps)


def _tip_from_verdict_chain(chain: ChainExtent) -> ChainTip:
    try:
        return ChainTip(StoreId(chain.store), Seq(chain.seq), Link(bytes.fromhex(chain.link)))
    except ValueError as error:
        raise InputError(f"invalid link of chain {chain.store}") from error


def _check_description(verdict: GateReport, description: bytes | None) -> None:
    if verdict.description is None:
        if description is not None:
            raise RerunError("the verdict was made without a description")
    elif description is None:
        raise RerunError("the verdict was made with a description; pass it with --description")
    elif format_digest(digest_from_bytes(description)) != verdict.description:
        raise RerunError("the verdict was made with another description")


def _list_candidate_verdict_bases(store: Store, basis: EvidenceBasis) -> Iterator[EvidenceBasis]:
    """Yield the stores in which the verdict may have been made: imported records count for less.

    This store comes first. If it owns none of the chains, the owner of each chain is a candidate.
    """
    named = {head.store for head in basis.chains}
    owned = frozenset(store.tables.list_owned_chains() & named)
    yield replace(basis, own=find_own_chain(store, named), owned=owned)
    if not owned:
        yield from (replace(basis, own=home, owned=frozenset((home,))) for home in sorted(named)[:HOMES_MAX])


def _rerun_on_candidate_bases(
    workspace: Workspace, submitted: GivenVerdict, description: bytes | None, homes: Sequence[EvidenceBasis]
) -> RerunResult:
    """Return the result for the first candidate that reproduces the verdict, else the result for this store."""
    here = _rerun_on_basis(workspace, submitted, description, homes[0])
    if here.state == "identical":
        return here
    for home in homes[1:]:
        if _rerun_on_basis(workspace, submitted, description, home).state == "identical":
            return RerunResult("identical", home=home.own)
    return here


def _rerun_on_basis(
    workspace: Workspace, submitted: GivenVerdict, description: bytes | None, basis: EvidenceBasis
) -> RerunResult:
    verdict = submitted.report
    change = None if verdict.worktree else f"{verdict.base}..{verdict.head}"
    with open_verdict_workspace(workspace, basis) as past:
        again = gate(past, GateRequest(change=change, description=description))
        withheld = past.store.tables.count_withheld_bodies()
    try:
        return _compare_verdicts(verdict, submitted.value, again, withheld)
    except RerunError as why:
        return RerunResult("not", (why.message,))


def check_verdict_records(store: Store, basis: EvidenceBasis) -> None:
    """Raise an ``InputError`` unless the records of a verdict exist here, unchanged."""
    for head in basis.chains:
        record = store.tables.record(RecordRef(head.store, head.seq))
        if record is None:
            here = store.tables.head(head.store).seq
            raise RerunError(
                f"chain {head.store} has {count_noun(here, 'record')} here, but the verdict was made from {head.seq:,}"
            )
        if record.link != head.link:
            raise RerunError(f"record {head.seq} of chain {head.store} differs from the verdict's")
    if erased := count_records_erased_since(store, basis.chains):
        raise RerunError(f"{count_noun(erased, 'record')} {noun_for_count(erased, 'was', 'were')} erased since")
    if basis.index is not None and read_verdict_index_extent(store, basis.index.changes) != basis.index:
        changes = count_noun(basis.index.changes, "indexed change")
        raise RerunError(f"the verdict was compared with {changes}, and the index here differs")


def _compare_verdicts(verdict: GateReport, value: Mapping[str, Json], again: GateReport, withheld: int) -> RerunResult:
    if verdict.worktree and (again.base, again.head) != (verdict.base, verdict.head):
        raise RerunError("the work tree has changed since the verdict")
    now: dict[str, Json] = {
        name: part for name, part in msgspec.to_builtins(again).items() if name in value or name not in COUNT_FIELDS
    }
    if encode_portable_verdict(value) == encode_portable_verdict(now):
        return RerunResult("identical")
    if again.rules_digest != verdict.rules_digest:
        raise RerunError("the rules of its base differ here: the verdict was made by another version of custody")
    if again.gaps != verdict.gaps:
        raise RerunError(
            f"the verdict was made with {_render_verdict_gaps(verdict.gaps)},"
            f" but here are {_render_verdict_gaps(again.gaps)}"
        )
    if _is_damaged(verdict) and not _is_damaged(again):
        raise RerunError("the store was damaged when the verdict was made, and is not now")
    if withheld:
        raise RerunError(f"another store withheld {count_noun(withheld, 'text')} of the verdict's records")
    names = sorted(value.keys() | now.keys())
    return RerunResult(
        "differs",
        tuple(
            _describe_verdict_difference(name, value, now)
            for name in names
            if _has_verdict_field_changed(name, value, now)
        ),
    )


def _render_verdict_gaps(gaps: int | None) -> str:
    return "unreadable gaps" if gaps is None else count_noun(gaps, "gap")


def _is_damaged(report: GateReport) -> bool:
    return any(reason.code.startswith(DAMAGE) for reason in report.reasons)


def _has_verdict_field_changed(name: str, value: Mapping[str, Json], now: Mapping[str, Json]) -> bool:
    return (name in value) != (name in now) or dump_canonical_json(value.get(name)) != dump_canonical_json(
        now.get(name)
    )


def _describe_verdict_difference(name: str, value: Mapping[str, Json], now: Mapping[str, Json]) -> str:
    before, after = _render_verdict_field(name, value), _render_verdict_field(name, now)
    return f"'{name}' is {before} in the verdict and {after} when judged again"


def _render_verdict_field(name: str, fields: Mapping[str, Json]) -> str:
    if name not in fields:
        return "missing"
    text = dump_canonical_json(fields[name]).decode("utf-8", "replace")
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


# Verdicts for others: an in-toto statement, in a signed envelope if the user passes a key.


NAMESPACE = "custody"
"""The SSH signature namespace: a signature made for another purpose, such as a commit, does not count."""


def encode_verdict_statement(report: GateReport, key: Path | None = None) -> bytes:
    """Encode the statement of a verdict, signed with the private SSH key in a file if one is passed."""
    statement = encode_statement(report)
    if key is None:
        return statement + b"\n"
    return encode_verdict_envelope(statement, sign_message(encode_statement_pae(statement), key, NAMESPACE)) + b"\n"


CODES = {"differs": "verdict_differs", "not": "verdict_not_again"}


class VerdictCheck(Struct, frozen=True, kw_only=True):
    """A verdict to verify.

    ``description`` is the one that it was made with. ``allowed`` is a list of signers in OpenSSH's format, ``key`` a
    public key; with either, the verdict must be signed by one of them. It must be about the commit ``head`` and its
    change since ``base``, at most as strict as ``level``, and rest on evidence of this ``assurance`` or more. With
    ``signature_only`` it is not judged again.
    """

    verdict: bytes
    description: bytes | None = None
    allowed: bytes | None = None
    key: bytes | None = None
    head: str | None = None
    base: str | None = None
    level: VerdictLevelName | None = None
    assurance: Assurance | None = None
    signature_only: bool = False

    @property
    def expects_something(self) -> bool:
        """Return whether the caller relies on more than the form of the verdict."""
        return any(value is not None for value in (self.head, self.base, self.level, self.assurance))


def verify_verdict(workspace: Workspace, check: VerdictCheck) -> VerdictReport:
    """Check everything about a verdict; an ``InputError`` if the file is not a verdict."""
    submitted = decode_verdict(check.verdict)
    signers = _list_allowed_signers(check)
    if check.signature_only and signers is None:
        raise InputError("--signature-only needs the keys of allowed signers", hint="add --key or --allowed-signers")
    signature = _check_verdict_signature(submitted, signers)
    again = RerunResult("skipped") if check.signature_only else rerun_verdict(workspace, submitted, check.description)
    findings = [
        *_find_verdict_signature_problems(signature, is_needed=signers is not None),
        *_check_verdict_subject(submitted),
        *_check_verdict_level(submitted.report),
        *_find_unmet_expectations(submitted.report, check),
        *_find_weak_assurance(submitted.report, check.assurance),
        *_find_subject_problems(workspace, submitted.report, check, is_vouched=signature.state == "named"),
        *(
            IntegrityFinding(CODES[again.state], _describe_rerun_state(again.state, sentence))
            for sentence in again.sentences
        ),
    ]
    if not findings and check.level is not None:
        findings += find_unreserved_approval(submitted.report)
        if not findings and signature.state != "named" and not check.signature_only:
            findings += find_stricter_verdict_now(workspace, submitted.report, check.level, check.description)
    report = submitted.report
    return VerdictReport(
        outcome="found" if findings else "fine",
        form=submitted.form,
        base=report.base,
        head=report.head,
        level=report.level,
        as_of=report.as_of,
        rules_digest=report.rules_digest,
        chain_head=report.chain_head,
        signature=signature,
        again=again.state,
        unseen=again.unseen if again.state in ("identical", "differs") else None,
        home=again.home,
        findings=findings,
    )


def _find_unmet_expectations(report: GateReport, check: VerdictCheck) -> Iterator[IntegrityFinding]:
    """Yield how the verdict differs from what the caller expects of it."""
    if check.head is not None and report.head != check.head:
        yield IntegrityFinding("head_differs", f"the verdict is about {report.head}, not {check.head}")
    if check.head is not None and report.worktree:
        yield IntegrityFinding("head_differs", "the verdict is about a work tree, not a commit")
    if check.level is not None and VerdictLevel(report.level).strictness > VerdictLevel(check.level).strictness:
        yield IntegrityFinding(
            "level_too_strict", f"the verdict is '{report.level}', but at least '{check.level}' is required"
        )


def _find_subject_problems(
    workspace: Workspace, report: GateReport, check: VerdictCheck, *, is_vouched: bool
) -> Iterator[IntegrityFinding]:
    """Yield how less was judged than the caller relies on; an allowed signer vouches for the base of the verdict."""
    if check.expects_something:
        base = check.base if is_vouched or check.base is not None else find_default_base(workspace.repository)
        yield from find_base_problems(workspace.repository, report, base)


def _find_weak_assurance(report: GateReport, least: Assurance | None) -> Iterator[IntegrityFinding]:
    if least is not None and not Assurance(report.assurance).meets(least):
        yield IntegrityFinding(
            "assurance_too_low", f"the verdict rests on {report.assurance} evidence, but {least.value} is required"
        )


def _describe_rerun_state(state: str, sentence: str) -> str:
    return f"cannot reproduce the verdict: {sentence}" if state == "not" else sentence


def _list_allowed_signers(check: VerdictCheck) -> bytes | None:
    """Return the allowed signers in OpenSSH's format; None if any signer is allowed."""
    if check.allowed is None and check.key is None:
        return None
    lines = [] if check.allowed is None else [check.allowed]
    if check.key is not None:
        lines.append(allowed_signers_from_key(parse_signer_public_key(check.key.decode("utf-8", "replace"))))
    return b"\n".join(lines)


def _check_verdict_signature(submitted: GivenVerdict, signers: bytes | None) -> SignatureReport:
    signed = submitted.signed
    if signed is None:
        return SignatureReport(state="none")
    if find_signature_fault(signed.message, signed.signature, NAMESPACE) is not None:
        return SignatureReport(state="wrong", keyid=signed.keyid)
    signer = None if signers is None else find_signer(signed.message, signed.signature, NAMESPACE, signers)
    return SignatureReport(state="unnamed" if signer is None else "named", keyid=signed.keyid, signer=signer)


def _find_verdict_signature_problems(signature: SignatureReport, *, is_needed: bool) -> Iterator[IntegrityFinding]:
    if signature.state == "wrong":
        yield IntegrityFinding("signature_wrong", f"the signature of {signature.keyid} does not match the verdict")
    elif signature.state == "none" and is_needed:
        yield IntegrityFinding("signature_missing", "the verdict is not signed")
    elif signature.state == "unnamed" and is_needed:
        yield IntegrityFinding("signer_unknown", f"the verdict is signed by {signature.keyid}, not an allowed signer")


def _check_verdict_subject(submitted: GivenVerdict) -> Iterator[IntegrityFinding]:
    if submitted.subjects is not None and submitted.subjects != (statement_subject_from_report(submitted.report),):
        yield IntegrityFinding(
            "subject_differs", f"the statement is not about {submitted.report.head}, the head that was judged"
        )


def _check_verdict_level(report: GateReport) -> Iterator[IntegrityFinding]:
    """Check that the level is that of the strictest reason."""
    levels = [VerdictLevel.APPROVE, *(VerdictLevel(reason.level) for reason in report.reasons)]
    strictest = max(levels, key=lambda level: level.strictness)
    if report.level != strictest.value:
        yield IntegrityFinding("level_wrong", f"the level is {report.level}, but the reasons require {strictest.value}")
    if (report.outcome == "found") != (report.level == VerdictLevel.BLOCK.value):
        yield IntegrityFinding("level_wrong", f"the outcome '{report.outcome}' does not match the level {report.level}")
