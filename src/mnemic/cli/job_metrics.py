"""What does an operator see of a worker? Counts and durations by job and outcome."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server

from mnemic.errors import ConfigurationError
from mnemic.jobs.runs import Outcome

_LOOPBACK = "127.0.0.1"
_SECONDS = (0.1, 1, 10, 60, 600, 3_600)


class JobMetrics:
    """The counts of one worker, shown in the text format of Prometheus at a port of the loopback address."""

    def __init__(self, port: int) -> None:
        """Raises ConfigurationError (``port_taken``)."""
        registry = CollectorRegistry()
        self._runs = Counter(
            "mnemic_jobs", "Runs of jobs by outcome.", ("job", "outcome"), registry=registry
        )
        self._seconds = Histogram(
            "mnemic_job_seconds",
            "How long jobs take.",
            ("job",),
            buckets=_SECONDS,
            registry=registry,
        )
        try:
            start_http_server(port, _LOOPBACK, registry)
        except OSError as error:
            raise ConfigurationError(
                "port_taken", f"Port {port} is taken: name another one."
            ) from error

    def ran(self, name: str, outcome: Outcome, seconds: float) -> None:
        """Count a run."""
        self._runs.labels(name, outcome).inc()
        self._seconds.labels(name).observe(seconds)
