"""An event on its way into a chain: validated, in canonical form, its long texts apart.

This file is the only one that says what an event's natural key is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from custody.core.ids import Digest, EventId, NaturalKey, digest_of
from custody.core.record import ChainTip, RecordDraft
from custody.core.wire.body import digest_text, split, trim_event
from custody.core.wire.canonical import Json, dump_readable, parse
from custody.core.wire.event import (
    AnyEvent,
    DecisionEvent,
    ForeignTraceEvent,
    HookEvent,
    RegistryEvent,
    SnapshotEvent,
    SpanEvent,
    TraceLinkEvent,
    TranscriptEvent,
    event_from,
)
from custody.core.wire.time import ns_from, text_from

CONTINUES = "continues"
ERASED = "erased"
LOST = "lost"
REGISTRY = "registry"
SYSTEM_KINDS = frozenset((CONTINUES, ERASED, LOST))
"""Kinds that a store writes about itself; an event can never have them."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An entry with its bytes: the payload and the texts taken out of it."""

    entry: RecordDraft
    payload: bytes
    texts: Mapping[Digest, bytes]


def arrival_of(event_id: EventId, data: bytes) -> Arrival:
    """Make an event's bytes ready for a chain, or raise an ``InputError`` that says why they are no event."""
    return arrival_from(event_id, parse(data))


def arrival_from(event_id: EventId, value: Json) -> Arrival:
    """The same for an event that was read already."""
    value = trim_event(value) if isinstance(value, dict) else value
    event = event_from(value)
    return _arrival(event_id, event.__struct_config__.tag, _natural_key(event), ns_from(event.at), value)


def continues(event_id: EventId, old: ChainTip, at_ns: int) -> Arrival:
    """The first record of a store that goes on from a copy of another."""
    value: Json = {
        "custody": 1,
        "kind": CONTINUES,
        "at": text_from(at_ns),
        "store": old.store,
        "seq": int(old.seq),
        "link": old.link.hex(),
    }
    return _arrival(event_id, CONTINUES, NaturalKey(f"{CONTINUES}:{old.store}:{event_id}"), at_ns, value)


def make_loss_arrival(line: str, at_ns: int) -> Arrival:
    """The record that something could not be recorded, as it was counted; the same line makes the same record."""
    name = digest_of(line.encode("utf-8", "backslashreplace")).hex()
    value: Json = {"custody": 1, "kind": LOST, "at": text_from(at_ns), "what": line}
    return _arrival(EventId(f"{LOST}-{name}"), LOST, NaturalKey(f"{LOST}:{name}"), at_ns, value)


def make_erasure_arrival(event_id: EventId, digest: Digest, *, who: str, why: str, at_ns: int) -> Arrival:
    """The record that a body was erased, by whom and why."""
    value: Json = {
        "custody": 1,
        "kind": ERASED,
        "at": text_from(at_ns),
        "digest": digest_text(digest),
        "who": who,
        "why": why,
    }
    return _arrival(event_id, ERASED, NaturalKey(f"{ERASED}:{digest_text(digest)}:{event_id}"), at_ns, value)


def _arrival(event_id: EventId, kind: object, key: NaturalKey, at_ns: int, value: Json) -> Arrival:
    parted = split(value)
    # Marks make a payload deeper and canonical numbers longer than what was sent: what could not be read again later
    # must not get in.
    payload = dump_readable(parted.payload)
    return Arrival(RecordDraft(event_id, str(kind), key, at_ns, digest_of(payload)), payload, parted.texts)


def transcript_key(agent: str, line: str) -> NaturalKey:
    """The key of a transcript's line: by its own id, since sessions that are resumed repeat the lines of others."""
    return NaturalKey(f"transcript:{quote(agent, safe='')}:{quote(line, safe='')}")


def parse_decision_key(key: NaturalKey) -> tuple[str, str]:
    """The agent and the id in a decision's key, which say whom and what it was about when its words are gone.

    >>> parse_decision_key(NaturalKey("decision:claude-code::decision:commit%3A1a2b3c4d"))
    ('claude-code', 'commit:1a2b3c4d')
    """
    _, agent, _, _, name = key.split(":")
    return unquote(agent), unquote(name)


def _natural_key(event: AnyEvent) -> NaturalKey:
    if isinstance(event, TranscriptEvent):
        return transcript_key(event.agent, event.id)
    if isinstance(event, ForeignTraceEvent | TraceLinkEvent):
        return NaturalKey(f"import:{event.__struct_config__.tag}:{quote(event.id, safe='')}")
    if isinstance(event, RegistryEvent):
        # The number stands in it, so that it stays given when what was registered is erased.
        return NaturalKey(f"{REGISTRY}:{event.number}:{event.op}:{quote(event.id, safe='')}")
    if isinstance(event, SpanEvent):
        # A program that is asked twice for its spans, or two that saw the same, tell of one span.
        return NaturalKey(":".join(("span", quote(event.execution, safe=""), quote(event.span, safe=""), event.phase)))
    kind = str(event.__struct_config__.tag)
    # Families are apart, since an agent may give its own events any name, that of one of our kinds too.
    family = kind if isinstance(event, DecisionEvent | HookEvent | SnapshotEvent) else "event"
    what = event.event if isinstance(event, HookEvent) else kind
    # Each part is quoted, so that a ':' inside a session id cannot make two events look like one.
    parts = (event.agent or "", event.session or "", what, event.id)
    return NaturalKey(":".join((family, *(quote(part, safe="") for part in parts))))
