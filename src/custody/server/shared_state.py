"""What the routes of one service share while it runs."""

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock

from custody.server.app.questions import Note
from custody.server.auth import Settings
from custody.server.pages.page import PageMemory
from custody.server.writer_queue import Metrics, Readers, Writers

# Which readings of conversations were noted lately: a page that is open reads the same words again and again.
# The first look is always noted, and so is every page that somebody opens. When a page that is open takes in its
# parts again, what it reads is noted only if the same was not noted for the same reader a while ago.


NOTED_NS_MAX = 10 * 60 * 1_000_000_000
"""So long a note stands for a page that is looked at."""
NOTES_MAX = 10_000
"""Notes that are remembered; what is forgotten is noted again."""

_Key = tuple[str, bytes]


class RecentReads:
    """What was noted lately, of every reader."""

    def __init__(self, *, most: int = NOTES_MAX) -> None:
        self._most = most
        self._at_ns: OrderedDict[_Key, int] = OrderedDict()
        self._lock = Lock()

    def noting(self, note: Note, reader: str, now_ns: int, *, again: bool) -> Note:
        """A note that, when a page is only taken in ``again``, stands for all of the same words in a while."""

        def once(what: str) -> None:
            key = (reader, sha256(what.encode("utf-8", "surrogatepass")).digest())
            if again and self._stands(key, now_ns):
                return
            note(what)
            self._keep(key, now_ns)

        return once

    def _stands(self, key: _Key, now_ns: int) -> bool:
        with self._lock:
            at_ns = self._at_ns.get(key)
        return at_ns is not None and 0 <= now_ns - at_ns <= NOTED_NS_MAX

    def _keep(self, key: _Key, now_ns: int) -> None:
        with self._lock:
            self._at_ns[key] = now_ns
            self._at_ns.move_to_end(key)
            while len(self._at_ns) > self._most:
                self._at_ns.popitem(last=False)


@dataclass(slots=True)
class Service:
    """A service that runs: how it is set, its counts, its writers and its readers."""

    settings: Settings
    metrics: Metrics
    writers: Writers
    readers: Readers
    unproven: int = 0
    """Bodies that arrive from callers who have shown nothing yet."""
    noted: RecentReads = field(default_factory=RecentReads)
    """Which readings of conversations pages have noted lately."""
    memory: PageMemory = field(default_factory=PageMemory)
    """What pages remember."""

    @classmethod
    def of(cls, settings: Settings) -> "Service":
        """A service that has not begun to answer."""
        metrics = Metrics()
        writers = Writers(settings.keeper, metrics, settings.limits.waiting)
        return cls(settings, metrics, writers, Readers(settings.keeper))

    async def close(self) -> None:
        """Write what waits and answer what was asked."""
        await self.writers.close()
        await self.readers.close()
