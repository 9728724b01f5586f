"""The numbers of trust that a user can set; the defaults are those of document 001 and of its page."""

from typing import Literal

from msgspec import Struct

from custody.core.errors import RulesError
from custody.core.rules import (
    check_rule_choice,
    check_rule_length,
    check_rule_order,
    check_rule_path_pattern,
    check_rule_range,
    check_rule_ranges,
    check_rule_rising,
)

PROFILES = ("cautious", "document")
TIERS = ("untrusted", "low", "medium", "high", "verified")

_REVIEW_PATHS = (
    *("custody.toml", "pyproject.toml", ".ai-git/**", "config/thresholds.yaml", "config/classification_rules.yaml"),
    *(".github/**", ".gitlab-ci.yml", ".gitlab/**", ".circleci/**", "azure-pipelines.yml", "**/Jenkinsfile"),
    *("**/CODEOWNERS", "**/.gitattributes", ".gitmodules", ".githooks/**", ".husky/**", ".pre-commit-config.yaml"),
    *("**/.claude/**", "**/.cursor/**", "**/.codex/**", "**/.mcp.json", ".agent-trace/**"),
)


class TrustRules(Struct, frozen=True, kw_only=True):
    """How decisions move a score, how trust decays, and what each tier may merge without review."""

    profile: Literal["cautious", "document"] = "cautious"
    """``cautious``: a rise is never larger than ``rise_step_max``; ``document``: rises and falls alike."""

    start_score: float = 0.5
    """The score of an agent without decisions."""
    ema_alpha: float = 0.3
    """The step of a decision whose stakes are 1: how far the score moves towards the decision's value."""
    rise_step_max: float = 0.3
    """In profile ``cautious``: the largest step upwards, whatever the stakes."""
    review_lines_per_minute_max: float = 600.0
    """A faster review is a rubber stamp: it adds nothing and is flagged."""
    decay_half_life_days: float = 30.0
    """How long an idle agent takes to lose half of its distance from neutral."""
    recovery_rate: float = 0.05
    """The most that one recovery adds to a score."""
    recovery_days_min: float = 7.0
    """How long after a recovery the next one may follow."""

    tier_score_min: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8)
    """The least score of untrusted, low, medium, high and verified; equal bounds leave a tier empty."""
    tier_lines_max: tuple[int, ...] = (0, 10, 50, 200, 500)
    """The most lines that each tier may merge without review; untrusted may merge nothing, not even 0 lines."""
    approve_lines_max: int = 500
    """No change with more lines is approved without review, whatever the tier."""
    approve_samples_min: int = 10
    """An agent with fewer decisions always needs review."""
    budget_hours: float = 24.0
    """The rolling window of the budget of an agent, an operator and an area."""
    budget_tier_limits_max: float = 1.0
    """The budget in that window, as a multiple of the tier's line limit."""
    review_paths: tuple[str, ...] = _REVIEW_PATHS
    """Patterns of paths that never change without review: rules, builds, owners, hooks and agents' settings."""
    areas: tuple[str, ...] = ()
    """Areas of the repository, each as ``name: pattern``; the first match counts, else the top-level folder."""
    audit_share: float = 0.05
    """The share of passing changes that is selected for an audit by a person."""
    settle_days_min: float = 14.0
    """How long an approval without review must stay unreverted before it counts, unless it was audited."""

    chance_decisions_min: int = 500
    """With fewer decisions in total the acceptance probability is shown, but does not decide about merges."""
    risk_confidence: float = 0.95
    """How sure risk control has to be that the share of bad changes stays within the target."""
    reverted_share_max: float = 0.01
    """The risk target: the share of approvals without review that may be reverted later."""
    fix_days_max: float = 7.0
    """A commit that fixes another within this many days is a quick fix: the fixed commit counts as modified."""
    revert_window_days: float = 30.0
    """The longest time until a revert that no message mentions: removing older code is not a revert."""

    def __post_init__(self) -> None:
        check_rule_choice("trust.profile", self.profile, PROFILES)
        self._check_ranges()
        self._check_tiers()
        self._check_patterns()

    def _check_ranges(self) -> None:
        shares = ("start_score", "audit_share", "reverted_share_max")
        check_rule_ranges("trust", self._values(*shares), least=0, most=1)
        steps = ("ema_alpha", "rise_step_max", "recovery_rate")
        check_rule_ranges("trust", self._values(*steps), above=0, most=1)
        positive = ("review_lines_per_minute_max", "decay_half_life_days", "budget_hours", "fix_days_max")
        check_rule_ranges("trust", self._values(*positive), above=0)
        limits = ("approve_lines_max", "approve_samples_min", "budget_tier_limits_max", "chance_decisions_min")
        waits = ("recovery_days_min", "settle_days_min", "revert_window_days")
        check_rule_ranges("trust", self._values(*limits, *waits), least=0)
        check_rule_range("trust.risk_confidence", self.risk_confidence, above=0)
        if self.risk_confidence >= 1:
            raise RulesError("trust.risk_confidence", f"is {self.risk_confidence}, not below 1")

    def _check_tiers(self) -> None:
        check_rule_length("trust.tier_score_min", self.tier_score_min, TIERS)
        for score in self.tier_score_min:
            check_rule_range("trust.tier_score_min", score, least=0, most=1)
        if self.tier_score_min[0] != 0:
            raise RulesError("trust.tier_score_min", f"starts at {self.tier_score_min[0]}, so a score of 0 has no tier")
        check_rule_rising("trust.tier_score_min", self.tier_score_min)
        check_rule_length("trust.tier_lines_max", self.tier_lines_max, TIERS)
        for lines in self.tier_lines_max:
            check_rule_range("trust.tier_lines_max", lines, least=0)
        check_rule_rising("trust.tier_lines_max", self.tier_lines_max)
        check_rule_order(
            ("trust.tier_lines_max", self.tier_lines_max[-1]), ("trust.approve_lines_max", self.approve_lines_max)
        )

    def _check_patterns(self) -> None:
        for pattern in self.review_paths:
            check_rule_path_pattern("trust.review_paths", pattern)
        for area in self.areas:
            name, found, pattern = area.partition(": ")
            if not found or not name.strip():
                raise RulesError("trust.areas", f"has '{area[:80]}', not a name, a colon, a space and a pattern")
            check_rule_path_pattern("trust.areas", pattern)

    def _values(self, *names: str) -> dict[str, float]:
        return {name: getattr(self, name) for name in names}
