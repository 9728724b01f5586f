"""Record one event of an agent from this process, exactly as the copied hook does."""

from typing import BinaryIO

from custody.app.desk import Desk
from custody.world.hook.recording import Given, Words, record


def record_event(desk: Desk, arguments: list[str], stream: BinaryIO) -> str | None:
    """Keep what ``stream`` says; give the event's name once it is durable, None when only a gap could be counted."""
    if desk.home is None:
        return None
    given = Given(stream)
    return record(Words(arguments), given, given.fields(), str(desk.home))
