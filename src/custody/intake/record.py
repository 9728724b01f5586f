"""Record one event of an agent from this process, as the copied hook does; a generic event must be one."""

import os
from collections.abc import Callable
from typing import Any

from custody.capture.hook.event_home import add_gap
from custody.capture.hook.event_recorder import HookArguments, HookInput, event_bytes, keep, look_around
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_of
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
