"""Events before they are appended to a chain: validated, in canonical form, with long texts split off.

Only this file defines the natural key of an event.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import quote, unquote

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import Digest, EventId, NaturalKey, digest_from_bytes
from custody.core.record import ChainTip, RecordDraft
from custody.core.wire.body import (
    TEXT_BYTES_MAX,
    format_digest,
    may_have_payload_mark,
    split_payload_texts,
    trim_event_output,
)
from custody.core.wire.canonical import (
    Json,
    PlainJson,
    check_readable_json,
    dump_numberless_json,
    dump_plain_json,
    dump_readable_json,
    parse_json_bytes,
)
from custody.core.wire.event import (
    AnyEvent,
    DecisionEvent,
    DecodedEvent,
    ForeignTraceEvent,
    HookEvent,
    RegistryEvent,
    SnapshotEvent,
    SpanEvent,
    TraceLinkEvent,
    TranscriptEvent,
    event_from_json,
    span_event_from_canonical_json,
)
from custody.core.wire.time import format_timestamp, parse_timestamp

CONTINUES = "continues"
ERASED = "erased"
LOST = "lost"
REGISTRY = "registry"
SPAN = "span"
SPANS = "spans"
"""The kind of records with several spans, which only a store makes."""
WITNESS = "witness"
NAME_DIGITS = 32
SYSTEM_KINDS = frozenset((CONTINUES, ERASED, LOST))
"""Kinds that a store writes about itself; an event can never have them."""
_EVENT_FAMILIES = frozenset(("event", "hook"))


class Arrival(Struct, frozen=True):
    """An entry with its bytes: the payload and the texts split off from it."""

    entry: RecordDraft
    payload: bytes
    texts: Mapping[Digest, bytes]
    event: DecodedEvent | None = None
    """The event as it would be read from these bytes, if that is known without reading them."""


def arrival_from_bytes(event_id: EventId, data: bytes) -> Arrival:
    """Prepare the bytes of an event from outside for a chain, or raise an ``InputError`` if they are not valid."""
    return arrival_from_json(event_id, refuse_host_witness(parse_json_bytes(data)))


def refuse_host_witness(value: Json) -> Json:
    """Return an event from outside; raise an ``InputError`` if it says that a code host vouches for it."""
    if _has_host_witness(value):
        raise InputError(
            "'witness' of kind 'host' is only recorded by the service's own webhook",
            hint="leave it out, or sign the decision with 'custody trust record --sign-key'",
        )
    return value


def drop_host_witness(value: Json) -> Json:
    """Return an event without the claim that a code host vouches for it: the rest may be true."""
    if isinstance(value, dict) and _has_host_witness(value):
        return {name: field for name, field in value.items() if name != WITNESS}
    return value


def _has_host_witness(value: Json) -> bool:
    witness = value.get(WITNESS) if isinstance(value, dict) else None
    return isinstance(witness, dict) and witness.get("kind") == "host"


def arrival_from_json(event_id: EventId, value: Json) -> Arrival:
    """Prepare a parsed event for a chain, as ``arrival_from_bytes`` does."""
    value = trim_event_output(value) if isinstance(value, dict) else value
    plain = dump_plain_json(value) if isinstance(value, dict) else None
    event = event_from_json(value) if plain is None else _decode_plain_event(value, plain.value)
    key, at_ns = _natural_key_from_event(event), parse_timestamp(event.at)
    kind = event.__struct_config__.tag
    if plain is None:
        return _make_record_arrival(event_id, kind, key, at_ns, value)
    payload, texts = _split_plain_payload(plain)
    draft = RecordDraft(event_id, str(kind), key, at_ns, digest_from_bytes(payload))
    return Arrival(draft, payload, texts, event)


def arrival_from_span(value: dict[str, Json]) -> Arrival | None:
    """Prepare a span's event for a chain, named by its content; None if ``arrival_from_json`` must check it.

    The value was made by this program, so that it has no NaN and nothing but JSON.
    """
    data = dump_numberless_json(value)
    if data is None or len(data) > TEXT_BYTES_MAX or may_have_payload_mark(data):
        return None
    try:
        event = span_event_from_canonical_json(data)
    except InputError:
        return None
    digest = digest_from_bytes(data)
    key = make_span_key(event.execution, event.span, event.phase)
    draft = RecordDraft(name_imported_event(digest), SPAN, key, parse_timestamp(event.at), digest)
    return Arrival(draft, data, {}, event)


def name_imported_event(digest: bytes) -> EventId:
    """Return the id of an event that is recognized by its content, wherever it is read from."""
    return EventId(f"import-{digest.hex()[:NAME_DIGITS]}")


def _decode_plain_event(value: Json, same: Json) -> AnyEvent:
    """Return the event in ``same``, which has the members of ``value`` in the order in which they are stored."""
    try:
        return event_from_json(same)
    except InputError:
        event_from_json(value)  # of several errors, report the first in the sender's order
        raise


def _split_plain_payload(plain: PlainJson) -> tuple[bytes, Mapping[Digest, bytes]]:
    """Return the canonical bytes of an event without its long texts, and those texts."""
    if len(plain.data) <= TEXT_BYTES_MAX and not may_have_payload_mark(plain.data):
        check_readable_json(plain.data, plain.value)
        return plain.data, {}
    split = split_payload_texts(plain.value)
    payload = dump_readable_json(split.payload)
    return payload, split.texts


def make_continuation_arrival(event_id: EventId, old: ChainTip, at_ns: int) -> Arrival:
    """Return the first record of a store that continues from a copy of another store."""
    value: Json = {
        "custody": 1,
        "kind": CONTINUES,
        "at": format_timestamp(at_ns),
        "store": old.store,
        "seq": int(old.seq),
        "link": old.link.hex(),
    }
    return _make_record_arrival(event_id, CONTINUES, NaturalKey(f"{CONTINUES}:{old.store}:{event_id}"), at_ns, value)


def make_loss_arrival(line: str, at_ns: int) -> Arrival:
    """Return the record of an event that could not be recorded; equal lines give equal records."""
    name = digest_from_bytes(line.encode("utf-8", "backslashreplace")).hex()
    value: Json = {"custody": 1, "kind": LOST, "at": format_timestamp(at_ns), "what": line}
    return _make_record_arrival(EventId(f"{LOST}-{name}"), LOST, NaturalKey(f"{LOST}:{name}"), at_ns, value)


def make_erasure_arrival(
    event_id: EventId, digest: Digest, *, who: str, why: str, at_ns: int, mark: Digest | None = None
) -> Arrival:
    """Return the record that a body or a span was erased; by ``mark`` its store knows the span if it comes again."""
    value: dict[str, Json] = {
        "custody": 1,
        "kind": ERASED,
        "at": format_timestamp(at_ns),
        "digest": format_digest(digest),
        "who": who,
        "why": why,
    }
    if mark is not None:
        value["mark"] = format_digest(mark)
    return _make_record_arrival(
        event_id, ERASED, NaturalKey(f"{ERASED}:{format_digest(digest)}:{event_id}"), at_ns, value
    )


def _make_record_arrival(event_id: EventId, kind: object, key: NaturalKey, at_ns: int, value: Json) -> Arrival:
    split = split_payload_texts(value)
    # Marks and canonical numbers can make a payload deeper and longer than the input. Reject a payload that could
    # not be read again.
    payload = dump_readable_json(split.payload)
    return Arrival(RecordDraft(event_id, str(kind), key, at_ns, digest_from_bytes(payload)), payload, split.texts)


def transcript_natural_key(agent: str, line: str) -> NaturalKey:
    """Return the key of a transcript's line: its own id, since resumed sessions repeat lines of other sessions."""
    return NaturalKey(f"transcript:{_quote_key_part(agent)}:{_quote_key_part(line)}")


def make_span_key(execution: str, span: str, phase: str) -> NaturalKey:
    """Return the natural key of a span's start, its end, or all of it."""
    return NaturalKey(f"span:{_quote_key_part(execution)}:{_quote_key_part(span)}:{phase}")


def parse_span_key(key: NaturalKey) -> tuple[str, str] | None:
    """Return the execution and the span in a span's key; None for the key of another kind of record.

    >>> parse_span_key(NaturalKey("span:e%3A1:s1:whole"))
    ('e:1', 's1')
    """
    family, *parts = key.split(":")
    if family != "span" or len(parts) != 3:
        return None
    return (unquote(parts[0]), unquote(parts[1])) if "%" in key else (parts[0], parts[1])


def parse_decision_key(key: NaturalKey) -> tuple[str, str]:
    """Return the agent and the id in a decision's key; they are known even if its payload was erased.

    >>> parse_decision_key(NaturalKey("decision:claude-code::decision:commit%3A1a2b3c4d"))
    ('claude-code', 'commit:1a2b3c4d')
    """
    _, agent, _, _, name = key.split(":")
    return unquote(agent), unquote(name)


class EventKey(NamedTuple):
    """What the key of an agent's event says of it; it is known even if the payload was erased."""

    agent: str
    session: str
    event: str
    id: str


def parse_event_key(key: NaturalKey) -> EventKey | None:
    """Return what an event's key says; None for the key of another kind of record.

    >>> parse_event_key(NaturalKey("hook:gemini:s1:BeforeAgent:p%3A1"))
    EventKey(agent='gemini', session='s1', event='BeforeAgent', id='p:1')
    >>> parse_event_key(NaturalKey("lost:x"))
    """
    family, *parts = key.split(":")
    return EventKey(*map(unquote, parts)) if family in _EVENT_FAMILIES and len(parts) == len(EventKey._fields) else None


def _natural_key_from_event(event: AnyEvent) -> NaturalKey:
    if isinstance(event, TranscriptEvent):
        return transcript_natural_key(event.agent, event.id)
    if isinstance(event, ForeignTraceEvent | TraceLinkEvent):
        return NaturalKey(f"import:{event.__struct_config__.tag}:{_quote_key_part(event.id)}")
    if isinstance(event, RegistryEvent):
        # The key has the number, so that it is not used again if the registration is erased.
        return NaturalKey(f"{REGISTRY}:{event.number}:{event.op}:{_quote_key_part(event.id)}")
    if isinstance(event, SpanEvent):
        # Repeated exports of a program, or two exporters, report the same span.
        return make_span_key(event.execution, event.span, event.phase)
    kind = str(event.__struct_config__.tag)
    # Families are separate, since an agent may name its own events like one of our kinds.
    family = kind if isinstance(event, DecisionEvent | HookEvent | SnapshotEvent) else "event"
    what = event.event if isinstance(event, HookEvent) else kind
    # Each part is quoted, so that a ':' inside a session id cannot make two events look like one.
    session = f"{_quote_key_part(event.agent or '')}:{_quote_key_part(event.session or '')}"
    return NaturalKey(f"{family}:{session}:{_quote_key_part(what)}:{_quote_key_part(event.id)}")


def _quote_key_part(text: str) -> str:
    """Return ``quote(text, safe="")``; most names have nothing to quote."""
    return text if _match_plain_name()(text) else quote(text, safe="")


@cache
def _match_plain_name() -> Callable[[str], re.Match[str] | None]:
    """Return the match of a name that ``quote`` returns as it is."""
    return re.compile(r"[A-Za-z0-9_.~-]*").fullmatch
