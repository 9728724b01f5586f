"""Losing evidence never helps: whatever evidence is dropped, the verdict does not become milder."""

from collections.abc import Iterator

from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.attribution.model import Grade, LineOwner
from custody.cite import CitationCode as CiteCode
from custody.cite import Finding
from custody.core.assurance import Assurance
from custody.core.paths import Lines
from custody.core.record import RecordingGap
from custody.dupes import Category, DuplicateVerdict
from custody.gate.model import (
    AddedRange,
    CallsBeforeEdit,
    ChangeStatement,
    ChangeText,
    FileAdditions,
    GateEvidence,
    MissingEvidence,
    ReasonCode,
    RecordState,
    SimilarChange,
    TestedFile,
    TrustAnswer,
    VerdictLevel,
)
from custody.gate.rules import GateRules, LevelName
from custody.runs import ComparedStatement, StatementKind, StatementState, TestEvidence, TestState, TextStatement
from custody.trust.model import Approval, ReviewReason, ReviewRequirement
from tests.unit.gate.builders import (
    HOUR_NS,
    NOON_NS,
    OTHER,
    PERIOD,
    ROBOT,
    UNSEEN,
    a_change,
    agents,
    level,
    nobodys,
    persons,
)

LEVELS: tuple[LevelName, ...] = ("approve", "review", "block")
FINDINGS = st.builds(Finding, st.sampled_from(CiteCode), st.integers(1, 9), st.just(1), st.just("so"))
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Bounds that a change of up to four lines per range meets exactly, or misses by a line."""
HOURS = (0.0, 1.0, 24.0)


@st.composite
def some_levels(draw: st.DrawFn) -> dict[str, LevelName]:
    """Valid levels: missing evidence is at least as strict as the evidence it replaces."""
    weak, share = (draw(st.integers(0, 2)) for _ in range(2))
    records = {code: draw(st.integers(0, 2)) for code in ReasonCode if code.value.startswith("TRUST-")}
    records[ReasonCode.TRUST_UNKNOWN] = draw(st.integers(max(records.values()), 2))
    texts = {code: draw(st.integers(0, 2)) for code in ReasonCode if code.value.startswith("CITE-")}
    texts[ReasonCode.CITE_UNSEEN] = draw(st.integers(max(texts.values()), 2))
    calls = {code: draw(st.integers(0, 2)) for code in ReasonCode if code.value.startswith("GRAPH-")}
    calls[ReasonCode.GRAPH_UNSEEN] = draw(st.integers(max(calls.values()), 2))
    tests = {code: draw(st.integers(0, 2)) for code in ReasonCode if code.value.startswith("TEST-")}
    tests[ReasonCode.TEST_NONE] = draw(st.integers(max(tests.values()), 2))
    contradicted = draw(st.integers(0, 2))
    unbacked = draw(st.integers(contradicted, 2))
    by_records = (
        tests[ReasonCode.TEST_NONE],
        unbacked,
        texts[ReasonCode.CITE_UNREAD],
        texts[ReasonCode.CITE_MISSING],
        calls[ReasonCode.GRAPH_UNSEEN],
    )
    none = draw(st.integers(max(weak, share, records[ReasonCode.TRUST_UNKNOWN], *by_records), 2))
    unvouched = draw(st.integers(weak, none))
    unseen = draw(st.integers(none, 2))
    duplicates = {code: draw(st.integers(0, 2)) for code in ReasonCode if code.value.startswith("DUPE-")}
    duplicates[ReasonCode.DUPE_UNSEEN] = draw(st.integers(max(duplicates.values()), 2))
    places = {
        ReasonCode.ATTR_UNSEEN: unseen,
        ReasonCode.ATTR_NONE: none,
        ReasonCode.ATTR_SELF: unvouched,
        ReasonCode.ATTR_WEAK: weak,
        ReasonCode.ATTR_SHARE: share,
        ReasonCode.STATEMENT_UNBACKED: unbacked,
        ReasonCode.STATEMENT_CONTRADICTED: contradicted,
    }
    places |= records | duplicates | texts | calls | tests
    damage = draw(st.integers(max(places.values()), 2))
    places[ReasonCode.INTEG_DAMAGE], places[ReasonCode.INTEG_UNSEEN] = damage, draw(st.integers(damage, 2))
    places[ReasonCode.POLICY_CHANGED] = draw(st.integers(0, 2))
    places[ReasonCode.REVIEW_UNREAD] = draw(st.integers(0, damage))
    return {code.value: LEVELS[place] for code, place in places.items()}


some_rules = st.builds(
    GateRules,
    tier_max=st.integers(1, 6),
    grade_min=st.sampled_from([grade.value for grade in Grade]),
    assurance_min=st.sampled_from([assurance.value for assurance in Assurance]),
    agent_share_max=st.sampled_from(SHARES),
    gap_hours_before=st.sampled_from(HOURS),
    gap_hours_after=st.sampled_from(HOURS),
    tests=st.sampled_from(("agents", "agents", "off")),
    statements=st.sampled_from(("on", "on", "off")),
    levels=some_levels(),
)
"""Rules with bounds in the range of the drawn changes."""

# Half of the drawn evidence is perfect: otherwise a check always fails already, and dropping more shows nothing.
some_stretches = st.builds(
    AddedRange,
    lines=st.integers(1, 4).map(lambda count: Lines(1, count)),
    whose=st.sampled_from((LineOwner.AGENT, LineOwner.AGENT, LineOwner.PERSON, LineOwner.MIXED, LineOwner.NONE)),
    tier=st.just(1) | st.integers(1, 6) | st.none(),
    grade=st.just(Grade.ATTESTED) | st.sampled_from(Grade) | st.none(),
    author=st.just(ROBOT) | st.sampled_from((OTHER, None)),
    assurance=st.just(Assurance.WITNESSED) | st.sampled_from(Assurance),
)
some_against = st.builds(
    ReviewReason,
    st.sampled_from([never for never in ReviewRequirement if never.value in {code.value for code in ReasonCode}]),
    st.just("because"),
)
some_answers = st.lists(
    st.builds(
        TrustAnswer,
        st.sampled_from((ROBOT, OTHER)),
        st.builds(Approval, st.just(()) | st.lists(some_against).map(tuple)),
        st.just(Assurance.WITNESSED) | st.sampled_from(Assurance),
    ),
    max_size=2,
    unique_by=lambda answer: answer.author,
).map(tuple)
some_files = st.builds(
    FileAdditions,
    path=st.just("file.py"),
    authorship=st.lists(some_stretches, min_size=1, max_size=3).map(tuple)
    | st.lists(some_stretches, min_size=1, max_size=3).map(tuple)
    | st.just(UNSEEN),
)
edges_ns = [
    edge + aside
    for hours in HOURS
    for edge in (PERIOD.base_ns, NOON_NS - int(hours * HOUR_NS), PERIOD.last_ns + int(hours * HOUR_NS))
    for aside in (-1, 0, 1)
]
some_gaps = st.builds(RecordingGap, at_ns=st.sampled_from(edges_ns) | st.none(), what=st.just("lost"))
some_recorded = st.builds(
    RecordState,
    gaps=st.just(()) | st.lists(some_gaps, max_size=2).map(tuple),
    damage=st.just(()) | st.just(("broken",)),
)
some_duplicates = st.builds(
    SimilarChange,
    st.just("another change"),
    st.sampled_from(DuplicateVerdict),
    st.sampled_from(Category),
    st.just("because"),
).map(lambda twin: (twin,))
some_texts = st.builds(
    ChangeText,
    st.just("report.md"),
    st.just(UNSEEN) | st.lists(FINDINGS).map(tuple),
)
some_calls = st.builds(
    CallsBeforeEdit, st.just("auth.py"), st.just("s1"), st.sampled_from((0.0, 0.01, 0.02, 0.5)), st.just(("Read",))
).map(lambda before: (before,))
some_tests = st.builds(
    TestedFile,
    path=st.sampled_from(("file.py", "other.py")),
    lines=st.just((Lines(1, 1),)),
    evidence=st.builds(TestEvidence, st.just(TestState.AFTER_EDIT) | st.sampled_from(TestState)),
    assurance=st.just(Assurance.WITNESSED) | st.sampled_from(Assurance),
)
some_statements = st.builds(
    ChangeStatement,
    st.just("the description"),
    st.builds(
        ComparedStatement,
        st.just(TextStatement(StatementKind.TESTS_PASS, "Tests pass", 1)),
        st.just(StatementState.BACKED) | st.sampled_from((StatementState.UNBACKED, StatementState.CONTRADICTED)),
        st.just("it says so"),
    ),
    st.just("it says so"),
    st.just(Assurance.WITNESSED) | st.sampled_from(Assurance),
)
some_changes = st.builds(
    GateEvidence,
    files=st.lists(some_files, min_size=1, max_size=3).map(tuple),
    period=st.just(PERIOD) | st.none(),
    recorded=some_recorded | some_recorded | st.just(UNSEEN) | st.none(),
    trust=st.just((TrustAnswer(ROBOT, Approval(), Assurance.WITNESSED),)) | some_answers | st.just(UNSEEN),
    duplicates=st.none() | st.just(()) | some_duplicates | st.just(UNSEEN),
    texts=st.lists(some_texts, max_size=2).map(tuple),
    calls=st.none() | st.just(()) | some_calls | st.just(UNSEEN),
    tests=st.just(()) | st.lists(some_tests, max_size=2).map(tuple),
    statements=st.just(()) | st.lists(some_statements, max_size=2).map(tuple),
    policy=st.just(()) | st.just(("gate.tier_max from 4 to 6",)),
    guarded=st.just(()) | st.just(("'.github/workflows/ci.yml'",)),
)


def drops(seen: GateEvidence) -> Iterator[GateEvidence]:
    """Yield the same change with one piece of evidence less, for every piece."""
    yield replace(seen, recorded=UNSEEN)
    yield replace(seen, period=None)
    yield replace(seen, trust=UNSEEN)
    yield replace(seen, duplicates=UNSEEN)
    yield replace(seen, calls=UNSEEN)
    for place, text in enumerate(seen.texts):
        yield replace(seen, texts=(*seen.texts[:place], replace(text, findings=UNSEEN), *seen.texts[place + 1 :]))
    if not isinstance(seen.trust, MissingEvidence):
        for place in range(len(seen.trust)):
            yield replace(seen, trust=(*seen.trust[:place], *seen.trust[place + 1 :]))
        for place, answer in enumerate(seen.trust):
            for lower in lower_assurances(answer.assurance):
                less = replace(answer, assurance=lower)
                yield replace(seen, trust=(*seen.trust[:place], less, *seen.trust[place + 1 :]))
    for place, tested in enumerate(seen.tests):
        lost = replace(tested, evidence=TestEvidence(TestState.NONE), assurance=Assurance.SELF_REPORTED)
        yield replace(seen, tests=(*seen.tests[:place], lost, *seen.tests[place + 1 :]))
    for place, said in enumerate(seen.statements):
        compared = replace(said.compared, state=StatementState.UNBACKED)
        lost_run = replace(said, compared=compared, assurance=None)
        yield replace(seen, statements=(*seen.statements[:place], lost_run, *seen.statements[place + 1 :]))
    yield from (replace(seen, recorded=less) for less in less_recorded(seen.recorded))
    for place, file in enumerate(seen.files):
        for found in less_found(file.authorship):
            yield replace(seen, files=(*seen.files[:place], replace(file, authorship=found), *seen.files[place + 1 :]))


def less_recorded(recorded: RecordState | MissingEvidence | None) -> Iterator[RecordState]:
    """Yield the gaps without their times, or with one more gap."""
    if not isinstance(recorded, RecordState):
        return
    yield replace(recorded, gaps=(*recorded.gaps, RecordingGap(None, "one more")))
    yield replace(recorded, damage=(*recorded.damage, "one more"))
    for place, gap in enumerate(recorded.gaps):
        yield replace(recorded, gaps=(*recorded.gaps[:place], replace(gap, at_ns=None), *recorded.gaps[place + 1 :]))


def less_found(found: tuple[AddedRange, ...] | MissingEvidence) -> Iterator[tuple[AddedRange, ...] | MissingEvidence]:
    """Yield one answer less, or a weaker one."""
    if isinstance(found, MissingEvidence):
        return
    yield UNSEEN
    for place, stretch in enumerate(found):
        for less in less_known(stretch):
            yield (*found[:place], less, *found[place + 1 :])


def less_known(stretch: AddedRange) -> Iterator[AddedRange]:
    """Yield the same lines with less evidence."""
    yield replace(nobodys(), lines=stretch.lines)
    if stretch.whose is LineOwner.NONE:
        return
    yield from (replace(stretch, assurance=lower) for lower in lower_assurances(stretch.assurance))
    yield replace(stretch, author=None)
    yield replace(stretch, tier=None)
    yield replace(stretch, grade=None)
    if stretch.whose is LineOwner.AGENT:
        yield replace(stretch, whose=LineOwner.MIXED)  # the edit with the rest of the line was lost
    if stretch.tier is not None and stretch.tier < 6:
        yield replace(stretch, tier=stretch.tier + 1)
    if stretch.grade not in (None, Grade.CLAIMED):
        assert stretch.grade is not None
        yield replace(stretch, grade=list(Grade)[stretch.grade.standing - 1])


def lower_assurances(assurance: Assurance | None) -> Iterator[Assurance]:
    """Yield what is left if a party no longer vouches for a piece of evidence."""
    if assurance is not None:
        yield from (lower for lower in Assurance if lower.rank < assurance.rank)


def told(seen: GateEvidence, told_range: AddedRange) -> Iterator[GateEvidence]:
    """Yield the same change after somebody recorded by themselves who wrote lines of unknown authors."""
    for place, file in enumerate(seen.files):
        if isinstance(file.authorship, MissingEvidence):
            continue
        for at, stretch in enumerate(file.authorship):
            if stretch.whose is LineOwner.NONE:
                found = (*file.authorship[:at], replace(told_range, lines=stretch.lines), *file.authorship[at + 1 :])
                more = replace(file, authorship=found)
                yield replace(seen, files=(*seen.files[:place], more, *seen.files[place + 1 :]))


@given(
    seen=some_changes,
    rules=some_rules,
    told_range=some_stretches,
    least=st.sampled_from((Assurance.ENROLLED, Assurance.WITNESSED)),
)
@example(a_change(nobodys()), GateRules(), persons(), Assurance.ENROLLED)
@example(a_change(nobodys()), GateRules(), agents(), Assurance.WITNESSED)
@settings(max_examples=400)
def test_self_reported_records_never_make_the_verdict_milder(
    seen: GateEvidence, rules: GateRules, told_range: AddedRange, least: Assurance
) -> None:
    rules = replace(rules, assurance_min=least.value)
    before = level(seen, rules)
    for more in told(seen, replace(told_range, assurance=Assurance.SELF_REPORTED)):
        assert level(more, rules).strictness >= before.strictness, more


@given(seen=some_changes, rules=some_rules)
def test_a_stricter_minimum_of_assurance_never_makes_the_verdict_milder(seen: GateEvidence, rules: GateRules) -> None:
    levels = [level(seen, replace(rules, assurance_min=assurance.value)).strictness for assurance in Assurance]
    assert levels == sorted(levels)


some_sound_changes = st.builds(
    lambda written, answered: replace(
        a_change(replace(agents(), assurance=written)), trust=(TrustAnswer(ROBOT, Approval(), answered),)
    ),
    st.sampled_from(Assurance),
    st.sampled_from(Assurance),
)
"""Changes with nothing against them but how far their evidence is vouched for."""


@given(seen=some_changes | some_sound_changes, rules=some_rules)
def test_an_approval_rests_on_nothing_below_the_minimum(seen: GateEvidence, rules: GateRules) -> None:
    rules = replace(rules, levels=GateRules().levels, agent_share_max=1.0)
    if level(seen, rules) is VerdictLevel.APPROVE:
        event(seen.assurance.value)
        assert seen.assurance.meets(Assurance(rules.assurance_min))


@given(seen=some_sound_changes, least=st.sampled_from(Assurance))
def test_a_sound_change_is_approved_if_its_evidence_meets_the_minimum(seen: GateEvidence, least: Assurance) -> None:
    is_approved = level(seen, GateRules(assurance_min=least.value)) is VerdictLevel.APPROVE
    assert is_approved == seen.assurance.meets(least)


@given(seen=some_changes, rules=some_rules)
@settings(max_examples=400)
def test_dropping_any_piece_of_evidence_never_makes_the_verdict_milder(seen: GateEvidence, rules: GateRules) -> None:
    before = level(seen, rules)
    event(before.value)
    for less in drops(seen):
        assert level(less, rules).strictness >= before.strictness, less


@given(seen=some_changes, rules=some_rules)
def test_dropping_everything_is_as_strict_as_can_be(seen: GateEvidence, rules: GateRules) -> None:
    seen = replace(seen, policy=(), guarded=())
    assert level(replace(seen, recorded=UNSEEN), rules) is rules.level(ReasonCode.INTEG_UNSEEN)
    unread = tuple(replace(file, authorship=UNSEEN) for file in seen.files)
    said = level(replace(seen, files=unread, duplicates=UNSEEN), rules)
    others = [code for code in ReasonCode if code.value.startswith(("ATTR-", "TRUST-", "DUPE-"))]
    assert said.strictness >= max(rules.level(code).strictness for code in others)


@given(seen=some_changes, rules=some_rules, code=st.sampled_from(ReasonCode), to=st.sampled_from(LEVELS))
def test_a_stricter_rule_never_makes_the_verdict_milder(
    seen: GateEvidence, rules: GateRules, code: ReasonCode, to: LevelName
) -> None:
    if VerdictLevel(to).strictness < rules.level(code).strictness:
        return
    every = {**rules.levels, code.value: to}
    # Levels that may not be milder than this one change with it.
    for other in ReasonCode:
        if VerdictLevel(every[other.value]).strictness < VerdictLevel(to).strictness:
            every[other.value] = to
    stricter = replace(rules, levels=every)
    assert level(seen, stricter).strictness >= level(seen, rules).strictness


@given(seen=some_changes, rules=some_rules)
def test_stricter_bounds_never_make_the_verdict_milder(seen: GateEvidence, rules: GateRules) -> None:
    before = level(seen, rules).strictness
    stricter = [
        replace(rules, tier_max=max(1, rules.tier_max - 1)),
        replace(rules, grade_min="attested"),
        replace(rules, agent_share_max=max(0.0, rules.agent_share_max - 0.25)),
        replace(rules, gap_hours_before=rules.gap_hours_before + 1, gap_hours_after=rules.gap_hours_after + 1),
    ]
    assert all(level(seen, one).strictness >= before for one in stricter)
