"""Every number of trust; the defaults are those of document 001 and of its page, which decides where it has two."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.core.errors import RulesError
from custody.core.rules import (
    check_keys,
    check_length,
    check_one_of,
    check_order,
    check_pattern,
    check_range,
    check_ranges,
    check_rising,
)

PROFILES = ("cautious", "document")
TIERS = ("untrusted", "low", "medium", "high", "verified")

_VALUES = MappingProxyType({"accepted": 1.0, "modified": 0.5, "rejected": 0.0})
_COMPLEXITIES = MappingProxyType({"trivial": 1.0, "minor": 2.0, "moderate": 3.0, "major": 5.0, "critical": 8.0})
_REVIEW_PATHS = (
    *("custody.toml", "pyproject.toml", ".ai-git/**", "config/thresholds.yaml", "config/classification_rules.yaml"),
    *(".github/**", ".gitlab-ci.yml", ".gitlab/**", ".circleci/**", "azure-pipelines.yml", "**/Jenkinsfile"),
    *("**/CODEOWNERS", "**/.gitattributes", ".gitmodules", ".githooks/**", ".husky/**", ".pre-commit-config.yaml"),
    *("**/.claude/**", "**/.cursor/**", "**/.codex/**", "**/.mcp.json", ".agent-trace/**"),
)

_PRIORS = MappingProxyType({"repository": 20.0, "area": 5.0, "agent": 4.0})
_THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98)
_WEIGHTS = MappingProxyType(
    {"everyone": 1.0, "repository": 0.5, "area": 0.5, "agent": 0.5, "operator": 0.5, "rating": 0.5, "score": 0.0}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRules:
    """How a decision moves a score, how trust fades, what each tier may land, how a chance of acceptance is made."""

    profile: Literal["cautious", "document"] = "cautious"
    """``cautious``: a rise is never larger than ``rise_step_max``; ``document``: rises and falls alike."""

    start_score: float = 0.5
    """The score of an agent without decisions."""
    neutral_score: float = 0.5
    """Where an idle agent's score moves to."""
    decision_values: Mapping[str, float] = field(hash=False, default_factory=lambda: _VALUES)
    """What a decision with this outcome is worth."""
    ema_alpha: float = 0.3
    """The step of a decision whose stakes are 1: how far the score moves towards the decision's value."""
    rise_step_max: float = 0.3
    """In profile ``cautious``: the largest step upwards, whatever the stakes."""
    complexity_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _COMPLEXITIES)
    """What a change of this complexity multiplies the stakes by."""
    complexity_lines_min: tuple[int, ...] = (0, 10, 50, 200, 500)
    """The least lines of a trivial, minor, moderate, major and critical change; whoever records it may say more."""
    size_lines: int = 50
    """The size of a change that multiplies the stakes by 1; others by ln(1 + lines) / ln(1 + this)."""
    size_factor_min: float = 0.5
    """The least that size multiplies the stakes by."""
    size_factor_max: float = 2.0
    """The most that size multiplies the stakes by."""
    review_bonus_max: float = 0.1
    """What an instant review would add to the factor of 1; a longer one adds less."""
    review_half_life_ms: int = 60_000
    """A review that took this long adds half of the bonus."""
    review_lines_per_minute_max: float = 600.0
    """A faster review is a rubber stamp: it adds nothing and is flagged."""
    decay_half_life_days: float = 30.0
    """How long an idle agent takes to lose half of its distance from neutral."""
    recovery_rate: float = 0.05
    """The most that one recovery adds to a score."""
    recovery_days_min: float = 7.0
    """How long after a recovery the next one may follow."""
    meaningful_samples_min: int = 10
    """From so many decisions on, a confidence means something."""
    confident_samples_min: int = 100
    """From so many decisions on, confidence is 1."""

    tier_score_min: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8)
    """The least score of untrusted, low, medium, high and verified; equal bounds leave a tier empty."""
    tier_lines_max: tuple[int, ...] = (0, 10, 50, 200, 500)
    """The most lines that each tier may land without review; untrusted may land nothing, not even 0 lines."""
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
    """Areas of the repository, each as ``name: pattern``; the first that fits counts, else the top-level folder."""
    approve_clock_minutes_max: float = 5.0
    """How far the clock may lag behind the newest record; one that lags more was set back, and approves nothing."""
    inherit_share: float = 0.5
    """What a decision about an agent's other models is worth to the one it runs now, as a rise and as a sample."""
    audit_share: float = 0.05
    """The share of what would pass that is drawn for a person to look at."""
    settle_days_min: float = 14.0
    """How long an approval without review must stand unreverted before it counts, unless it was audited."""

    prior_samples: Mapping[str, float] = field(hash=False, default_factory=lambda: _PRIORS)
    """How many decisions the level above is worth to this one."""
    everyone_prior_samples: float = 2.0
    """How many decisions, half of them good, everyone's rate begins with."""
    level_half_life_days: float = 90.0
    """How fast what was learnt about everyone, a repository or an area fades."""
    agent_half_life_days: float = 30.0
    """How fast what was learnt about an agent fades."""
    chance_min: float = 0.01
    """No chance of acceptance is said to be lower."""
    chance_max: float = 0.99
    """No chance of acceptance is said to be higher."""
    chance_decisions_min: int = 500
    """With fewer decisions about everybody the chance is told, and does not decide whether a change may land."""
    chance_deviations: float = 1.645
    """How far below a chance its lower bound is, in standard deviations; 1.645 holds in 95 of 100 cases."""
    rating_variance: float = 0.25
    """How unsure a new rating is, as a variance of log-odds; none becomes less sure than that."""
    rating_growth_per_day: float = 0.03
    """How much less sure a rating becomes in a day without decisions."""
    start_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _WEIGHTS)
    """How much each input of a chance counts before anything is learnt: the mean of levels and ratings."""
    weight_variance: float = 0.05
    """How unsure these weights are at first; the larger, the faster other ones are learnt."""
    weight_max: float = 1.5
    """No input counts more than this; 1 takes what a level or a rating says as it is."""
    risk_thresholds: tuple[float, ...] = _THRESHOLDS
    """The lower bounds from which on changes may be let through; risk control chooses one of them, or none."""
    risk_confidence: float = 0.95
    """How sure risk control has to be that the share of bad changes stays within the target."""
    risk_headroom_share: float = 0.1
    """How close to the target, as a share of it, the realised share may come before risk control becomes stricter."""
    risk_close_share: float = 0.5
    """The share of the target that thresholds have to hold for while the realised share is that close, or above it."""
    reverted_share_max: float = 0.01
    """The risk target: the share of approvals without review that may be reverted later."""
    simulate_history_days: float = 365.0
    """How long before its first day a simulation begins to learn from plain git history."""
    fix_days_max: float = 7.0
    """A commit that mends another within so many days is a quick fix: the other one counts as modified."""
    revert_share_min: float = 0.8
    """The share of what was left of a commit that has to be undone for it to count as taken back."""
    revert_left_min: float = 0.5
    """The share of a commit that has to be left for that; what was mostly rewritten before is not taken back whole."""
    revert_lines_min: int = 5
    """A commit that undoes another without a word has to undo so many lines: fewer are the same by chance."""
    revert_window_commits: int = 1000
    """How many commits back such a one is looked for."""
    revert_window_days: float = 30.0
    """How old what is undone without a word may be: what served its time and is removed was not taken back."""

    def __post_init__(self) -> None:
        check_one_of("trust.profile", self.profile, PROFILES)
        for name in ("decision_values", "complexity_weights", "prior_samples", "start_weights"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        self._check_score()
        self._check_fading()
        self._check_tiers()
        self._check_approval()
        self._check_chance()

    def _check_score(self) -> None:
        check_keys("trust.decision_values", self.decision_values, _VALUES)
        check_ranges("trust.decision_values", self.decision_values, least=0, most=1)
        check_order(*((f"trust.decision_values.{name}", self.decision_values[name]) for name in reversed(_VALUES)))
        check_keys("trust.complexity_weights", self.complexity_weights, _COMPLEXITIES)
        check_ranges("trust.complexity_weights", self.complexity_weights, above=0)
        check_order(*((f"trust.complexity_weights.{name}", self.complexity_weights[name]) for name in _COMPLEXITIES))
        check_length("trust.complexity_lines_min", self.complexity_lines_min, tuple(_COMPLEXITIES))
        for lines in self.complexity_lines_min:
            check_range("trust.complexity_lines_min", lines, least=0)
        if self.complexity_lines_min[0] != 0:
            problem = f"starts at {self.complexity_lines_min[0]}, so a change of 0 lines has no complexity"
            raise RulesError("trust.complexity_lines_min", problem)
        check_rising("trust.complexity_lines_min", self.complexity_lines_min)
        check_ranges("trust", {"start_score": self.start_score, "neutral_score": self.neutral_score}, least=0, most=1)
        check_ranges("trust", {"ema_alpha": self.ema_alpha, "rise_step_max": self.rise_step_max}, above=0, most=1)
        check_ranges("trust", {"size_lines": self.size_lines, "review_half_life_ms": self.review_half_life_ms}, least=1)
        factors = {"size_factor_min": self.size_factor_min, "size_factor_max": self.size_factor_max}
        check_ranges("trust", factors | {"review_lines_per_minute_max": self.review_lines_per_minute_max}, above=0)
        check_order(*((f"trust.{name}", value) for name, value in factors.items()))
        check_range("trust.review_bonus_max", self.review_bonus_max, least=0)

    def _check_fading(self) -> None:
        half_lives = {
            "decay_half_life_days": self.decay_half_life_days,
            "level_half_life_days": self.level_half_life_days,
            "agent_half_life_days": self.agent_half_life_days,
            "simulate_history_days": self.simulate_history_days,
            "fix_days_max": self.fix_days_max,
        }
        check_ranges("trust", half_lives, above=0)
        check_range("trust.recovery_rate", self.recovery_rate, above=0, most=1)
        check_range("trust.recovery_days_min", self.recovery_days_min, least=0)
        meaningful = ("trust.meaningful_samples_min", self.meaningful_samples_min)
        confident = ("trust.confident_samples_min", self.confident_samples_min)
        for rule, samples in (meaningful, confident):
            check_range(rule, samples, least=1)
        check_order(meaningful, confident)

    def _check_tiers(self) -> None:
        check_length("trust.tier_score_min", self.tier_score_min, TIERS)
        for score in self.tier_score_min:
            check_range("trust.tier_score_min", score, least=0, most=1)
        if self.tier_score_min[0] != 0:
            raise RulesError("trust.tier_score_min", f"starts at {self.tier_score_min[0]}, so a score of 0 has no tier")
        check_rising("trust.tier_score_min", self.tier_score_min)
        check_length("trust.tier_lines_max", self.tier_lines_max, TIERS)
        for lines in self.tier_lines_max:
            check_range("trust.tier_lines_max", lines, least=0)
        check_rising("trust.tier_lines_max", self.tier_lines_max)

    def _check_approval(self) -> None:
        check_range("trust.approve_lines_max", self.approve_lines_max, least=0)
        check_order(
            ("trust.tier_lines_max", self.tier_lines_max[-1]), ("trust.approve_lines_max", self.approve_lines_max)
        )
        waits = {"approve_samples_min": self.approve_samples_min, "settle_days_min": self.settle_days_min}
        check_ranges("trust", waits | {"budget_tier_limits_max": self.budget_tier_limits_max}, least=0)
        check_range("trust.budget_hours", self.budget_hours, above=0)
        check_range("trust.approve_clock_minutes_max", self.approve_clock_minutes_max, least=0)
        check_range("trust.inherit_share", self.inherit_share, least=0, most=1)
        check_range("trust.chance_decisions_min", self.chance_decisions_min, least=0)
        for pattern in self.review_paths:
            check_pattern("trust.review_paths", pattern)
        for area in self.areas:
            name, found, pattern = area.partition(": ")
            if not found or not name.strip():
                raise RulesError("trust.areas", f"has '{area[:80]}', not a name, a colon, a space and a pattern")
            check_pattern("trust.areas", pattern)
        check_range("trust.audit_share", self.audit_share, least=0, most=1)
        shares = {"revert_share_min": self.revert_share_min, "revert_left_min": self.revert_left_min}
        check_ranges("trust", shares, above=0, most=1)
        check_range("trust.revert_lines_min", self.revert_lines_min, least=1)
        window = {"revert_window_commits": self.revert_window_commits, "revert_window_days": self.revert_window_days}
        check_ranges("trust", window, least=0)

    def _check_chance(self) -> None:
        check_keys("trust.prior_samples", self.prior_samples, _PRIORS)
        check_ranges("trust.prior_samples", self.prior_samples, above=0)
        bounds = {"chance_min": self.chance_min, "chance_max": self.chance_max}
        # Log loss is infinite at 0 and at 1.
        for name, chance in bounds.items():
            check_range(f"trust.{name}", chance, above=0)
            if chance >= 1:
                raise RulesError(f"trust.{name}", f"is {chance}, not below 1")
        check_order(*((f"trust.{name}", value) for name, value in bounds.items()))
        shares = {"reverted_share_max": self.reverted_share_max, "risk_headroom_share": self.risk_headroom_share}
        check_ranges("trust", shares | {"risk_close_share": self.risk_close_share}, least=0, most=1)
        self._check_learning()

    def _check_learning(self) -> None:
        check_keys("trust.start_weights", self.start_weights, _WEIGHTS)
        check_range("trust.weight_max", self.weight_max, above=0)
        check_ranges("trust.start_weights", self.start_weights, least=0, most=self.weight_max)
        unsure = {"rating_growth_per_day": self.rating_growth_per_day, "chance_deviations": self.chance_deviations}
        check_ranges("trust", unsure, least=0)
        above = {"everyone_prior_samples": self.everyone_prior_samples, "rating_variance": self.rating_variance}
        check_ranges("trust", above | {"weight_variance": self.weight_variance}, above=0)
        if not self.risk_thresholds:
            raise RulesError("trust.risk_thresholds", "is empty, so risk control has nothing to choose from")
        for bound in self.risk_thresholds:
            check_range("trust.risk_thresholds", bound, least=0, most=1)
        check_rising("trust.risk_thresholds", self.risk_thresholds)
        check_range("trust.risk_confidence", self.risk_confidence, above=0)
        if self.risk_confidence >= 1:
            raise RulesError("trust.risk_confidence", f"is {self.risk_confidence}, not below 1")
