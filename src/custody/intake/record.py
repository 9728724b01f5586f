"""Recording of one event of an agent from this process, as the installed hook does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from custody.capture.hook.event_home import load_redaction_key, record_capture_gap
from custody.capture.hook.event_recorder import (
    HookArguments,
    HookInput,
    encode_hook_event,
    record_hook_event,
    snapshot_around_call,
)
from custody.capture.hook.redact import redact_value
from custody.capture.hook.secret_removal import REDACTION_FAILURES
from custody.capture.hook.secret_scan import has_possible_secret
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_bytes
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.capture.secret_prefilter import SecretPrefilter

SILENCE_SECONDS_MAX = 30.0
"""Longer than a hook waits: the program that writes to us may be slow."""


def record_agent_hook_event(
    workspace: Workspace, arguments: list[str], source: int, acknowledge: Callable[[str], None]
) -> None:
    """Record the event that ``source`` holds, and acknowledge it by its name once it is durable.

    A generic event that is not valid raises an ``InputError``.
    """
    if workspace.home is None:
        return
    # A person at a terminal may take any time.
    hook_input = HookInput(source, 0.0 if os.isatty(source) else SILENCE_SECONDS_MAX)
    hook_arguments, fields, home = HookArguments(arguments), hook_input.fields(), str(workspace.home)
    if fields is not None and "custody" in fields:
        _check_generic_hook_event(hook_arguments, hook_input, fields, home)
    name = record_hook_event(hook_arguments, hook_input, fields, home)
    if name is not None:
        acknowledge(name)
        snapshot_around_call(hook_arguments, fields, home)


def _check_generic_hook_event(
    arguments: HookArguments, hook_input: HookInput, fields: dict[str, Any], home: str
) -> None:
    """Refuse a generic event that would be set aside later, and record the gap."""
    try:
        if "kind" not in fields:
            raise InputError("not a valid event: 'kind' is missing")
        arrival_from_bytes(EventId("new"), encode_hook_event(arguments, hook_input, fields, home))
    except InputError as error:
        record_capture_gap(home, f"{arguments.agent}: {error.message}", dict(os.environ))
        raise
    except OSError:
        return  # the redaction key cannot be read: recording fails the same way, and reports it


def redact_event_payload(
    event: dict[str, Json], key: Callable[[], bytes], prefilter: SecretPrefilter | None = None
) -> dict[str, Json]:
    """Return ``event`` without its secrets, with marks that only this machine can match; ``InputError`` on failure.

    For events that do not come through a spool; the rules are those of the hook. An import of many events has a
    ``prefilter``.
    """
    data = _encode_hook_event(event)
    if (prefilter is not None and not prefilter.may_have_secret(data)) or not has_possible_secret(data):
        return event
    try:
        clean, marks = redact_value(event, key())
    except REDACTION_FAILURES as error:
        raise InputError(f"cannot remove secrets ({type(error).__name__})") from error
    redacted: dict[str, Json] = clean
    return {**redacted, "redacted": list(marks)} if marks else redacted


def may_any_event_have_secret(events: Sequence[dict[str, Json]], prefilter: SecretPrefilter) -> bool:
    """Return whether one of these events needs ``redact_event_payload``; it returns the others as they are."""
    return prefilter.may_any_have_secret([_encode_hook_event(event) for event in events])


def open_redaction_key(workspace: Workspace) -> bytes:
    """Return the key for the marks of redacted texts: this machine's own, or a temporary key where none is stored."""
    return workspace.token().encode() if workspace.home is None else load_redaction_key(str(workspace.home))


def _encode_hook_event(event: dict[str, Json]) -> bytes:
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        return dump_canonical_json(event)  # half of a surrogate pair, which only the slow encoder can write
