"""Risk control: from which lower bound on a chance changes may be let through so that few of them are bad.

Every allowed threshold is tested on what was predicted and decided before (learn, then test): it holds when so few bad
changes above it would be a great surprise, were the true share above the target. All thresholds are tested at once, so
each has to be surer. The most generous that holds is in force for a day; while none does, nothing is let through.
Where hardly any change was seen between a threshold and the next one, it is passed over. While the realised share is
close to the target or above it, thresholds have to hold for a smaller target.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass

from custody.trust.levels import LEVEL_HALF_LIFE_DAYS
from custody.trust.rules import TrustRules
from custody.trust.score import MEANINGFUL_SAMPLES_MIN, NS_PER_DAY

# How surprising few bad outcomes are: the exact test of Clopper and Pearson, also for counts that have faded.


_ROUNDS_MAX = 500
_CLOSE = 1e-14
_TINY = 1e-300


def surprise_of(bad: float, good: float, share: float) -> float:
    """How probable so few bad ones would be if the true share of bad ones were ``share``: Clopper and Pearson's test.

    For whole counts it is the lower tail of the binomial: with 0 bad of 10 at a share of 0.1, 0.9 to the power of 10.

    >>> round(surprise_of(0, 10, 0.1), 10) == round(0.9**10, 10), surprise_of(3, 0, 0.5)
    (True, 1.0)
    """
    if good <= 0 or share <= 0:
        return 1.0
    return 0.0 if share >= 1 else 1.0 - _incomplete_beta(bad + 1.0, good, share)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x),
    )
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _fraction(b, a, 1.0 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction itself, by Lentz's method."""
    value, above, below = 1.0, 1.0, 0.0
    for step in range(_ROUNDS_MAX):
        half, odd = divmod(step, 2)
        if step == 0:
            term = 1.0
        elif odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1.0))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1.0) * (a + 2 * half))
        below = 1.0 / _away(1.0 + term * below)
        above = _away(1.0 + term / above)
        change = above * below
        value *= change
        if step and abs(change - 1.0) < _CLOSE:
            break
    return value - 1.0


def _away(value: float) -> float:
    """``value``, but never 0."""
    return value if abs(value) > _TINY else _TINY


THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98)
"""The lower bounds that are tested: closer where most changes are, few because each test has to be surer."""
HEADROOM_SHARE = 0.1
"""How close to the target, as a share of it, the realized share may come before thresholds become stricter."""
CLOSE_SHARE = 0.5
"""The share of the target that thresholds have to hold for while the realized share is that close, or above it."""


@dataclass(frozen=True, slots=True)
class RiskControl:
    """What risk control allows, and how it has kept its word.

    ``threshold`` is None while nothing may be let through. Of ``seen`` decided changes ``passed`` would have been let
    through when they were opened, and ``bad`` of these were bad.
    """

    target: float
    threshold: float | None
    seen: int
    passed: int
    bad: int

    @property
    def realised(self) -> float | None:
        """The share of bad changes among those let through; None while there are none."""
        return self.bad / self.passed if self.passed else None

    @property
    def coverage(self) -> float:
        """The share of all decided changes that would have been let through."""
        return self.passed / self.seen if self.seen else 0.0

    def passes(self, low: float) -> bool:
        """Whether a change with this lower bound may be let through."""
        return self.threshold is not None and low >= self.threshold


class Risk:
    """What lower bounds were worth, by the thresholds between which they lie; counts fade as those of a level do."""

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
        """What is allowed at a moment: by what was learnt before its day began."""
        target, threshold = self._rules.reverted_share_max, self._allowed(at_ns)
        return RiskControl(target, threshold, self._seen, self._passed, self._failed)

    def passes(self, low: float, at_ns: int) -> bool:
        """Whether a change with this lower bound is let through at a moment."""
        threshold = self._allowed(at_ns)
        return threshold is not None and low >= threshold

    def learn(self, low: float, *, good: bool, passed: bool, at_ns: int) -> None:
        """Learn how a change was decided of which ``low`` was said, and whether it would have been let through."""
        self._turn(at_ns)
        (self._good if good else self._bad)[self._place(low)] += 1.0
        self._seen += 1
        self._passed += passed
        self._failed += passed and not good

    def take_back(self, low: float, *, passed: bool, decided_ns: int, at_ns: int) -> None:
        """Learn that a change which was learnt as good at ``decided_ns`` was bad after all."""
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
        """Fade until a moment; at the first decision of a day, what was learnt before it comes into force."""
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
        """The most generous threshold that holds."""
        target, share = self._rules.reverted_share_max, self._share(self._at_ns, at_ns)
        # Bad news travels slower than good news: what was let through may prove worse than the past it was judged by.
        if self._failed > target * (1.0 - HEADROOM_SHARE) * self._passed:
            target *= CLOSE_SHARE
        doubt = (1.0 - self._rules.risk_confidence) / len(THRESHOLDS)
        for place, threshold in enumerate(THRESHOLDS, start=1):
            own = (self._good[place] + self._bad[place]) * share
            good, bad = sum(self._good[place:]) * share, sum(self._bad[place:]) * share
            # What is known of surer changes says nothing about a range in which hardly any change was seen.
            if own >= MEANINGFUL_SAMPLES_MIN and surprise_of(bad, good, target) <= doubt:
                return threshold
        return None

    def _place(self, low: float) -> int:
        return bisect_right(THRESHOLDS, low)

    def _share(self, since_ns: int, at_ns: int) -> float:
        """What is left at a moment of something that counted 1 before."""
        days = max(0, at_ns - since_ns) / NS_PER_DAY
        return float(2.0 ** (-days / LEVEL_HALF_LIFE_DAYS))
