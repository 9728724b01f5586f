"""The nouns of the attacks: who attacks, the ways in, what the gate said, what is wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.attacks.target import Target


class Attacker(Enum):
    """Who attacks, by the rows of docs/threat-model.md."""

    AGENT = "A1"
    COLLEAGUE = "A2"
    REMOTE_OWNER = "A3"
    OPERATOR = "A4"
    STRANGER = "A5"


class WayIn(Enum):
    """The interface that an attack uses."""

    CLI = "command line"
    HOOK = "hook"
    LIBRARY = "Python library"
    REMOTE = "git remote"
    SERVICE = "HTTP service"
    FILES = "files"


class Setting(Enum):
    """The policy on the base branch."""

    ALONE = "no policy"
    TEAM = "team policy"
    ENROLLED = "enrolled stores"
    WITNESSED = "witnessed store"
    """The team policy, and a witness that the agents cannot write to has recorded them: honest changes merge."""

    @property
    def assurance_min(self) -> str | None:
        """Return the rule that the base branch sets; None without a policy."""
        least = {Setting.TEAM: "witnessed", Setting.WITNESSED: "witnessed", Setting.ENROLLED: "enrolled"}
        return least.get(self)


LEVELS = ("approve", "review", "block", "error")
"""The answers of the gate, the mildest first; an error is never an approval."""
SELF_REPORTED = "self-reported"
SAYS_SO = "(self-reported evidence only)"


@dataclass(frozen=True, slots=True)
class Judgment:
    """What the gate and ``trust approve`` said about one change."""

    level: str
    codes: tuple[str, ...]
    assurance: str | None
    first_line: str
    is_granted: bool
    """Whether ``custody trust approve --dry-run`` would let the change merge without review."""

    def __str__(self) -> str:
        codes = f" [{', '.join(self.codes)}]" if self.codes else ""
        return f"{self.level}{codes}{', granted by trust approve' if self.is_granted else ''}"

    def list_lifts(self, before: "Judgment") -> list[str]:
        """Return how this judgment is milder than an earlier one."""
        lifts = []
        if LEVELS.index(self.level) < LEVELS.index(before.level):
            lifts.append(f"LIFT: the gate went from {before} to {self}")
        if self.is_granted and not before.is_granted:
            lifts.append(f"LIFT: 'trust approve' refused before ({before}) and grants now ({self})")
        return lifts

    def list_silences(self) -> list[str]:
        """Return where an approval on self-reported evidence does not say so."""
        if self.level != "approve":
            return []
        silent = []
        if self.assurance != SELF_REPORTED:
            silent.append(f"SILENT: the JSON of the approval has assurance {self.assurance!r}, not {SELF_REPORTED!r}")
        if SAYS_SO not in self.first_line:
            silent.append(f"SILENT: the first line of the approval lacks '{SAYS_SO}': {self.first_line!r}")
        return silent


Step = Callable[["Target"], None]


def do_nothing(_target: "Target") -> None:
    """Leave the target as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attempt to make the verdict on a change milder.

    ``prepare`` is what happened before, such as an honest rejection; the gate judges ``target.change`` after it and
    again after ``perform``. ``check`` asserts what else must hold in every setting.
    """

    name: str
    attacker: Attacker
    ways: tuple[WayIn, ...]
    does: str
    perform: Step
    prepare: Step = do_nothing
    check: Step = do_nothing
    writes_records: bool = True
    """False for an attack that also fits where the agents' records are out of the attacker's reach."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Return the policies under which it is carried out.

        Against the agent itself an enrolled store counts as self-reported: it can write there.
        """
        if not self.writes_records:
            return (Setting.ALONE, Setting.WITNESSED)
        outside = self.attacker in (Attacker.COLLEAGUE, Attacker.STRANGER)
        return (Setting.ALONE, Setting.TEAM, *((Setting.ENROLLED,) if outside else ()))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judgments around an attack, and what is wrong: nothing, if custody withstood it."""

    before: Judgment
    after: Judgment
    faults: tuple[str, ...]
