"""The prompt behind a call: the one that it names, else the last captured one before it."""

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from custody.attribution import Trace
from custody.core.ids import PromptId
from custody.core.views import Prompt
from custody.core.wire.arrival import parse_event_key
from custody.ledger.queries import ConversationTables, list_session_prompts, list_session_prompts_until
from custody.store import ObservedView, Store

PROMPTS_READ_MAX = 20
"""Prompts before a call that are searched for the last one of its agent."""
PROMPT_EVENTS = frozenset(("prompt", "UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt"))
"""The agents' names for the event of a prompt, as in the key of a record."""

PromptFate = Literal["shown", "not-shared", "erased", "not-captured", "no-session"]


class PromptFinding(Struct, frozen=True):
    """The prompt behind a call, or what became of it; ``is_named`` if the call names it, and its ``records``."""

    state: PromptFate
    prompt: Prompt | None = None
    id: str | None = None
    is_named: bool = False
    records: Sequence[str] = ()

    def describe_gap(self) -> str:
        """Return why the text is missing, as part of a sentence."""
        if self.state == "not-shared":
            return f"the prompt '{self.id}' was withheld by the store that shared it"
        return f"the prompt '{self.id}' was erased" if self.state == "erased" else "the prompt was not captured"


def make_prompt_finding(store: Store, observed: ObservedView[Prompt], *, is_named: bool = True) -> PromptFinding:
    """Return a captured prompt with what became of its text."""
    records = [str(observed.record.ref)]
    state: PromptFate = "shown"
    if observed.view.text.content is None:
        state = "not-shared" if store.tables.outline(observed.record.entry.digest) is not None else "erased"
    return PromptFinding(state, observed.view, observed.view.id, is_named, records)


def find_call_prompt(store: Store, trace: Trace, named: PromptId | None, at_ns: int) -> PromptFinding:
    """Return the prompt ``named`` by a call, else the last captured one before ``at_ns``, or what became of it."""
    observed = _find_prompt_named_by_call(store, trace, named)
    if observed is None and named is not None and (erased := list_event_records(store, trace, "prompt", named)):
        return PromptFinding("erased", None, named, is_named=True, records=erased)
    observed = observed or _find_prompt_before_call(store, trace, at_ns)
    known = None if observed is None else observed.view
    if known is None or known.id != named:
        gap = _find_erased_prompt(store, trace, 0 if known is None else known.at_ns, at_ns)
        if gap is not None:
            return gap
    if observed is None:
        return PromptFinding("not-captured")
    return make_prompt_finding(store, observed, is_named=observed.view.id == named)


def list_event_records(store: Store, trace: Trace, kind: str, name: str) -> list[str]:
    """Return the records of a call or prompt, erased ones included."""
    key = ":".join(("event", *(quote(part, safe="") for part in (trace.agent, trace.session, kind, name))))
    return [str(record.ref) for record in store.tables.records_named(key)]


def _find_prompt_named_by_call(store: Store, trace: Trace, named: PromptId | None) -> ObservedView[Prompt] | None:
    if named is None:
        return None
    prompts = list_session_prompts(store, trace.session)
    return next((prompt for prompt in prompts if (prompt.view.agent, prompt.view.id) == (trace.agent, named)), None)


def _find_prompt_before_call(store: Store, trace: Trace, at_ns: int) -> ObservedView[Prompt] | None:
    prompts = list_session_prompts_until(store, trace.session, at_ns, PROMPTS_READ_MAX)
    own = [prompt for prompt in prompts if prompt.view.agent == trace.agent]
    return max(own, key=lambda prompt: prompt.view.at_ns, default=None)


def _find_erased_prompt(store: Store, trace: Trace, after_ns: int, until_ns: int) -> PromptFinding | None:
    """Return a later prompt of the session that was erased; only the keys of erased records are left."""
    for key, ref in ConversationTables(store).list_erased(after_ns, until_ns):
        erased = parse_event_key(key)
        if erased is None or (erased.agent, erased.session) != (trace.agent, trace.session):
            continue
        if erased.event in PROMPT_EVENTS:
            return PromptFinding("erased", None, erased.id, records=[str(ref)])
    return None
