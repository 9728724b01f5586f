"""Every number and level of the gate."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from custody.attribution import TIERS, Grade
from custody.core.assurance import Assurance
from custody.core.errors import RulesError
from custody.core.rules import (
    check_rule_choice,
    check_rule_keys,
    check_rule_path_pattern,
    check_rule_range,
    check_rule_ranges,
)
from custody.core.structs import hash_struct
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


class GateRules(Struct, frozen=True, kw_only=True):
    """How good evidence about added lines has to be, and how strict the gate is where it is not."""

    tier_max: int = 4
    """The weakest tier that counts as evidence for an agent's lines; 1 is the strongest."""
    grade_min: Literal["claimed", "recorded", "witnessed", "attested"] = "recorded"
    """The lowest grade that evidence about added lines needs; imported transcripts are only ``claimed``."""
    assurance_min: Literal["self-reported", "enrolled", "witnessed"] = "self-reported"
    """Who has to vouch for evidence that speaks for a change: anyone, an enrolled store, or a second party."""
    agent_share_max: float = 1.0
    """The largest share of the added lines that agents may have written; a line that is partly theirs counts whole."""
    gap_hours_before: float = 24.0
    """A gap counts from this long before the change's first commit, or from its base if that is older."""
    gap_hours_after: float = 1.0
    """A gap counts until this long after the change's last commit."""
    duplicates: Literal["when-indexed", "always", "off"] = "when-indexed"
    """Whether to check for duplicates: once there is an index, always, or never."""
    citations: Literal["on", "off"] = "on"
    """Whether to check the citations in the change's texts."""
    reports: tuple[str, ...] = REPORTS
    """Patterns of Markdown documents that must cite sources; in others only existing citations are checked."""
    tests: Literal["agents", "off"] = "off"
    """Whether code that agents wrote must have been tested after its last edit."""
    statements: Literal["on", "off"] = "off"
    """Whether what the description and the commit messages say must be backed by records."""
    calls: Literal["on", "off"] = "off"
    """Whether to check what agents called before they changed a risky file."""
    risky_paths: tuple[str, ...] = RISKY
    """Patterns of the files for which calls are checked."""
    calls_learnt_min: int = 200
    """Calls of other sessions that are needed to know what is unusual."""
    call_chance_min: float = 0.02
    """Calls are unusual if the geometric mean of their probabilities is lower."""
    reads: Literal["on", "off"] = "off"
    """Whether a second person must have read each hunk of a change, vouched for with at least ``assurance_min``."""
    budget: Literal["store", "remote"] = "store"
    """Where the lines of an approval without review are reserved: in this store, or at a remote for all clones."""
    budget_remote: str = "origin"
    """The remote of ``budget = "remote"``: a service that the user added under this name, else a git remote."""
    levels: Mapping[str, LevelName] = field(default_factory=lambda: _LEVELS)
    """The level of each reason; missing evidence is never milder than bad evidence."""

    def __post_init__(self) -> None:
        force_setattr(self, "levels", MappingProxyType(dict(self.levels)))
        check_rule_range("gate.tier_max", self.tier_max, least=1, most=len(TIERS))
        check_rule_choice("gate.grade_min", self.grade_min, [grade.value for grade in Grade])
        check_rule_choice("gate.assurance_min", self.assurance_min, [assurance.value for assurance in Assurance])
        check_rule_range("gate.agent_share_max", self.agent_share_max, least=0, most=1)
        check_rule_choice("gate.duplicates", self.duplicates, ("when-indexed", "always", "off"))
        check_rule_choice("gate.citations", self.citations, ("on", "off"))
        for pattern in self.reports:
            check_rule_path_pattern("gate.reports", pattern)
        check_rule_choice("gate.tests", self.tests, ("agents", "off"))
        check_rule_choice("gate.statements", self.statements, ("on", "off"))
        check_rule_choice("gate.calls", self.calls, ("on", "off"))
        for pattern in self.risky_paths:
            check_rule_path_pattern("gate.risky_paths", pattern)
        check_rule_range("gate.calls_learnt_min", self.calls_learnt_min, least=1)
        check_rule_range("gate.call_chance_min", self.call_chance_min, least=0, most=1)
        check_rule_choice("gate.reads", self.reads, ("on", "off"))
        check_rule_choice("gate.budget", self.budget, ("store", "remote"))
        if not self.budget_remote.strip():
            raise RulesError("gate.budget_remote", "is empty; name a remote, such as origin")
        hours = {"gap_hours_before": self.gap_hours_before, "gap_hours_after": self.gap_hours_after}
        check_rule_ranges("gate", hours, least=0)
        self._check_levels()

    def counts(self, assurance: Assurance) -> bool:
        """Return whether evidence with this assurance may speak for a change."""
        return assurance.meets(Assurance(self.assurance_min))

    def level(self, code: ReasonCode) -> VerdictLevel:
        """Return the level of a reason with this code."""
        return VerdictLevel(self.levels[code.value])

    def stricter(self, code: ReasonCode, other: ReasonCode) -> VerdictLevel:
        """Return the stricter level of two codes."""
        return max(self.level(code), self.level(other), key=lambda level: level.strictness)

    def reason(
        self, code: ReasonCode, sentence: str, remedy: str | None = None, spots: Iterable[ChangeSpot] = ()
    ) -> Reason:
        """Return a reason at the level of its code; ``remedy`` replaces the code's own."""
        return Reason(code, self.level(code), sentence, remedy or CODES[code].remedy, tuple(spots))

    def _check_levels(self) -> None:
        check_rule_keys("gate.levels", self.levels, [code.value for code in ReasonCode])
        for level in self.levels.values():
            check_rule_choice("gate.levels", level, [each.value for each in VerdictLevel])
        for code, about in CODES.items():
            for other in about.never_milder_than:
                if self.level(code).strictness < self.level(other).strictness:
                    raise RulesError(
                        "gate.levels", _describe_milder_level(code, self.level(code), other, self.level(other))
                    )

    def __hash__(self) -> int:
        return hash_struct(self, but=("levels",))


def _describe_milder_level(code: ReasonCode, level: VerdictLevel, other: ReasonCode, its: VerdictLevel) -> str:
    return f"has {code.value} at {level.value}, milder than {other.value} at {its.value}, so losing evidence would help"
