"""The verdict on a change: what was seen of it, what the checks say, and the report."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from custody.app.desk import Desk
from custody.app.gate_change import Judged, judged
from custody.app.gate_policy import Policy, policy_of
from custody.app.gate_seen import Looked, looked_at
from custody.gate.checks.attribution import attribution
from custody.gate.checks.calls import calls
from custody.gate.checks.citations import citations
from custody.gate.checks.duplicates import duplicates
from custody.gate.checks.integrity import integrity
from custody.gate.checks.policy import policy
from custody.gate.checks.trust import trust
from custody.gate.codes import CODES, Level, Reason, Spot
from custody.gate.engine import Check, judge
from custody.gate.model import Unseen, Verdict, Whose
from custody.gate.rules import GateRules
from custody.wire.bodies import digest_text
from custody.wire.gate import AddedLines, GateReport, PlaceGiven, ReasonGiven, SkippedCheck, UnreadFile
from custody.wire.rules import rules_digest
from custody.wire.sarif import SarifRule
from custody.wire.times import text_from

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "integrity": integrity,
        "policy": policy,
        "attribution": attribution,
        "trust": trust,
        "duplicates": duplicates,
        "citations": citations,
        "calls": calls,
    }
)
"""Every check by its name."""

TABLES = ("attribute", "cite", "dedupe", "gate", "graph", "trust")
"""The rules on which a verdict rests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A change to be judged: ``BASE..HEAD`` as typed, or the work tree; ``description`` is what its author says."""

    change: str | None = None
    description: bytes | None = None


def gate(desk: Desk, request: Request) -> GateReport:
    """Judge what a change brings, by the rules of its base."""
    with judged(desk, request.change) as one:
        policy = policy_of(one)
        now_ns = desk.now_ns()
        looked = looked_at(desk, one, policy, request.description, now_ns)
        verdict = judge(looked.seen, tuple(CHECKS.values()), policy.rules.of(GateRules))
        return _report(one, policy, looked, verdict, now_ns)


def formed(report: GateReport, form: str, version: str) -> bytes:
    """The verdict in another shape: ``markdown``, ``sarif`` or ``check-run``."""
    from custody.wire.gate_forms import encode_check_run, encode_gate_sarif, encode_markdown

    if form == "markdown":
        return encode_markdown(report).encode()
    if form == "check-run":
        return encode_check_run(report)
    rules = [SarifRule(code.value, code.value, about.meaning, about.remedy) for code, about in CODES.items()]
    return encode_gate_sarif(report, version, rules)


def _report(one: Judged, policy: Policy, looked: Looked, verdict: Verdict, now_ns: int) -> GateReport:
    seen, change = looked.seen, one.change
    lines = Counter[Whose]()
    for file in seen.files:
        for stretch in () if isinstance(file.found, Unseen) else file.found:
            lines[stretch.whose] += len(stretch.lines)
    digest = rules_digest({table: policy.rules.tables[table] for table in TABLES})
    return GateReport(
        outcome="found" if verdict.level is Level.BLOCK else "fine",
        base=change.base,
        head=change.head,
        fork=change.fork,
        worktree=one.is_work_tree,
        level=verdict.level.value,
        reasons=[_given(reason) for reason in verdict.reasons],
        added=AddedLines(**{whose.value: lines[whose] for whose in Whose}),
        unread=[UnreadFile(file.path, file.found.why) for file in seen.files if isinstance(file.found, Unseen)],
        checks=[name for name in CHECKS if name not in looked.skipped],
        skipped=[SkippedCheck(name, why) for name, why in looked.skipped.items()],
        rules_digest=digest_text(digest),
        rules_from=list(policy.sources),
        as_of=text_from(now_ns),
        chain_head=looked.chain_head,
        trust=list(looked.agents),
    )


def _given(reason: Reason) -> ReasonGiven:
    places = [_place(spot) for spot in reason.spots]
    return ReasonGiven(reason.code.value, reason.level.value, reason.sentence, reason.remedy, places)


def _place(spot: Spot) -> PlaceGiven:
    if spot.lines is None:
        return PlaceGiven(spot.path, None, None)
    return PlaceGiven(spot.path, spot.lines.first, spot.lines.last)
