"""What does the operator see? Counts and durations by route template, never by user, id or content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector

from mnemic.model import Verdict

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one process.

    ``shared`` is the directory in which several workers keep their counts (the variable
    PROMETHEUS_MULTIPROC_DIR of whoever starts them): each worker then shows those of all.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "mnemic_requests",
            "Requests by route template, method and status.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "mnemic_request_seconds",
            "Time from request to the end of the answer.",
            ("route", "method"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.verdicts = Counter(
            "mnemic_verdicts",
            "What the write gate decided.",
            ("verdict",),
            registry=self._registry,
        )

        self.fallbacks = Counter(
            "mnemic_rate_fallbacks",
            "Times that Redis was asked to count a request and did not, by cause.",
            ("cause",),
            registry=self._registry,
        )

    def fell_back(self, cause: str) -> None:
        """Count a time that the rate limit did without Redis."""
        self.fallbacks.labels(cause).inc()

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request; ``route`` is a template, so that ids make no series."""
        self.requests.labels(route, method, str(status)).inc()
        self.seconds.labels(route, method).observe(seconds)

    def decided(self, verdicts: Iterable[Verdict]) -> None:
        """Count the gate's decisions."""
        for verdict in verdicts:
            self.verdicts.labels(verdict.outcome).inc()

    def shown(self) -> bytes:
        """Return everything in the text format of Prometheus."""
        if self._shared is None:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        collect: Callable[..., object] = MultiProcessCollector
        collect(registry, path=str(self._shared))
        return generate_latest(registry)
