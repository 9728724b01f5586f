"""Events of the registry as the payload of a record, or as a line of a registry file, and back: one shape for both."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import msgspec

from custody.cite.keys import SourceKeys
from custody.cite.links import LinkAnswer, LinkCheck
from custody.cite.results import source_fields, source_from
from custody.cite.shelf import (
    AddressSplit,
    ExcerptEvent,
    LinkCheckEvent,
    MergeReversal,
    RegistrationReason,
    SourceLost,
    SourceMergeEvent,
    SourceReading,
    SourceRegistration,
    SourceUseEvent,
    Stamp,
)
from custody.cite.shelf import RegistryChange as Happened
from custody.core.errors import InputError
from custody.core.views import Reading, View
from custody.core.wire.arrival import REGISTRY
from custody.core.wire.canonical import Json
from custody.core.wire.event import RegistrationKeys, RegistryEvent, SourceDescription, WorkIdentifier, event_from
from custody.core.wire.time import ns_from, text_from


def payload_of(event: Happened) -> dict[str, Json]:
    """What a record or a line of a file says about one event."""
    if isinstance(event, SourceLost):
        raise ValueError("that something was lost is found, never recorded")
    op, fields = _WRITE[type(event)](event)
    stamp = event.stamp
    said: dict[str, Json] = {
        "custody": 1,
        "kind": REGISTRY,
        "id": stamp.id,
        "at": text_from(stamp.at_ns),
        "op": op,
        "number": event.number,
        "who": stamp.who,
        **fields,
    }
    return {name: value for name, value in said.items() if value is not None}


def decode_registry_event(payload: Json) -> Happened:
    """The event that a payload tells of, or an ``InputError`` that says what is missing from it."""
    said = event_from(payload)
    if not isinstance(said, RegistryEvent):
        raise InputError(f"'{said.__struct_config__.tag}' is no event of a registry")
    try:
        return _READ[said.op](said, Stamp(id=said.id, at_ns=ns_from(said.at), who=said.who))
    except _MissingPart as missing:
        raise InputError(f"not a valid event: '{said.op}' without '{missing}'") from missing


def registry_views(payload: Json) -> tuple[View, ...]:
    """No view of its own; an ``InputError`` when it is no event of a registry."""
    decode_registry_event(payload)
    return ()


class _MissingPart(Exception):
    """A part that an event of its kind must have."""


def _require_part(name: str, value: Any) -> Any:
    if value is None:
        raise _MissingPart(name)
    return value


def _write_registered(event: SourceRegistration) -> tuple[str, dict[str, Json]]:
    said = SourceDescription(**source_fields(event.source))
    work = None if event.keys.work is None else WorkIdentifier(*event.keys.work)
    keys = RegistrationKeys(canonical=event.keys.canonical, url=event.keys.url, work=work)
    return "register", {
        "how": event.how.value,
        "source": msgspec.to_builtins(said),
        "keys": msgspec.to_builtins(keys),
    }


def _read_registered(said: RegistryEvent, stamp: Stamp) -> SourceRegistration:
    source: SourceDescription = _require_part("source", said.source)
    keys: RegistrationKeys = _require_part("keys", said.keys)
    return SourceRegistration(
        stamp=stamp,
        number=said.number,
        how=RegistrationReason(_require_part("how", said.how)),
        keys=SourceKeys(keys.canonical, keys.url, None if keys.work is None else (keys.work.kind, keys.work.id)),
        source=source_from(msgspec.structs.asdict(source)),
    )


def _write_merged(event: SourceMergeEvent) -> tuple[str, dict[str, Json]]:
    keys: list[Json] = list(event.keys)
    return "merge", {
        "other": event.absorbed,
        "how": event.how.value,
        "reason": event.reason,
        "by_keys": keys or None,
    }


def _read_merged(said: RegistryEvent, stamp: Stamp) -> SourceMergeEvent:
    return SourceMergeEvent(
        stamp=stamp,
        number=said.number,
        absorbed=_require_part("other", said.other),
        how=RegistrationReason(_require_part("how", said.how)),
        reason=said.reason or "",
        keys=tuple(said.by_keys),
    )


def _write_unmerged(event: MergeReversal) -> tuple[str, dict[str, Json]]:
    return "unmerge", {"other": event.absorbed, "reason": event.reason}


def _read_unmerged(said: RegistryEvent, stamp: Stamp) -> MergeReversal:
    return MergeReversal(
        stamp=stamp, number=said.number, absorbed=_require_part("other", said.other), reason=said.reason or ""
    )


def _write_parted(event: AddressSplit) -> tuple[str, dict[str, Json]]:
    return "part", {"other": event.of, "spelling": event.spelling, "reason": event.reason}


def _read_parted(said: RegistryEvent, stamp: Stamp) -> AddressSplit:
    return AddressSplit(
        stamp=stamp,
        number=said.number,
        of=_require_part("other", said.other),
        spelling=_require_part("spelling", said.spelling),
        reason=said.reason or "",
    )


def _write_excerpted(event: ExcerptEvent) -> tuple[str, dict[str, Json]]:
    span: Json = None if event.span is None else {"first": event.span[0], "last": event.span[1]}
    return "excerpt", {"content": event.digest, "text": event.text, "span": span}


def _read_excerpted(said: RegistryEvent, stamp: Stamp) -> ExcerptEvent:
    return ExcerptEvent(
        stamp=stamp,
        number=said.number,
        digest=_require_part("content", said.content),
        text=said.text if isinstance(said.text, str) else None,
        span=None if said.span is None else (said.span.first, said.span.last),
    )


def _write_read(event: SourceReading) -> tuple[str, dict[str, Json]]:
    return "read", {"reading": event.reading.value, "session": event.session, "call": event.call}


def _read_read(said: RegistryEvent, stamp: Stamp) -> SourceReading:
    return SourceReading(
        stamp=stamp,
        number=said.number,
        reading=Reading(_require_part("reading", said.reading)),
        session=said.session,
        call=said.call,
    )


def _write_used(event: SourceUseEvent) -> tuple[str, dict[str, Json]]:
    return "use", {"artifact_type": event.kind, "artifact": event.artifact}


def _read_used(said: RegistryEvent, stamp: Stamp) -> SourceUseEvent:
    return SourceUseEvent(
        stamp=stamp,
        number=said.number,
        kind=_require_part("artifact_type", said.artifact_type),
        artifact=_require_part("artifact", said.artifact),
    )


def _write_checked(event: LinkCheckEvent) -> tuple[str, dict[str, Json]]:
    look = event.look
    return "check", {
        "spelling": look.url,
        "answer": look.answer.value,
        "reason": look.why,
        "status": look.status,
        "location": look.location,
        "retry_seconds": look.retry_seconds,
    }


def _read_checked(said: RegistryEvent, stamp: Stamp) -> LinkCheckEvent:
    look = LinkCheck(
        url=_require_part("spelling", said.spelling),
        answer=LinkAnswer(_require_part("answer", said.answer)),
        why=said.reason or "",
        status=said.status,
        location=said.location,
        retry_seconds=said.retry_seconds,
    )
    return LinkCheckEvent(stamp=stamp, number=said.number, look=look)


_WRITE: MappingProxyType[type[Happened], Callable[[Any], tuple[str, dict[str, Json]]]] = MappingProxyType(
    {
        SourceRegistration: _write_registered,
        SourceMergeEvent: _write_merged,
        MergeReversal: _write_unmerged,
        AddressSplit: _write_parted,
        ExcerptEvent: _write_excerpted,
        SourceReading: _write_read,
        SourceUseEvent: _write_used,
        LinkCheckEvent: _write_checked,
    }
)
_READ: MappingProxyType[str, Callable[[RegistryEvent, Stamp], Happened]] = MappingProxyType(
    {
        "register": _read_registered,
        "merge": _read_merged,
        "unmerge": _read_unmerged,
        "part": _read_parted,
        "excerpt": _read_excerpted,
        "read": _read_read,
        "use": _read_used,
        "check": _read_checked,
    }
)
