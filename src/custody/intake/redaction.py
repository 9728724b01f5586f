"""Events that come by another way than a spool, without their secrets: the hook's rules, before anything is kept."""

from collections.abc import Callable

import msgspec

from custody.capture.hook.event_home import key_of
from custody.capture.hook.redact import redact_value
from custody.capture.hook.secret_removal import REDACTION_FAILURES
from custody.capture.hook.secret_scan import trips
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump
from custody.workspace.workspace import Workspace


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
