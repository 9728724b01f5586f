"""Every number and level of the gate."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.attribution import TIERS, Grade
from custody.core.errors import RulesError
from custody.core.rules import check_keys, check_one_of, check_pattern, check_range, check_ranges
from custody.gate.model import CODES, ChangeSpot, Reason, ReasonCode, VerdictLevel

LevelName = Literal["approve", "review", "block"]

RISKY = (
    *(
        "**/auth/**",
        "**/security/**",
        "**/migrations/**",
        "**/payments/**",
        "**/*secret*",
        "**/*password*",
        "**/*token*",
    ),
    *(".github/**", ".gitlab-ci.yml", "**/Dockerfile", "**/*.tf", "**/deploy/**", "**/Makefile", "custody.toml"),
)
REPORTS = ("**/*report*", "**/reports/**", "**/research/**")
_LEVELS: Mapping[str, LevelName] = MappingProxyType({code.value: about.usual.value for code, about in CODES.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """How good evidence about added lines has to be, and how strict the gate is where it is not."""

    tier_max: int = 4
    """The least sure tier with which lines are taken for an agent's; 1 is the surest."""
    grade_min: Literal["claimed", "recorded", "witnessed", "attested"] = "recorded"
    """The least grade that evidence about added lines needs; what was imported is only claimed."""
    agent_share_max: float = 1.0
    """The largest share of the added lines that agents may have written; a line that is partly theirs counts whole."""
    gap_hours_before: float = 24.0
    """A gap counts from so long before the change's first commit, or from its base if that is older."""
    gap_hours_after: float = 1.0
    """A gap counts until so long after the change's last commit."""
    duplicates: Literal["when-indexed", "always", "off"] = "when-indexed"
    """Whether to look for a change that is already there: once there is an index, in any case, or never."""
    citations: Literal["on", "off"] = "on"
    """Whether to look at the citations of what the change says."""
    reports: tuple[str, ...] = REPORTS
    """Patterns of the Markdown documents that have to cite what they say; others may, and are held to it if they do."""
    calls: Literal["on", "off"] = "off"
    """Whether to look at what agents called before they changed a risky file."""
    risky_paths: tuple[str, ...] = RISKY
    """Patterns of the files before whose change calls are looked at."""
    calls_learnt_min: int = 200
    """With fewer calls of other sessions, nobody can say what is unusual."""
    call_chance_min: float = 0.02
    """Calls whose chances have a lower geometric mean are unusual."""
    levels: Mapping[str, LevelName] = field(hash=False, default_factory=lambda: _LEVELS)
    """What a reason with this code asks for; evidence that is missing is never milder than evidence that is bad."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", MappingProxyType(dict(self.levels)))
        check_range("gate.tier_max", self.tier_max, least=1, most=len(TIERS))
        check_one_of("gate.grade_min", self.grade_min, [grade.value for grade in Grade])
        check_range("gate.agent_share_max", self.agent_share_max, least=0, most=1)
        check_one_of("gate.duplicates", self.duplicates, ("when-indexed", "always", "off"))
        check_one_of("gate.citations", self.citations, ("on", "off"))
        for pattern in self.reports:
            check_pattern("gate.reports", pattern)
        check_one_of("gate.calls", self.calls, ("on", "off"))
        for pattern in self.risky_paths:
            check_pattern("gate.risky_paths", pattern)
        check_range("gate.calls_learnt_min", self.calls_learnt_min, least=1)
        check_range("gate.call_chance_min", self.call_chance_min, least=0, most=1)
        hours = {"gap_hours_before": self.gap_hours_before, "gap_hours_after": self.gap_hours_after}
        check_ranges("gate", hours, least=0)
        self._check_levels()

    def level(self, code: ReasonCode) -> VerdictLevel:
        """What a reason with this code asks for."""
        return VerdictLevel(self.levels[code.value])

    def stricter(self, code: ReasonCode, other: ReasonCode) -> VerdictLevel:
        """What the stricter of two reasons asks for."""
        return max(self.level(code), self.level(other), key=lambda level: level.strictness)

    def reason(
        self, code: ReasonCode, sentence: str, remedy: str | None = None, spots: Iterable[ChangeSpot] = ()
    ) -> Reason:
        """A reason at the level that these rules give it; what to do is the code's own remedy unless one is given."""
        return Reason(code, self.level(code), sentence, remedy or CODES[code].remedy, tuple(spots))

    def _check_levels(self) -> None:
        check_keys("gate.levels", self.levels, [code.value for code in ReasonCode])
        for level in self.levels.values():
            check_one_of("gate.levels", level, [each.value for each in VerdictLevel])
        for code, about in CODES.items():
            for other in about.never_milder_than:
                if self.level(code).strictness < self.level(other).strictness:
                    raise RulesError("gate.levels", _milder(code, self.level(code), other, self.level(other)))


def _milder(code: ReasonCode, level: VerdictLevel, other: ReasonCode, its: VerdictLevel) -> str:
    return f"has {code.value} at {level.value}, milder than {other.value} at {its.value}: losing evidence would help"
