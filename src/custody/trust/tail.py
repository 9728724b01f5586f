"""How surprising few bad outcomes are: the exact test of Clopper and Pearson, also for counts that have faded."""

import math

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
