"""Registry events as JSON, the same for records and for lines of a registry file."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import msgspec

from custody.cite.catalog import (
    AddressSplit,
    ExcerptEvent,
    LinkCheckEvent,
    MergeReversal,
    RegistrationReason,
    RegistryChange,
    SourceLost,
    SourceMergeEvent,
    SourceReading,
    SourceRegistration,
    SourceUseEvent,
    Stamp,
)
from custody.cite.keys import SourceKeys
from custody.cite.links import LinkAnswer, LinkCheck
from custody.cite.results import source_from, source_to_fields
from custody.core.errors import InputError
from custody.core.views import Reading, View
from custody.core.wire.arrival import REGISTRY
from custody.core.wire.canonical import Json
from custody.core.wire.event import (
    AnyEvent,
    RegistrationKeys,
    RegistryEvent,
    SourceDescription,
    WorkIdentifier,
    event_from_json,
)
from custody.core.wire.time import format_timestamp, parse_timestamp


def encode_source_event(event: RegistryChange) -> dict[str, Json]:
    """Return the JSON of an event."""
    if isinstance(event, SourceLost):
        raise ValueError("a loss is never recorded")
    op, fields = _WRITE[type(event)](event)
    stamp = event.stamp
    message: dict[str, Json] = {
        "custody": 1,
        "kind": REGISTRY,
        "id": stamp.id,
        "at": format_timestamp(stamp.at_ns),
        "op": op,
        "number": event.number,
        "who": stamp.who,
        **fields,
    }
    return {name: value for name, value in message.items() if value is not None}


def decode_source_event(payload: Json | AnyEvent) -> RegistryChange:
    """Return the event of a payload, or raise ``InputError`` for what is missing."""
    message = event_from_json(payload)
    if not isinstance(message, RegistryEvent):
        raise InputError(f"'{message.__struct_config__.tag}' is not a registry event")
    try:
        return _READ[message.op](message, Stamp(id=message.id, at_ns=parse_timestamp(message.at), who=message.who))
    except _MissingPart as missing:
        raise InputError(f"invalid event: '{message.op}' without '{missing}'") from missing


def source_registry_views(payload: Json | AnyEvent) -> tuple[View, ...]:
    """Check that a message is a registry event, or raise ``InputError``; it has no view of its own."""
    decode_source_event(payload)
    return ()


class _MissingPart(Exception):
    """Return a required part of an event."""


def _require_source_event_part(name: str, value: Any) -> Any:
    if value is None:
        raise _MissingPart(name)
    return value


def _encode_source_registration(event: SourceRegistration) -> tuple[str, dict[str, Json]]:
    description = SourceDescription(**source_to_fields(event.source))
    work = None if event.keys.work is None else WorkIdentifier(*event.keys.work)
    keys = RegistrationKeys(canonical=event.keys.canonical, url=event.keys.url, work=work)
    return "register", {
        "how": event.how.value,
        "source": msgspec.to_builtins(description),
        "keys": msgspec.to_builtins(keys),
    }


def _decode_source_registration(message: RegistryEvent, stamp: Stamp) -> SourceRegistration:
    source: SourceDescription = _require_source_event_part("source", message.source)
    keys: RegistrationKeys = _require_source_event_part("keys", message.keys)
    return SourceRegistration(
        stamp=stamp,
        number=message.number,
        how=RegistrationReason(_require_source_event_part("how", message.how)),
        keys=SourceKeys(keys.canonical, keys.url, None if keys.work is None else (keys.work.kind, keys.work.id)),
        source=source_from(msgspec.structs.asdict(source)),
    )


def _encode_source_merge(event: SourceMergeEvent) -> tuple[str, dict[str, Json]]:
    keys: list[Json] = list(event.keys)
    return "merge", {
        "other": event.absorbed,
        "how": event.how.value,
        "reason": event.reason,
        "by_keys": keys or None,
    }


def _decode_source_merge(message: RegistryEvent, stamp: Stamp) -> SourceMergeEvent:
    return SourceMergeEvent(
        stamp=stamp,
        number=message.number,
        absorbed=_require_source_event_part("other", message.other),
        how=RegistrationReason(_require_source_event_part("how", message.how)),
        reason=message.reason or "",
        keys=tuple(message.by_keys),
    )


def _encode_source_unmerge(event: MergeReversal) -> tuple[str, dict[str, Json]]:
    return "unmerge", {"other": event.absorbed, "reason": event.reason}


def _decode_source_unmerge(message: RegistryEvent, stamp: Stamp) -> MergeReversal:
    return MergeReversal(
        stamp=stamp,
        number=message.number,
        absorbed=_require_source_event_part("other", message.other),
        reason=message.reason or "",
    )


def _encode_source_split(event: AddressSplit) -> tuple[str, dict[str, Json]]:
    return "part", {"other": event.of, "spelling": event.spelling, "reason": event.reason}


def _decode_source_split(message: RegistryEvent, stamp: Stamp) -> AddressSplit:
    return AddressSplit(
        stamp=stamp,
        number=message.number,
        of=_require_source_event_part("other", message.other),
        spelling=_require_source_event_part("spelling", message.spelling),
        reason=message.reason or "",
    )


def _encode_source_excerpt(event: ExcerptEvent) -> tuple[str, dict[str, Json]]:
    span: Json = None if event.span is None else {"first": event.span[0], "last": event.span[1]}
    return "excerpt", {"content": event.digest, "text": event.text, "span": span}


def _decode_source_excerpt(message: RegistryEvent, stamp: Stamp) -> ExcerptEvent:
    return ExcerptEvent(
        stamp=stamp,
        number=message.number,
        digest=_require_source_event_part("content", message.content),
        text=message.text if isinstance(message.text, str) else None,
        span=None if message.span is None else (message.span.first, message.span.last),
    )


def _encode_source_reading(event: SourceReading) -> tuple[str, dict[str, Json]]:
    return "read", {"reading": event.reading.value, "session": event.session, "call": event.call}


def _decode_source_reading(message: RegistryEvent, stamp: Stamp) -> SourceReading:
    return SourceReading(
        stamp=stamp,
        number=message.number,
        reading=Reading(_require_source_event_part("reading", message.reading)),
        session=message.session,
        call=message.call,
    )


def _encode_source_use(event: SourceUseEvent) -> tuple[str, dict[str, Json]]:
    return "use", {"artifact_type": event.kind, "artifact": event.artifact}


def _decode_source_use(message: RegistryEvent, stamp: Stamp) -> SourceUseEvent:
    return SourceUseEvent(
        stamp=stamp,
        number=message.number,
        kind=_require_source_event_part("artifact_type", message.artifact_type),
        artifact=_require_source_event_part("artifact", message.artifact),
    )


def _encode_link_check(event: LinkCheckEvent) -> tuple[str, dict[str, Json]]:
    check = event.look
    return "check", {
        "spelling": check.url,
        "answer": check.answer.value,
        "reason": check.why,
        "status": check.status,
        "location": check.location,
        "retry_seconds": check.retry_seconds,
    }


def _decode_link_check(message: RegistryEvent, stamp: Stamp) -> LinkCheckEvent:
    check = LinkCheck(
        url=_require_source_event_part("spelling", message.spelling),
        answer=LinkAnswer(_require_source_event_part("answer", message.answer)),
        why=message.reason or "",
        status=message.status,
        location=message.location,
        retry_seconds=message.retry_seconds,
    )
    return LinkCheckEvent(stamp=stamp, number=message.number, look=check)


_WRITE: MappingProxyType[type[RegistryChange], Callable[[Any], tuple[str, dict[str, Json]]]] = MappingProxyType(
    {
        SourceRegistration: _encode_source_registration,
        SourceMergeEvent: _encode_source_merge,
        MergeReversal: _encode_source_unmerge,
        AddressSplit: _encode_source_split,
        ExcerptEvent: _encode_source_excerpt,
        SourceReading: _encode_source_reading,
        SourceUseEvent: _encode_source_use,
        LinkCheckEvent: _encode_link_check,
    }
)
_READ: MappingProxyType[str, Callable[[RegistryEvent, Stamp], RegistryChange]] = MappingProxyType(
    {
        "register": _decode_source_registration,
        "merge": _decode_source_merge,
        "unmerge": _decode_source_unmerge,
        "part": _decode_source_split,
        "excerpt": _decode_source_excerpt,
        "read": _decode_source_reading,
        "use": _decode_source_use,
        "check": _decode_link_check,
    }
)
