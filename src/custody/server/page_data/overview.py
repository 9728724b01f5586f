"""What the first page says at once: how much there is, whether all is well, and what custody can tell here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from custody.core.ids import PENDING
from custody.core.wire.report import DoctorCheck
from custody.core.wire.time import text_from
from custody.intake.install.doctor import glance
from custody.server.queries.activity import ActivityTables
from custody.workspace.workspace import Workspace, has_repository


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that custody tells: from which tables, on which page, and what to run while there is nothing yet."""

    name: str
    tables: tuple[str, ...]
    page: str
    next: str
    command: str
    in_repository: bool = False
    """Whether the repository has to be here as well."""


ABILITIES: tuple[Capability, ...] = (
    Capability(
        "Who wrote which line",
        ("file_edit", "file_state", "traced_file"),
        "blame",
        "no edit was captured: have agents recorded, or bring in what they left on disk",
        "custody init",
        in_repository=True,
    ),
    Capability(
        "What agents were asked, and what they did",
        ("prompt", "tool_call"),
        "sessions",
        "no session was captured",
        "custody import",
    ),
    Capability(
        "Which change does what another one does",
        ("dupe_change",),
        "changes",
        "no change is indexed",
        "custody dupes index",
    ),
    Capability(
        "How far an agent's record carries",
        ("decision",),
        "trust",
        "nobody recorded a decision about an agent's change",
        "custody trust reverts",
    ),
    Capability(
        "What statements rest on", ("registry_source",), "sources", "no source is registered", "custody cite add"
    ),
    Capability(
        "What calls what, and in which order",
        ("tool_call", "span"),
        "graph",
        "no call was captured",
        "custody import",
    ),
)


@dataclass(frozen=True, slots=True)
class CapabilityState:
    """An ability and whether there is anything that it can tell from."""

    ability: Capability
    why_not: str | None
    """None where it can be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    """What there is at a glance; ``since`` is the earliest moment that a record claims."""

    records: int
    chains: int
    since: str | None
    checks: Sequence[DoctorCheck]
    standing: Sequence[CapabilityState]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many checks came out how."""
        return MappingProxyType(
            {state: sum(c.state == state for c in self.checks) for state in ("ill", "note", "well")}
        )

    @property
    def worst(self) -> DoctorCheck | None:
        """What most needs somebody."""
        return next((check for state in ("ill", "note") for check in self.checks if check.state == state), None)


def read_overview_page(workspace: Workspace) -> OverviewPage:
    """What there is, without looking at every record."""
    with workspace.reading() as store, store.reading():
        looked = ActivityTables(store)
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        first = looked.first_ns()
        held = looked.holds(sorted({name for ability in ABILITIES for name in ability.tables}))
    return OverviewPage(
        records=sum(int(head.seq) for head in heads),
        chains=len(heads),
        since=None if first is None else text_from(first),
        checks=glance(workspace),
        standing=[_standing(ability, held, lambda: has_repository(workspace)) for ability in ABILITIES],
    )


def _standing(ability: Capability, held: frozenset[str], here: Callable[[], bool]) -> CapabilityState:
    if not held.intersection(ability.tables):
        return CapabilityState(ability, ability.next)
    if ability.in_repository and not here():
        return CapabilityState(ability, "this service has no repository of the project")
    return CapabilityState(ability, None)
