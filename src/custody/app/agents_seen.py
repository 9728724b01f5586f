"""Each agent that we know: whether it is here, whether its hooks fire, when it was last heard, what lies on disk."""

from custody.app.back_fill import back_fill
from custody.app.desk import Desk
from custody.app.init import TITLES, found
from custody.app.questions import has_repository
from custody.app.site import Wired, wired
from custody.wire.reports import AgentSeen
from custody.wire.times import text_from
from custody.world.store import AgentRow, Store


def agents_seen(desk: Desk, store: Store) -> list[AgentSeen]:
    """Every agent that can be set up or was ever heard, in the order in which we name them."""
    if desk.home is None:
        return []
    here = set(found(desk))
    heard: dict[str, AgentRow] = {row.agent: row for row in store.agents()}
    hooks: dict[str, Wired] = {each.agent: each for each in reversed(wired(desk))}
    known = set(store.session_names())
    return [
        AgentSeen(
            name=name,
            title=TITLES.get(name, name),
            here=name in here,
            hooks=_hooks(name, hooks.get(name)),
            last_live=_moment(heard.get(name), live=True),
            last=_moment(heard.get(name), live=False),
            sessions=heard[name].sessions if name in heard else 0,
            backfill=back_fill(desk, name, known),
        )
        for name in dict.fromkeys((*TITLES, *sorted(heard)))
    ]


def agents_heard(desk: Desk) -> list[AgentSeen]:
    """The same, of a desk; none where agents do not work."""
    if not has_repository(desk):
        return []
    with desk.reading() as store:
        return agents_seen(desk, store)


def _hooks(name: str, each: Wired | None) -> str:
    if name not in TITLES:
        return "none"
    if each is None:
        return "not set up"
    return "set up" if each.records and each.hook is not None and each.hook.is_file() else "misled"


def _moment(row: AgentRow | None, *, live: bool) -> str | None:
    at_ns = None if row is None else row.live_ns if live else row.last_ns
    return None if at_ns is None else text_from(at_ns)
