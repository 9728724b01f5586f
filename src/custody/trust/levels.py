"""The rate of good changes by level: everyone, repository, area, agent, operator, each with the level above as prior.

A level is a Beta distribution with counts that decay by half-lives. Without data, it has the rate of the level above.
"""

from collections.abc import Iterator
from types import MappingProxyType

from msgspec import Struct

from custody.trust.score import NS_PER_DAY

LEVELS = ("everyone", "repository", "area", "agent", "operator")
"""From the widest to the narrowest; a change may lack an area or operator."""

NO_RATE = 0.5
"""The rate of everyone before any decision."""
EVERYONE_PRIOR_SAMPLES = 2.0
"""The number of decisions, half of them good, that the rate of everyone starts with: the uniform prior."""
PRIOR_SAMPLES = MappingProxyType({"repository": 20.0, "area": 5.0, "agent": 4.0})
"""The weight of the level above in decisions, from document 001's page."""
LEVEL_HALF_LIFE_DAYS = 90.0
"""The half-life of counts of everyone, a repository and an area, from document 001's page."""
AGENT_HALF_LIFE_DAYS = 30.0
"""The half-life of an agent's counts: that of its score."""

LevelKey = tuple[str, ...]


class LevelCase(Struct, frozen=True):
    """A proposed change: its agent, repository, areas, operator, size and time.

    Missing areas, operator and lines are unknown.
    """

    agent: str
    repository: str
    areas: tuple[str, ...] = ()
    operator: str | None = None
    lines: int | None = None
    opened_ns: int = 0


class LevelRate(Struct, frozen=True):
    """The rate of good changes at one level, and its own decayed number of decisions."""

    name: str
    rate: float
    samples: float
    of: str | None = None


class Levels:
    """Decayed counts of good and bad changes at every level."""

    def __init__(self) -> None:
        self._counts: dict[LevelKey, tuple[float, float, int]] = {}

    def list_rates(self, case: LevelCase, now_ns: int) -> list[LevelRate]:
        """Return the levels of a change, the widest first; of several areas the one with the lowest rate."""
        levels = [self._level(("everyone",), now_ns, NO_RATE, EVERYONE_PRIOR_SAMPLES)]
        above = levels[0].rate
        levels.append(self._level(("repository", case.repository), now_ns, above, PRIOR_SAMPLES["repository"]))
        above = levels[-1].rate
        if case.areas:
            keys = (("area", case.repository, area) for area in case.areas)
            areas = [self._level(key, now_ns, above, PRIOR_SAMPLES["area"]) for key in keys]
            levels.append(min(areas, key=lambda level: (level.rate, level.of)))
            above = levels[-1].rate
        levels.append(self._level(("agent", case.repository, case.agent), now_ns, above, PRIOR_SAMPLES["agent"]))
        if case.operator is not None:
            key = ("operator", case.repository, case.agent, case.operator)
            levels.append(self._level(key, now_ns, levels[-1].rate, PRIOR_SAMPLES["agent"]))
        return levels

    def learn(self, case: LevelCase, *, good: bool, at_ns: int) -> None:
        """Count a decision at every level of the change."""
        for key in _list_acceptance_level_keys(case):
            better, worse, since_ns = self._faded(key, at_ns)
            self._counts[key] = (better + good, worse + (not good), since_ns)

    def _level(self, key: LevelKey, now_ns: int, above: float, prior: float) -> LevelRate:
        better, worse, _ = self._faded(key, now_ns)
        samples = better + worse
        of = key[-1] if key[1:] else None
        return LevelRate(key[0], (better + prior * above) / (samples + prior), samples, of)

    def _faded(self, key: LevelKey, now_ns: int) -> tuple[float, float, int]:
        """Return the counts of a level at a time, and that time; a clock that was set back changes nothing."""
        better, worse, since_ns = self._counts.get(key, (0.0, 0.0, now_ns))
        if now_ns <= since_ns:
            return better, worse, since_ns
        narrow = key[0] in ("agent", "operator")
        half_life = AGENT_HALF_LIFE_DAYS if narrow else LEVEL_HALF_LIFE_DAYS
        share = float(2.0 ** ((since_ns - now_ns) / NS_PER_DAY / half_life))
        return better * share, worse * share, now_ns


def _list_acceptance_level_keys(case: LevelCase) -> Iterator[LevelKey]:
    yield ("everyone",)
    yield ("repository", case.repository)
    for area in dict.fromkeys(case.areas):
        yield ("area", case.repository, area)
    yield ("agent", case.repository, case.agent)
    if case.operator is not None:
        yield ("operator", case.repository, case.agent, case.operator)
