"""Whether a verdict can be relied on: its form, its signature, what it is about, and whether it comes out again."""

from collections.abc import Iterator
from dataclasses import dataclass

from custody.core.wire.report import IntegrityFinding
from custody.gate.app.rerun import judged_again
from custody.gate.app.statement import NAMESPACE
from custody.gate.codes import VerdictLevel
from custody.gate.signing import allowed_key, signer_of, why_wrong
from custody.gate.wire.report import GateReport
from custody.gate.wire.ssh_signature import public_line
from custody.gate.wire.statement import GivenVerdict, decode_verdict, subject_of
from custody.gate.wire.verdict import SignatureReport, VerdictReport
from custody.workspace.workspace import Workspace

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
