"""How often changes were good: everyone's, a repository's, an area's, an agent's, each leaning on the level above.

A level is a Beta distribution whose counts fade by half-lives. What nobody has seen at a level is what is known above.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from custody.trust.score import NS_PER_DAY

LEVELS = ("everyone", "repository", "area", "agent", "operator")
"""From the widest to the narrowest; a change may be without area or operator."""

NO_RATE = 0.5
"""Everyone's rate before anything was decided."""
EVERYONE_PRIOR_SAMPLES = 2.0
"""How many decisions, half of them good, everyone's rate begins with: the usual uniform prior."""
PRIOR_SAMPLES = MappingProxyType({"repository": 20.0, "area": 5.0, "agent": 4.0})
"""How many decisions the level above is worth to each level, as document 001's page has it."""
LEVEL_HALF_LIFE_DAYS = 90.0
"""How fast what was learned about everyone, a repository or an area fades, as document 001's page has it."""
AGENT_HALF_LIFE_DAYS = 30.0
"""How fast what was learned about an agent fades: as fast as its score."""

LevelKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LevelCase:
    """A change that was proposed: by which agent, in which repository and parts of it, run by whom, how large, when.

    No areas, no operator and no lines mean that nobody said.
    """

    agent: str
    repository: str
    areas: tuple[str, ...] = ()
    operator: str | None = None
    lines: int | None = None
    opened_ns: int = 0


@dataclass(frozen=True, slots=True)
class LevelRate:
    """What is known at one level: the rate of good changes, and the faded number of decisions of its own behind it."""

    name: str
    rate: float
    samples: float
    of: str | None = None


class Levels:
    """Faded counts of good and bad changes at every level."""

    def __init__(self) -> None:
        self._counts: dict[LevelKey, tuple[float, float, int]] = {}

    def of(self, case: LevelCase, now_ns: int) -> list[LevelRate]:
        """The levels of a change, the widest first; of several areas the one that speaks most against it."""
        found = [self._level(("everyone",), now_ns, NO_RATE, EVERYONE_PRIOR_SAMPLES)]
        above = found[0].rate
        found.append(self._level(("repository", case.repository), now_ns, above, PRIOR_SAMPLES["repository"]))
        above = found[-1].rate
        if case.areas:
            keys = (("area", case.repository, area) for area in case.areas)
            areas = [self._level(key, now_ns, above, PRIOR_SAMPLES["area"]) for key in keys]
            found.append(min(areas, key=lambda level: (level.rate, level.of)))
            above = found[-1].rate
        found.append(self._level(("agent", case.repository, case.agent), now_ns, above, PRIOR_SAMPLES["agent"]))
        if case.operator is not None:
            key = ("operator", case.repository, case.agent, case.operator)
            found.append(self._level(key, now_ns, found[-1].rate, PRIOR_SAMPLES["agent"]))
        return found

    def learn(self, case: LevelCase, *, good: bool, at_ns: int) -> None:
        """Count a decision at every level of the change."""
        for key in _keys(case):
            better, worse, since_ns = self._faded(key, at_ns)
            self._counts[key] = (better + good, worse + (not good), since_ns)

    def _level(self, key: LevelKey, now_ns: int, above: float, prior: float) -> LevelRate:
        better, worse, _ = self._faded(key, now_ns)
        samples = better + worse
        of = key[-1] if key[1:] else None
        return LevelRate(key[0], (better + prior * above) / (samples + prior), samples, of)

    def _faded(self, key: LevelKey, now_ns: int) -> tuple[float, float, int]:
        """The counts of a level at a moment, and the moment; a clock that was set back fades nothing."""
        better, worse, since_ns = self._counts.get(key, (0.0, 0.0, now_ns))
        if now_ns <= since_ns:
            return better, worse, since_ns
        narrow = key[0] in ("agent", "operator")
        half_life = AGENT_HALF_LIFE_DAYS if narrow else LEVEL_HALF_LIFE_DAYS
        share = float(2.0 ** ((since_ns - now_ns) / NS_PER_DAY / half_life))
        return better * share, worse * share, now_ns


def _keys(case: LevelCase) -> Iterator[LevelKey]:
    yield ("everyone",)
    yield ("repository", case.repository)
    for area in dict.fromkeys(case.areas):
        yield ("area", case.repository, area)
    yield ("agent", case.repository, case.agent)
    if case.operator is not None:
        yield ("operator", case.repository, case.agent, case.operator)
