"""The state that all routes of a running service share."""

from collections import OrderedDict
from hashlib import sha256
from threading import Lock

from msgspec import Struct, field

from custody.server.app.questions import Note
from custody.server.auth import Settings
from custody.server.page_data.work import WorkQueue
from custody.server.pages.page import PageMemory
from custody.server.writer_queue import Metrics, Readers, Writers

# Every page that is opened logs its reads of conversations. When an open page refreshes its parts, a read is logged
# only if the same read was not logged recently for the same reader.


NOTED_NS_MAX = 10 * 60 * 1_000_000_000
"""How long a logged read covers the refreshes of an open page."""
NOTES_MAX = 10_000
"""Maximum cached reads; older ones are logged again."""

_Key = tuple[str, bytes]


class RecentReads:
    """The recently logged reads of every reader."""

    def __init__(self, *, most: int = NOTES_MAX) -> None:
        self._most = most
        self._at_ns: OrderedDict[_Key, int] = OrderedDict()
        self._lock = Lock()

    def limit_repeat_notes(self, note: Note, reader: str, now_ns: int, *, again: bool) -> Note:
        """Return a note function that skips recent repeats if the page is only refreshed (``again``)."""

        def note_new(what: str) -> None:
            key = (reader, sha256(what.encode("utf-8", "surrogatepass")).digest())
            if again and self._is_recent(key, now_ns):
                return
            note(what)
            self._keep(key, now_ns)

        return note_new

    def _is_recent(self, key: _Key, now_ns: int) -> bool:
        with self._lock:
            at_ns = self._at_ns.get(key)
        return at_ns is not None and 0 <= now_ns - at_ns <= NOTED_NS_MAX

    def _keep(self, key: _Key, now_ns: int) -> None:
        with self._lock:
            self._at_ns[key] = now_ns
            self._at_ns.move_to_end(key)
            while len(self._at_ns) > self._most:
                self._at_ns.popitem(last=False)


class Service(Struct):
    """A running service: settings, metrics, writers and readers."""

    settings: Settings
    metrics: Metrics
    writers: Writers
    readers: Readers
    unproven: int = 0
    """Bodies of unverified callers that are being read."""
    noted: RecentReads = field(default_factory=RecentReads)
    """The recently logged reads of pages."""
    memory: PageMemory = field(default_factory=PageMemory)
    """The caches of pages, and the queue of their long work."""

    @classmethod
    def of(cls, settings: Settings) -> "Service":
        """Return a service that is not started yet."""
        metrics = Metrics()
        writers = Writers(settings.keeper, metrics, settings.limits.waiting)
        memory = PageMemory(WorkQueue(settings.now_ns))
        return cls(settings, metrics, writers, Readers(settings.keeper), memory=memory)

    async def close(self) -> None:
        """Finish waiting writes and reads."""
        await self.writers.close()
        await self.readers.close()
