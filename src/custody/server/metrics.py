"""Counts of what the service did, in Prometheus' words; no project, no token and no path that a caller made up."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA = CONTENT_TYPE_LATEST.partition("; charset")[0]
"""Without the charset, which litestar adds to every text."""
GROUP_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """One service's counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "custody_requests",
            "Requests by route, method and status",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "custody_request_seconds", "Time to answer, by route", ("route",), registry=self._registry
        )
        self.in_flight = Gauge("custody_requests_in_flight", "Requests being answered", registry=self._registry)
        self.events = Counter(
            "custody_ingested", "Records that were sent, by what became of them", ("fate",), registry=self._registry
        )
        self.group = Histogram(
            "custody_commit_events",
            "Records that were committed together",
            buckets=GROUP_BUCKETS,
            registry=self._registry,
        )
        self.store_failures = Counter(
            "custody_store_failures", "Times that the store could not be used", registry=self._registry
        )

    def text(self) -> bytes:
        """All of them."""
        return generate_latest(self._registry)
