"""What the routes of one service share while it runs."""

from dataclasses import dataclass, field

from custody.server.metrics import Metrics
from custody.server.pages.page import PageMemory
from custody.server.pages.read_notes import RecentReads
from custody.server.reader_pool import Readers
from custody.server.settings import Settings
from custody.server.writer_queue import Writers


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
