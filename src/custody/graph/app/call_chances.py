"""How usual the calls were that a session made before one of its calls, judged by the calls of other sessions."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from custody.core.ids import CallId
from custody.core.views import ObservedSpan, ToolCall, View
from custody.graph.app.learn import Unit, imported_units, list_units, units_of
from custody.graph.app.session_spans import call_span
from custody.graph.calls import SHELLS, CallInput, SequenceCall, fine_name
from custody.graph.prediction import NextModel, SessionState
from custody.ledger.records import is_claim, list_trusted_chains
from custody.store import Store

CHANCE_MIN = 1e-12
"""Keeps the logarithm of a chance finite."""


@dataclass(frozen=True, slots=True)
class CallRun:
    """Calls that a session made one after the other: the geometric mean of their chances, and their names."""

    chance: float
    names: tuple[str, ...]


class CallChances:
    """Chances of the calls of some ``sessions``, learned from all other sessions of the store."""

    def __init__(self, store: Store, sessions: Collection[str]) -> None:
        self._store = store
        units = sorted(units_of(store, list_units(store)), key=lambda unit: (unit.first_ns, unit.name))
        self._own = [unit for unit in units if unit.id in sessions]
        others = [unit for unit in units if unit.id not in sessions]
        self._taught = [calls for unit in self._recorded(others) for calls in unit.calls()]

    @property
    def known_calls(self) -> int:
        """How many calls of other sessions there are to learn from."""
        return sum(map(len, self._taught))

    def find_run_before(self, session: str, call: CallId, most: int, *, is_claimed: bool) -> CallRun | None:
        """Return the last ``most`` calls before a call of a session, or that call itself if it was the first.

        None if the call is not among those of its session. Unless ``is_claimed``, records that only claim something
        about the session do not count.
        """
        own = [unit for unit in self._own if unit.id == session]
        runs = (self._run(unit, call, most) for unit in self._sessions_first(own, is_claimed=is_claimed))
        return next((run for run in runs if run is not None), None)

    @cached_property
    def _model(self) -> NextModel:
        model = NextModel()
        model.fit(self._taught)
        return model

    def _recorded(self, units: Sequence[Unit]) -> Iterator[Unit]:
        """These units as far as they were recorded here: a file that anybody may write does not teach what is usual."""
        store = self._store
        brought, owned = imported_units(store), store.tables.owned()
        doubtful = [unit.name for unit in units if unit.name in brought]
        recorded = {unit.name: unit for unit in units_of(store, doubtful, lambda record: not is_claim(record, owned))}
        yield from (recorded.get(unit.name, unit) for unit in units)

    def _sessions_first(self, units: Sequence[Unit], *, is_claimed: bool) -> list[Unit]:
        chains = list_trusted_chains(self._store)
        names = [unit.name for unit in units]
        own = units if is_claimed else units_of(self._store, names, lambda record: not is_claim(record, chains))
        return sorted(own, key=lambda unit: unit.name, reverse=True)

    def _run(self, unit: Unit, wanted: CallId, most: int) -> CallRun | None:
        so_far = SessionState()
        chances: list[tuple[float, SequenceCall]] = []
        span = call_span(wanted)
        for call in (call for calls in unit.calls() for call in calls):
            chances.append((self._model.chance(so_far, call), call))
            so_far.see(call)
            if call.span == span:
                last = chances[-most - 1 : -1] or chances[-1:]
                mean = math.exp(math.fsum(math.log(max(chance, CHANCE_MIN)) for chance, _ in last) / len(last))
                return CallRun(mean, tuple(call.name for _, call in last))
        return None


# What the name of a call depends on, and nothing more of what it was given.


COMMAND_ATTRIBUTES = frozenset(("about", "command"))


def shorten_command(view: View) -> View:
    """Return the view with a command replaced by the few words of it that a call goes by."""
    if isinstance(view, ToolCall) and view.about is not None:
        return replace(view, about=_short(view.name, view.about))
    if isinstance(view, ObservedSpan):
        kept = (
            (name, _short(view.name, value) if name in COMMAND_ATTRIBUTES and isinstance(value, str) else value)
            for name, value in view.attributes
        )
        return replace(view, attributes=tuple(kept))
    return view


def _short(tool: str, about: str) -> str:
    """What a call's name depends on: a path or a subagent's type as it is, of a command program and sub-command.

    >>> _short("Bash", "cd x && git commit -m 'a secret'"), _short("Read", "a/b.py"), _short("Bash", "python -m pip x")
    ('git commit', 'a/b.py', 'python -m pip')
    """
    if tool.rpartition(":")[2].casefold() not in SHELLS:
        return about if fine_name(tool, CallInput(path=about, subagent=about)) != tool or "\n" not in about else ""
    program, *rest = fine_name(tool, CallInput(command=about)).removeprefix(tool).split() or [""]
    return " ".join((program, "-m", *rest) if program == "python" and rest else (program, *rest))
