"""Record one event of an agent from this process, as the copied hook does; a generic event must be one."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from custody.capture.hook.event_home import add_gap, key_of
from custody.capture.hook.event_recorder import HookArguments, HookInput, event_bytes, keep, look_around
from custody.capture.hook.redact import redact_value
from custody.capture.hook.secret_removal import REDACTION_FAILURES
from custody.capture.hook.secret_scan import trips
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_of
from custody.core.wire.canonical import Json, dump
from custody.workspace.workspace import Workspace

SILENCE_SECONDS_MAX = 30.0
"""Longer than a hook waits: what writes to us may be a program that thinks first."""


def record_event(workspace: Workspace, arguments: list[str], source: int, acknowledge: Callable[[str], None]) -> None:
    """Keep what ``source`` says and acknowledge it by its name once it is durable; what is no event is refused."""
    if workspace.home is None:
        return
    # A person at a terminal may take any time.
    given = HookInput(source, 0.0 if os.isatty(source) else SILENCE_SECONDS_MAX)
    words, fields, home = HookArguments(arguments), given.fields(), str(workspace.home)
    if fields is not None and "custody" in fields:
        _check(words, given, fields, home)
    name = keep(words, given, fields, home)
    if name is not None:
        acknowledge(name)
        look_around(words, fields, home)


def _check(words: HookArguments, given: HookInput, fields: dict[str, Any], home: str) -> None:
    """Refuse a generic event that would be set aside later, and count it."""
    try:
        if "kind" not in fields:
            raise InputError("not a valid event: 'kind' is missing")
        arrival_of(EventId("new"), event_bytes(words, given, fields, home))
    except InputError as error:
        add_gap(home, f"{words.agent}: {error.message}", dict(os.environ))
        raise
    except OSError:
        return  # the key of redaction cannot be had: keeping it fails the same way, and says so


# Events that come by another way than a spool, without their secrets: the hook's rules, before anything is kept.


def redact_event_payload(event: dict[str, Json], key: Callable[[], bytes]) -> dict[str, Json]:
    """``event`` without its secrets, with marks that only this machine can match; an ``InputError`` if that fails."""
    if not trips(_bytes(event)):
        return event
    try:
        clean, marks = redact_value(event, key())
    except REDACTION_FAILURES as error:
        raise InputError(f"its secrets cannot be taken out ({type(error).__name__})") from error
    made: dict[str, Json] = clean
    return {**made, "redacted": list(marks)} if marks else made


def key_for(workspace: Workspace) -> bytes:
    """Return the key for the marks of redacted texts: this machine's own, or a temporary key where none is stored."""
    return workspace.token().encode() if workspace.home is None else key_of(str(workspace.home))


def _bytes(event: dict[str, Json]) -> bytes:
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        return dump(event)  # half of a pair, which only the slow way can write
