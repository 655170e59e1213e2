"""worker: what is done by the hour and by night."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.cli.output import plain
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from mnemic.jobs.runs import JobReport, Jobs, Witness

Once = Annotated[bool, typer.Option("--once", help="Run the jobs now, once, and end.")]
Only = Annotated[
    list[str] | None, typer.Option("--job", help="Only this job; may be given several times.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --once: only say what would be done.")
]
MetricsPort = Annotated[
    int | None, typer.Option(help="Show counts at this port of the loopback address.")
]
_WIDTH = 16


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "worker")(worker)


async def worker(
    common: Common,
    once: Once = False,
    job: Only = None,
    dry_run: DryRun = False,
    metrics_port: MetricsPort = None,
) -> int:
    """Archive, fold, close and remove what is due, until SIGTERM or Ctrl-C.

    Several workers may run: one at a time is at a job, and who is killed is followed by another.
    """
    if dry_run and not once:
        raise InvalidInput("wrong_usage", "Give --dry-run with --once.")
    if once and metrics_port is not None:
        raise InvalidInput("wrong_usage", "Give --metrics-port without --once.")
    from mnemic.jobs.runs import Jobs

    witness = None if metrics_port is None else _metrics(metrics_port)
    async with common.open() as memory:
        jobs = Jobs(memory, witness=witness)
        if once:
            return await _once(common, jobs, job or [], dry_run)
        if job:
            raise InvalidInput("wrong_usage", "Give --job with --once.")
        common.out.note(f"At work: {', '.join(jobs.names)}.")
        await jobs.forever(_stopped())
    return DONE


async def _once(common: Common, jobs: Jobs, names: list[str], dry_run: bool) -> int:
    with _bar(common) as progress:
        reports = await jobs.run(names, anyway=True, dry_run=dry_run, progress=progress)
    common.out.result({"dry_run": dry_run, "jobs": plain(reports)}, *map(_line, reports))
    return REFUSED if any(report.outcome == "failed" for report in reports) else DONE


@contextmanager
def _bar(common: Common) -> Iterator[Callable[[str, int], None]]:
    with common.out.progress(quiet=common.out.as_json) as bar:
        task = bar.add_task("", total=None)
        yield lambda name, done: bar.update(task, description=name, completed=done)


def _stopped() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _line(report: JobReport) -> str:
    head = f"{report.job:<{_WIDTH}} {report.outcome:<6}"
    counts = dict(report.counts or {})
    failed = counts.pop("failed", None) or {}
    told = [f"{name} {value:,}" for name, value in counts.items()]
    told += [f"left {n:,} [{code}]" for code, n in failed.items()]
    if report.outcome == "failed":
        told.append(f"[{report.code}]")
    if report.outcome == "would" and report.counts is None:
        told.append("(is not measured)")
    return f"{head} {', '.join(told)}".rstrip()


def _metrics(port: int) -> Witness:
    if not 0 < port <= 65_535:
        raise InvalidInput("port_out_of_range", "A port is a number from 1 to 65535.")
    from mnemic.access.credentials import require_server_extra

    require_server_extra()
    from mnemic.cli.job_metrics import JobMetrics

    return JobMetrics(port)
