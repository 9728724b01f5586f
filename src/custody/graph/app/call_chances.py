"""How usual a session's calls before one of its calls were, judged by the calls of other sessions."""

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from custody.core.ids import CallId, StoreId
from custody.core.views import ObservedSpan, ToolCall, View
from custody.core.wire.claims import is_claim_record
from custody.graph.app.learn import Unit, iterate_call_units, list_call_units, list_imported_call_units
from custody.graph.app.session_spans import span_id_from_call
from custody.graph.calls import SHELLS, CallInput, SequenceCall, refine_call_name
from custody.graph.prediction import NextModel, SessionState
from custody.store import Store

CHANCE_MIN = 1e-12
"""Keeps the logarithm of a probability finite."""


class CallRun(Struct, frozen=True):
    """Consecutive calls of a session: the geometric mean of their probabilities, and their names."""

    chance: float
    names: tuple[str, ...]


class CallChances:
    """Probabilities of the calls of some ``sessions``, learned from all other sessions of the store.

    Only records of the ``believed`` chains show what is usual.
    """

    def __init__(self, store: Store, sessions: Collection[str], believed: Collection[StoreId]) -> None:
        self._store = store
        self._believed = believed
        units = sorted(iterate_call_units(store, list_call_units(store)), key=lambda unit: (unit.first_ns, unit.key))
        self._own = [unit for unit in units if unit.id in sessions]
        others = [unit for unit in units if unit.id not in sessions]
        self._training = [calls for unit in self._select_recorded_units(others) for calls in unit.calls()]

    @property
    def known_calls(self) -> int:
        """Return how many calls of other sessions the model learns from."""
        return sum(map(len, self._training))

    def find_run_before(self, session: str, call: CallId, most: int, *, is_claimed: bool) -> CallRun | None:
        """Return the last ``most`` calls before a call of a session, or that call itself if it was the first.

        None if the call is not among those of its session. Unless ``is_claimed``, records that only claim something
        about the session do not count.
        """
        own = [unit for unit in self._own if unit.id == session]
        runs = (self._run(unit, call, most) for unit in self._sort_sessions_first(own, is_claimed=is_claimed))
        return next((run for run in runs if run is not None), None)

    @cached_property
    def _model(self) -> NextModel:
        model = NextModel()
        model.fit(self._training)
        return model

    def _select_recorded_units(self, units: Sequence[Unit]) -> Iterator[Unit]:
        """Yield these units as recorded here: a file that anybody can write does not define what is usual."""
        store = self._store
        imported = list_imported_call_units(store)
        uncertain = [unit.key for unit in units if unit.key in imported]
        recorded = {
            unit.key: unit
            for unit in iterate_call_units(store, uncertain, lambda record: not is_claim_record(record, self._believed))
        }
        yield from (recorded.get(unit.key, unit) for unit in units)

    def _sort_sessions_first(self, units: Sequence[Unit], *, is_claimed: bool) -> list[Unit]:
        keys = [unit.key for unit in units]
        own = (
            units
            if is_claimed
            else iterate_call_units(self._store, keys, lambda record: not is_claim_record(record, self._believed))
        )
        return sorted(own, key=lambda unit: unit.key, reverse=True)

    def _run(self, unit: Unit, target: CallId, most: int) -> CallRun | None:
        state = SessionState()
        chances: list[tuple[float, SequenceCall]] = []
        span = span_id_from_call(target)
        for call in (call for calls in unit.calls() for call in calls):
            chances.append((self._model.chance(state, call), call))
            state.add_call(call)
            if call.span == span:
                last = chances[-most - 1 : -1] or chances[-1:]
                mean = math.exp(math.fsum(math.log(max(chance, CHANCE_MIN)) for chance, _ in last) / len(last))
                return CallRun(mean, tuple(call.name for _, call in last))
        return None


# The part of a command that a call's name depends on; the rest is removed.


COMMAND_ATTRIBUTES = frozenset(("about", "command"))


def shorten_tool_call_command(view: View) -> View:
    """Return the view with a command shortened to the words that name the call."""
    if isinstance(view, ToolCall) and view.about is not None:
        return replace(view, about=_shorten_call_input(view.name, view.about))
    if isinstance(view, ObservedSpan):
        attributes = (
            (
                name,
                _shorten_call_input(view.name, value)
                if name in COMMAND_ATTRIBUTES and isinstance(value, str)
                else value,
            )
            for name, value in view.attributes
        )
        return replace(view, attributes=tuple(attributes))
    return view


def _shorten_call_input(tool: str, about: str) -> str:
    """Return the part of a call's input that its name depends on: a path, a subagent's type, a program and subcommand.

    >>> _shorten_call_input("Bash", "cd x && git commit -m 'a secret'"), _shorten_call_input("Bash", "python -m pip x")
    ('git commit', 'python -m pip')
    >>> _shorten_call_input("Read", "a/b.py")
    'a/b.py'
    """
    if tool.rpartition(":")[2].casefold() not in SHELLS:
        return (
            about if refine_call_name(tool, CallInput(path=about, subagent=about)) != tool or "\n" not in about else ""
        )
    program, *rest = refine_call_name(tool, CallInput(command=about)).removeprefix(tool).split() or [""]
    return " ".join((program, "-m", *rest) if program == "python" and rest else (program, *rest))
