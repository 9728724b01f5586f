"""Risk control: the least lower bound of the acceptance probability at which changes pass and few of them are bad.

Every threshold is tested on past predictions and decisions (learn, then test). It holds if so few bad changes above it
would be very unlikely with a true share above the target. All thresholds are tested at once, with a correction for
multiple tests. The lowest threshold that holds is in force for a day; while none holds, nothing passes. A threshold
with hardly any change up to the next one is skipped. While the realized share is close to or above the target,
thresholds must hold for a smaller target.
"""

import math
from bisect import bisect_right

from msgspec import Struct

from custody.trust.levels import LEVEL_HALF_LIFE_DAYS
from custody.trust.rules import TrustRules
from custody.trust.score import MEANINGFUL_SAMPLES_MIN, NS_PER_DAY

# The exact test of Clopper and Pearson, also for decayed counts.


_ROUNDS_MAX = 500
_CLOSE = 1e-14
_TINY = 1e-300


def compute_risk_p_value(bad: float, good: float, share: float) -> float:
    """Return the probability of at most ``bad`` bad outcomes if their true share were ``share`` (Clopper and Pearson).

    For whole counts it is the lower tail of the binomial: with 0 bad of 10 at a share of 0.1, 0.9 to the power of 10.

    >>> round(compute_risk_p_value(0, 10, 0.1), 10) == round(0.9**10, 10), compute_risk_p_value(3, 0, 0.5)
    (True, 1.0)
    """
    if good <= 0 or share <= 0:
        return 1.0
    return 0.0 if share >= 1 else 1.0 - _incomplete_beta(bad + 1.0, good, share)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x),
    )
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _evaluate_beta_fraction(b, a, 1.0 - x) / b
    return front * _evaluate_beta_fraction(a, b, x) / a


def _evaluate_beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction by Lentz's method."""
    value, above, below = 1.0, 1.0, 0.0
    for step in range(_ROUNDS_MAX):
        half, odd = divmod(step, 2)
        if step == 0:
            term = 1.0
        elif odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1.0))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1.0) * (a + 2 * half))
        below = 1.0 / _clamp_away_from_zero(1.0 + term * below)
        above = _clamp_away_from_zero(1.0 + term / above)
        change = above * below
        value *= change
        if step and abs(change - 1.0) < _CLOSE:
            break
    return value - 1.0


def _clamp_away_from_zero(value: float) -> float:
    """Return ``value``, but never 0."""
    return value if abs(value) > _TINY else _TINY


THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98)
"""The lower bounds that are tested: denser where most changes are, few because each test weakens the others."""
HEADROOM_SHARE = 0.1
"""How close to the target, as a share of it, the realized share may come before thresholds become stricter."""
CLOSE_SHARE = 0.5
"""The share of the target that thresholds must hold for while the realized share is that close or above."""


class RiskControl(Struct, frozen=True):
    """What risk control allows, and its results so far.

    ``threshold`` is None while nothing passes. Of ``seen`` decided changes ``passed`` would have passed when they were
    opened, and ``bad`` of these were bad.
    """

    target: float
    threshold: float | None
    seen: int
    passed: int
    bad: int

    @property
    def realised(self) -> float | None:
        """Return the share of bad changes among those that passed; None while there are none."""
        return self.bad / self.passed if self.passed else None

    @property
    def coverage(self) -> float:
        """Return the share of all decided changes that would have passed."""
        return self.passed / self.seen if self.seen else 0.0

    def passes(self, low: float) -> bool:
        """Return whether a change with this lower bound passes."""
        return self.threshold is not None and low >= self.threshold


class Risk:
    """Good and bad outcomes by the threshold range of their lower bound; counts decay as those of a level do."""

    def __init__(self, rules: TrustRules) -> None:
        self._rules = rules
        self._good = [0.0 for _ in (*THRESHOLDS, None)]
        self._bad = [0.0 for _ in (*THRESHOLDS, None)]
        self._at_ns = 0
        self._seen = self._passed = self._failed = 0
        self._day: int | None = None
        self._in_force: float | None = None
        self._next: tuple[int, float | None] | None = None

    def control(self, at_ns: int) -> RiskControl:
        """Return what is allowed at a time, by what was learned before its day began."""
        target, threshold = self._rules.reverted_share_max, self._allowed(at_ns)
        return RiskControl(target, threshold, self._seen, self._passed, self._failed)

    def passes(self, low: float, at_ns: int) -> bool:
        """Return whether a change with this lower bound passes at a time."""
        threshold = self._allowed(at_ns)
        return threshold is not None and low >= threshold

    def learn(self, low: float, *, good: bool, passed: bool, at_ns: int) -> None:
        """Learn the outcome of a change with the lower bound ``low``, and whether it would have passed."""
        self._turn(at_ns)
        (self._good if good else self._bad)[self._place(low)] += 1.0
        self._seen += 1
        self._passed += passed
        self._failed += passed and not good

    def learn_revert(self, low: float, *, passed: bool, decided_ns: int, at_ns: int) -> None:
        """Learn that a change, learned as good at ``decided_ns``, was bad after all."""
        self._turn(at_ns)
        place = self._place(low)
        self._good[place] = max(0.0, self._good[place] - self._share(decided_ns, self._at_ns))
        self._bad[place] += 1.0
        self._failed += passed

    def _allowed(self, at_ns: int) -> float | None:
        day = at_ns // NS_PER_DAY
        if self._day is not None and day <= self._day:
            return self._in_force
        if self._next is None or self._next[0] != day:
            self._next = (day, self._tested(at_ns))
        return self._next[1]

    def _turn(self, at_ns: int) -> None:
        """Decay the counts until a time; at the first decision of a day, put what was learned before into force."""
        day = at_ns // NS_PER_DAY
        if self._day is None or day > self._day:
            self._in_force, self._day = self._tested(at_ns), day
        self._next = None
        if at_ns > self._at_ns:
            share = self._share(self._at_ns, at_ns)
            self._good = [count * share for count in self._good]
            self._bad = [count * share for count in self._bad]
            self._at_ns = at_ns

    def _tested(self, at_ns: int) -> float | None:
        """Return the lowest threshold that holds."""
        target, share = self._rules.reverted_share_max, self._share(self._at_ns, at_ns)
        # Reverts come later than merges, so recent changes may prove worse than the counts show.
        if self._failed > target * (1.0 - HEADROOM_SHARE) * self._passed:
            target *= CLOSE_SHARE
        doubt = (1.0 - self._rules.risk_confidence) / len(THRESHOLDS)
        for place, threshold in enumerate(THRESHOLDS, start=1):
            own = (self._good[place] + self._bad[place]) * share
            good, bad = sum(self._good[place:]) * share, sum(self._bad[place:]) * share
            # Higher ranges say nothing about a range with hardly any changes.
            if own >= MEANINGFUL_SAMPLES_MIN and compute_risk_p_value(bad, good, target) <= doubt:
                return threshold
        return None

    def _place(self, low: float) -> int:
        return bisect_right(THRESHOLDS, low)

    def _share(self, since_ns: int, at_ns: int) -> float:
        """Return the decayed weight at a time of something that counted 1 before."""
        days = max(0, at_ns - since_ns) / NS_PER_DAY
        return float(2.0 ** (-days / LEVEL_HALF_LIFE_DAYS))
