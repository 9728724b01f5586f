"""Whether a verdict can be relied on: its form, its signature, what it is about, and whether it comes out again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from custody.core.errors import CustodyError, InputError
from custody.core.ids import PENDING, Link, RecordRef, Seq, StoreId, digest_of
from custody.core.record import ChainTip
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import Json, dump
from custody.core.wire.report import IntegrityFinding
from custody.core.wire.time import ns_from
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.snapshot import EvidenceBasis, head_of, past_workspace, read_index_extent
from custody.gate.model import VerdictLevel
from custody.gate.signing import allowed_key, sign, signer_of, why_wrong
from custody.gate.wire.report import (
    ChainExtent,
    GateReport,
    GivenVerdict,
    SignatureReport,
    VerdictReport,
    decode_verdict,
    encode_envelope,
    encode_statement,
    pae,
    public_line,
    subject_of,
)
from custody.store import Store, claimed_until, erased_since, own_among
from custody.workspace.workspace import Workspace

# Judge a change again, on the records that a verdict names and no others, and compare what comes out.
# It comes out the same byte for byte, or it is said what differs; or it is said why it cannot be had again, which is
# not the same.


SHOWN_MAX = 200
"""Signs of a value that a sentence quotes."""
DAMAGE = "INTEG-"
HOMES_MAX = 8
"""Stores as whose a verdict is worked out where none of its chains is this store's own."""

RerunState = Literal["identical", "differs", "not"]


@dataclass(frozen=True, slots=True)
class RerunResult:
    """What came of judging again: whether it could be done and was the same, and a sentence for each thing to say.

    ``unseen`` counts records that are here, claim no later moment than the verdict, and are none that it rests on.
    ``home`` is the chain at whose store it comes out so, where that is another store than this one.
    """

    state: RerunState
    said: tuple[str, ...] = ()
    unseen: int = 0
    home: StoreId | None = None


class _RerunError(Exception):
    """Why a verdict cannot be worked out again."""


def judged_again(workspace: Workspace, given: GivenVerdict, description: bytes | None) -> RerunResult:
    """Judge the change of a verdict again as of its time, with the description that was handed in."""
    verdict = given.report
    try:
        rests = _rests(verdict)
        _check_description(verdict, description)
        moment_ns = ns_from(verdict.as_of)
        still = replace(workspace, now_ns=lambda: moment_ns)
        with still.reading() as store:
            _check_records(store, rests)
            unseen = claimed_until(store, rests.chains, moment_ns)
            homes = list(_homes(store, rests))
        found = _at_any(still, given, description, homes)
        return replace(found, unseen=unseen)
    except _RerunError as why:
        return RerunResult("not", (str(why),))
    except CustodyError as error:
        return RerunResult("not", (error.message,))


def _rests(verdict: GateReport) -> EvidenceBasis:
    heads = tuple(_head(chain) for chain in verdict.chains)
    if len({head.store for head in heads}) < len(heads):
        raise InputError("its chains are not such as a store can have", hint="the verdict was changed")
    waiting = sum(head.seq for head in heads if head.store == PENDING)
    if waiting:
        raise _RerunError(f"it rests on {waiting} event(s) that waited and had no place in a chain yet")
    if verdict.chain_head != head_of(heads):
        raise InputError("its 'chain_head' is not the name of the chains that it lists")
    return EvidenceBasis(heads, index=verdict.index, gaps=verdict.gaps)


def _head(chain: ChainExtent) -> ChainTip:
    try:
        return ChainTip(StoreId(chain.store), Seq(chain.seq), Link(bytes.fromhex(chain.link)))
    except ValueError as error:
        raise InputError(f"the link of chain {chain.store} is none") from error


def _check_description(verdict: GateReport, description: bytes | None) -> None:
    if verdict.description is None:
        if description is not None:
            raise _RerunError("it was given without a description")
    elif description is None:
        raise _RerunError("it was given with a description; hand that in with --description")
    elif digest_text(digest_of(description)) != verdict.description:
        raise _RerunError("the description is not the one that it was given with")


def _homes(store: Store, rests: EvidenceBasis) -> Iterator[EvidenceBasis]:
    """Where these records may have been at home when they were judged: imported ones count for less.

    That is here, if any chain is this store's own; else it may have been where one of them is.
    """
    named = {head.store for head in rests.chains}
    owned = frozenset(store.tables.owned() & named)
    yield replace(rests, own=own_among(store, named), owned=owned)
    if not owned:
        yield from (replace(rests, own=home, owned=frozenset((home,))) for home in sorted(named)[:HOMES_MAX])


def _at_any(
    workspace: Workspace, given: GivenVerdict, description: bytes | None, homes: Sequence[EvidenceBasis]
) -> RerunResult:
    """What comes out at the first of these homes at which it is the same; else what comes out here."""
    here = _at(workspace, given, description, homes[0])
    if here.state == "identical":
        return here
    for home in homes[1:]:
        if _at(workspace, given, description, home).state == "identical":
            return RerunResult("identical", home=home.own)
    return here


def _at(workspace: Workspace, given: GivenVerdict, description: bytes | None, rests: EvidenceBasis) -> RerunResult:
    verdict = given.report
    change = None if verdict.worktree else f"{verdict.base}..{verdict.head}"
    with past_workspace(workspace, rests) as past:
        again = gate(past, GateRequest(change=change, description=description))
        withheld = past.store.tables.withheld_count()
    try:
        return _compared(verdict, given.value, again, withheld)
    except _RerunError as why:
        return RerunResult("not", (str(why),))


def _check_records(store: Store, rests: EvidenceBasis) -> None:
    """Whether the records that a verdict names are here, and as they were."""
    for head in rests.chains:
        record = store.tables.record(RecordRef(head.store, head.seq))
        if record is None:
            here = store.tables.head(head.store).seq
            raise _RerunError(
                f"these records are not those: chain {head.store} has {here} record(s) here, and it rests on {head.seq}"
            )
        if record.link != head.link:
            raise _RerunError(f"these records are not those: record {head.seq} of chain {head.store} is another one")
    if erased := erased_since(store, rests.chains):
        raise _RerunError(f"{erased} record(s) were erased since")
    if rests.index is not None and read_index_extent(store, rests.index.changes) != rests.index:
        raise _RerunError(
            f"the {rests.index.changes} indexed change(s) that it was compared with are not those of the index here"
        )


def _compared(verdict: GateReport, value: Mapping[str, Json], again: GateReport, withheld: int) -> RerunResult:
    if verdict.worktree and (again.base, again.head) != (verdict.base, verdict.head):
        raise _RerunError("the work tree is not the one that was judged")
    now: dict[str, Json] = msgspec.to_builtins(again)
    if dump(dict(value)) == dump(now):
        return RerunResult("identical")
    if again.rules_digest != verdict.rules_digest:
        raise _RerunError("the rules for its base are others here: it was given by another version of custody")
    if again.gaps != verdict.gaps:
        raise _RerunError(f"it rests on {_counted(verdict.gaps)}, and here are {_counted(again.gaps)}")
    if _is_damaged(verdict) and not _is_damaged(again):
        raise _RerunError("something was wrong with the store itself when it was given, and is not now")
    if withheld:
        raise _RerunError(f"{withheld} text(s) of its records are not here: another store withheld them")
    names = sorted(value.keys() | now.keys())
    return RerunResult("differs", tuple(_difference(name, value, now) for name in names if _differ(name, value, now)))


def _counted(gaps: int | None) -> str:
    return "gaps that nobody could read" if gaps is None else f"{gaps} gap(s)"


def _is_damaged(report: GateReport) -> bool:
    return any(reason.code.startswith(DAMAGE) for reason in report.reasons)


def _differ(name: str, value: Mapping[str, Json], now: Mapping[str, Json]) -> bool:
    return (name in value) != (name in now) or dump(value.get(name)) != dump(now.get(name))


def _difference(name: str, value: Mapping[str, Json], now: Mapping[str, Json]) -> str:
    return f"'{name}' is {_shown(name, value)} in the verdict and {_shown(name, now)} when judged again"


def _shown(name: str, of: Mapping[str, Json]) -> str:
    if name not in of:
        return "not there"
    text = dump(of[name]).decode("utf-8", "replace")
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


# A verdict for others: an in-toto statement, in an envelope that is signed where the user names a key.


NAMESPACE = "custody"
"""What signatures are made for: one that was made for something else, such as a commit, does not count here."""


def stated(report: GateReport, key: Path | None = None) -> bytes:
    """The statement of a verdict, signed with the private SSH key in a file if there is one."""
    statement = encode_statement(report)
    if key is None:
        return statement + b"\n"
    return encode_envelope(statement, sign(pae(statement), key, NAMESPACE)) + b"\n"


CODES = {"differs": "verdict_differs", "not": "verdict_not_again"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCheck:
    """A verdict that somebody wants to rely on.

    ``description`` is what it was given with. ``allowed`` is a list of signers as OpenSSH has them, ``key`` a public
    key; where either is given, only a verdict that one of them signed will do.
    """

    verdict: bytes
    description: bytes | None = None
    allowed: bytes | None = None
    key: bytes | None = None


def verify_verdict(workspace: Workspace, relied: VerdictCheck) -> VerdictReport:
    """Check everything about a verdict; an ``InputError`` when it is none."""
    given = decode_verdict(relied.verdict)
    signers = _signers(relied)
    signature = _signature(given, signers)
    again = judged_again(workspace, given, relied.description)
    findings = [
        *_signature_findings(signature, is_needed=signers is not None),
        *_subject(given),
        *_level(given.report),
        *(IntegrityFinding(CODES[again.state], _describe_state(again.state, sentence)) for sentence in again.said),
    ]
    report = given.report
    return VerdictReport(
        outcome="found" if findings else "fine",
        form=given.form,
        base=report.base,
        head=report.head,
        level=report.level,
        as_of=report.as_of,
        rules_digest=report.rules_digest,
        chain_head=report.chain_head,
        signature=signature,
        again=again.state,
        unseen=None if again.state == "not" else again.unseen,
        home=again.home,
        findings=findings,
    )


def _describe_state(state: str, sentence: str) -> str:
    return f"it cannot be worked out again: {sentence}" if state == "not" else sentence


def _signers(relied: VerdictCheck) -> bytes | None:
    """Everybody whose signature will do, as OpenSSH lists them; None where anybody's will."""
    if relied.allowed is None and relied.key is None:
        return None
    lines = [] if relied.allowed is None else [relied.allowed]
    if relied.key is not None:
        lines.append(allowed_key(public_line(relied.key.decode("utf-8", "replace"))))
    return b"\n".join(lines)


def _signature(given: GivenVerdict, signers: bytes | None) -> SignatureReport:
    signed = given.signed
    if signed is None:
        return SignatureReport(state="none")
    if why_wrong(signed.message, signed.signature, NAMESPACE) is not None:
        return SignatureReport(state="wrong", keyid=signed.keyid)
    signer = None if signers is None else signer_of(signed.message, signed.signature, NAMESPACE, signers)
    return SignatureReport(state="unnamed" if signer is None else "named", keyid=signed.keyid, signer=signer)


def _signature_findings(signature: SignatureReport, *, is_needed: bool) -> Iterator[IntegrityFinding]:
    if signature.state == "wrong":
        yield IntegrityFinding(
            "signature_wrong", f"the signature of {signature.keyid} does not fit what it stands under"
        )
    elif signature.state == "none" and is_needed:
        yield IntegrityFinding("signature_missing", "it is not signed")
    elif signature.state == "unnamed" and is_needed:
        yield IntegrityFinding("signer_unknown", f"it is signed by {signature.keyid}, a key that nobody named")


def _subject(given: GivenVerdict) -> Iterator[IntegrityFinding]:
    if given.subjects is not None and given.subjects != (subject_of(given.report),):
        yield IntegrityFinding(
            "subject_differs", f"the statement is not about {given.report.head}, the head that was judged"
        )


def _level(report: GateReport) -> Iterator[IntegrityFinding]:
    """Whether the level is that of the strictest reason."""
    levels = [VerdictLevel.APPROVE, *(VerdictLevel(reason.level) for reason in report.reasons)]
    strictest = max(levels, key=lambda level: level.strictness)
    if report.level != strictest.value:
        yield IntegrityFinding("level_wrong", f"its level is {report.level}, and its reasons ask for {strictest.value}")
    if (report.outcome == "found") != (report.level == VerdictLevel.BLOCK.value):
        yield IntegrityFinding("level_wrong", f"its outcome is {report.outcome}, which {report.level} is not")
