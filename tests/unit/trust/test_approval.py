"""Every reason against a merge without review, by its own code and alone."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import RulesError
from custody.trust.approval import (
    ApprovalCase,
    BudgetUse,
    ProposedChange,
    TouchedPath,
    budget_since_ns,
    compute_budget_left,
    decide_approval,
    find_trust_area,
    is_drawn_for_audit,
    refuse_unknown_author,
)
from custody.trust.engine import compute_trust
from custody.trust.model import ChangeAuthor, TrustTier
from custody.trust.rules import TrustRules
from tests.builders.table import table
from tests.unit.trust.builders import CAUTIOUS, DAY, NOON, a_standing, a_trust

MINUTE = 60 * 1_000_000_000
RULES = TrustRules(audit_share=0.0)
CHANGE = ProposedChange(head="a" * 40, lines=30, touched=(TouchedPath("src/app.py"),), areas=("src",), newest_ns=NOON)
KEY = b"the key of a service"
CASE = ApprovalCase(
    change=CHANGE,
    author=ChangeAuthor("robot", "m-1", "ana"),
    trust=a_trust(TrustTier.MEDIUM),
    now_ns=NOON,
    approver="ci",
)


def codes(case: ApprovalCase, rules: TrustRules = RULES) -> list[str]:
    return list(decide_approval(case, rules).codes)


def with_change(**fields: Any) -> ApprovalCase:
    return replace(CASE, change=replace(CHANGE, **fields))


def test_a_small_change_of_a_proven_agent_merges() -> None:
    assert decide_approval(CASE, RULES)


# Conformance: 001-059
@table(
    ("case", "code"),
    [
        (with_change(unknown_lines=1), "TRUST-UNKNOWN"),
        (replace(CASE, trust=a_trust(TrustTier.MEDIUM, samples=9)), "TRUST-SAMPLES"),
        (with_change(lines=51), "TRUST-SIZE"),
        (replace(CASE, spent=BudgetUse(agent=21)), "TRUST-BUDGET"),
        (replace(CASE, spent=BudgetUse(operator=21)), "TRUST-BUDGET"),
        (replace(CASE, spent=BudgetUse(areas={"src": 21})), "TRUST-BUDGET"),
        (with_change(touched=(TouchedPath("src/app.py"), TouchedPath(".github/workflows/ci.yml"))), "TRUST-PATH"),
        (with_change(touched=(TouchedPath("logo.png", "is a binary file"),)), "TRUST-KIND"),
        (replace(CASE, approver="robot"), "TRUST-SELF"),
        (replace(CASE, approver=" ANA"), "TRUST-SELF"),
        (replace(with_change(people=frozenset(["Ci Bot", "ci@example.invalid"])), approver="ci bot"), "TRUST-SELF"),
        (replace(CASE, rejected_by="ben"), "TRUST-REJECTED"),
        (replace(CASE, damage="record 2 is missing"), "TRUST-LOG"),
        (with_change(newest_ns=NOON + 5 * MINUTE + 1), "TRUST-CLOCK"),
        (replace(CASE, risk_objection="too risky"), "TRUST-CHANCE"),
    ],
)
def test_each_never_is_one_alone(case: ApprovalCase, code: str) -> None:
    assert codes(case) == [code]


def test_untrusted_may_merge_nothing() -> None:
    untrusted = replace(with_change(lines=0), trust=a_trust(TrustTier.UNTRUSTED))
    assert codes(untrusted) == ["TRUST-UNTRUSTED"]


def test_idling_does_not_raise_a_score() -> None:
    waited = compute_trust(a_standing(0.1), NOON + 60 * DAY, RULES)
    assert codes(replace(CASE, trust=waited, now_ns=NOON + 60 * DAY)) == ["TRUST-IDLE"]


@pytest.mark.parametrize(
    "case",
    [
        replace(CASE, spent=BudgetUse(agent=20, operator=20, areas={"src": 20, "docs": 500})),
        with_change(newest_ns=NOON + 5 * MINUTE),
        with_change(lines=50),
        replace(CASE, approver=None),
    ],
)
def test_the_bounds_themselves_are_allowed(case: ApprovalCase) -> None:
    assert decide_approval(case, RULES)


def test_a_budget_may_be_less_than_the_tiers_limit() -> None:
    rules = replace(RULES, budget_tier_limits_max=0.5)
    assert codes(CASE, rules) == ["TRUST-BUDGET"] * 3
    assert decide_approval(with_change(lines=25), rules)


def test_what_is_left_is_what_the_tightest_budget_leaves() -> None:
    assert compute_budget_left(CASE, RULES) == 50
    assert compute_budget_left(replace(CASE, spent=BudgetUse(10, 20, {"src": 45, "docs": 50})), RULES) == 5
    assert compute_budget_left(replace(CASE, spent=BudgetUse(60)), RULES) == 0
    assert budget_since_ns(NOON, RULES) == NOON - DAY


def test_several_reasons_are_all_told() -> None:
    case = replace(with_change(lines=600, unknown_lines=2), approver="robot")
    assert codes(case) == ["TRUST-UNKNOWN", "TRUST-SIZE", "TRUST-SELF"]
    assert len(decide_approval(case, RULES).reasons) == 3


def test_a_change_of_an_unknown_author_is_never_approved() -> None:
    assert refuse_unknown_author(CHANGE, persons=0).codes == ("TRUST-UNKNOWN",)
    assert refuse_unknown_author(CHANGE, persons=2).reasons == (
        "no agent wrote the change: 2 added lines are by people",
    )
    mostly = replace(CHANGE, unknown_lines=1)
    assert refuse_unknown_author(mostly, persons=2).reasons == ("cannot tell which agent wrote the change",)


class TestAudit:
    def test_only_what_would_pass_is_drawn(self) -> None:
        assert codes(replace(CASE, is_drawn=True)) == ["TRUST-AUDIT"]
        assert codes(replace(with_change(lines=51), is_drawn=True)) == ["TRUST-SIZE"]

    def test_the_patch_and_the_key_decide(self) -> None:
        patches = [f"{n:064x}" for n in range(400)]
        by_key = [{patch for patch in patches if is_drawn_for_audit(patch, key, CAUTIOUS)} for key in (KEY, b"other")]
        assert by_key[0] == {patch for patch in patches if is_drawn_for_audit(patch, KEY, CAUTIOUS)}
        assert by_key[0] != by_key[1], "without the key it cannot be predicted"
        public = {patch for patch in patches if int(sha256(patch.encode()).hexdigest()[:16], 16) / 2**64 < 0.05}
        assert public not in by_key

    # Conformance: 001-060
    def test_about_one_in_twenty_is_drawn(self) -> None:
        drawn = sum(is_drawn_for_audit(f"{n:064x}", KEY, CAUTIOUS) for n in range(20_000))
        assert 900 <= drawn <= 1100

    @given(st.text("0123456789abcdef", min_size=64, max_size=64), st.binary(), st.floats(0, 1), st.floats(0, 1))
    def test_a_larger_share_draws_whatever_a_smaller_one_does(
        self, patch: str, key: bytes, one: float, other: float
    ) -> None:
        low, high = sorted((one, other))
        if is_drawn_for_audit(patch, key, TrustRules(audit_share=low)):
            assert is_drawn_for_audit(patch, key, TrustRules(audit_share=high))


class TestPaths:
    @table(
        "path",
        [
            *("custody.toml", "pyproject.toml", ".ai-git/config.yaml", "config/thresholds.yaml"),
            *(".github/workflows/ci.yml", ".GITHUB/CODEOWNERS", "docs/CODEOWNERS", "sub/.gitattributes"),
            *(".gitmodules", ".claude/settings.json", "web/.claude/settings.local.json", ".agent-trace/traces.jsonl"),
        ],
    )
    def test_rules_builds_owners_and_hooks_always_need_a_review(self, path: str) -> None:
        assert codes(with_change(touched=(TouchedPath(path),))) == ["TRUST-PATH"]

    def test_the_policy_names_its_own(self) -> None:
        rules = replace(RULES, review_paths=("src/**/secret?.py",))
        assert codes(with_change(touched=(TouchedPath("src/a/b/secrets.py"),)), rules) == ["TRUST-PATH"]
        assert decide_approval(with_change(touched=(TouchedPath("custody.toml"),)), rules)

    def test_areas_are_folders_unless_the_policy_groups_them(self) -> None:
        rules = TrustRules(areas=("billing: src/pay/**", "all: **/*.py"))
        paths = ("src/pay/card.py", "src/a.py", "src/a.js", "a.js")
        assert [find_trust_area(path, rules) for path in paths] == ["billing", "all", "src", "."]

    @pytest.mark.parametrize(
        "rules", [{"areas": ("billing",)}, {"areas": (": x",)}, {"areas": ("a: ",)}, {"review_paths": ("",)}]
    )
    def test_a_pattern_that_says_nothing_is_refused(self, rules: dict[str, Any]) -> None:
        with pytest.raises(RulesError, match=r"trust\.(areas|review_paths)"):
            TrustRules(**rules)


@given(st.integers(0, 600), st.integers(0, 600), st.integers(0, 600), st.integers(0, 30), st.sampled_from(TrustTier))
def test_more_spent_or_a_larger_change_never_helps(
    lines: int, spent: int, more: int, samples: int, tier: TrustTier
) -> None:
    trust = a_trust(tier, samples=samples)
    case = replace(with_change(lines=lines), trust=trust, spent=BudgetUse(spent, spent, {"src": spent}))
    worse = [
        replace(case, spent=BudgetUse(spent + more, spent, {"src": spent})),
        replace(case, spent=BudgetUse(spent, spent, {"src": spent + more})),
        replace(case, change=replace(case.change, lines=lines + more)),
    ]
    assert decide_approval(case, RULES) or not any(decide_approval(one, RULES) for one in worse)
