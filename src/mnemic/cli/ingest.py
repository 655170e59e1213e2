"""ingest: a file of conversations through the log, the extraction and the gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.checks import whole
from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.cli.output import Output, counted, verdict_text
from mnemic.cli.views import verdict_json
from mnemic.errors import RateLimited
from mnemic.model import Actor, Turn
from mnemic.session.transcript import Problem, Spoken, read_transcript, require_readable

if TYPE_CHECKING:
    from rich.text import Text

    from mnemic.longterm.passes import Finding
    from mnemic.service import MemoryService

_BATCH = 200
_SHOWN = 20


Ends = dict[tuple[str | None, str], int]


@dataclass(frozen=True, slots=True)
class Run:
    """Turns of one session; ``complete`` when it has no more of them in this file."""

    actor: Actor
    turns: list[Turn]
    complete: bool


@dataclass
class Tally:
    """What became of a file so far."""

    turns: int = 0
    sessions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "ingest")(ingest)


async def ingest(
    common: Common,
    file: Annotated[
        Path, typer.Argument(help="JSON lines of turns or conversations, also gzipped.")
    ],
    limit: Annotated[int | None, typer.Option(help="Stop after so many turns.")] = None,
) -> int:
    """Log the turns of a file and extract memories, session by session.

    Lines are turns {"role", "content", "session", "time"}, sessions {"turns": [...], "id"} or
    conversations {"corpus": [...], "conv_id"}, each a user of its own. A bad line is reported and the
    rest goes on.
    """
    if limit is not None:
        whole(limit, 1, 10**9, "limit")
    require_readable(file)
    tally, actor = Tally(), common.actor
    total, ends = survey(turns_of(file, [], limit))
    async with common.open() as memory:
        with common.out.progress() as progress:
            bar = progress.add_task("turns", total=total)
            for run in runs(turns_of(file, tally.problems, limit), actor, ends):
                await ingest_run(memory, run, tally, common.out)
                progress.update(bar, completed=tally.turns)
    report(tally, common.out)
    return REFUSED if tally.problems else DONE


def turns_of(path: Path, problems: list[Problem], limit: int | None = None) -> Iterator[Spoken]:
    """Yield the turns of a file, at most ``limit``; what cannot be read goes into ``problems``."""
    count = 0
    for entry in read_transcript(path):
        if isinstance(entry, Problem):
            problems.append(entry)
        elif limit is not None and count == limit:
            return
        else:
            count += 1
            yield entry


def survey(spoken: Iterable[Spoken]) -> tuple[int, Ends]:
    """Return how many turns there are, and at which of them each session ends (counted from 1)."""
    total, ends = 0, {}
    for total, entry in enumerate(spoken, start=1):
        ends[entry.user, entry.session] = total
    return total, ends


def runs(spoken: Iterable[Spoken], actor: Actor, ends: Ends) -> Iterator[Run]:
    """Yield turns that follow each other in one session, at most 200 at once."""
    count = 0
    for (user, session), entries in groupby(spoken, key=lambda one: (one.user, one.session)):
        owner = replace(actor, user=user or actor.user, session=session)
        while turns := [entry.turn for entry in islice(entries, _BATCH)]:
            count += len(turns)
            yield Run(owner, turns, complete=count >= ends[user, session])


async def ingest_run(memory: MemoryService, run: Run, tally: Tally, out: Output) -> None:
    """Log turns; at the end of their session run its one pass and print the verdicts."""
    await memory.sessions.append(run.actor, run.turns)
    tally.turns += len(run.turns)
    if not run.complete:
        return
    tally.sessions += 1
    try:
        passed = await memory.extract(run.actor)
    except RateLimited:
        tally.late.append(str(run.actor.session))
        return
    for finding in passed.findings:
        tally.outcomes[finding.verdict.outcome] += 1
        if out.as_json:
            tally.verdicts.append(finding_json(finding, run.actor))
        else:
            out.line(finding_line(finding), hang=4)


def finding_json(finding: Finding, actor: Actor) -> dict[str, Any]:
    """Return a verdict with the proposal that it is about."""
    candidate = finding.candidate
    return {
        **verdict_json(finding.verdict),
        "user": actor.user,
        "session": actor.session,
        "memory_type": candidate.memory_type,
        "scope": candidate.scope,
        "turns": list(candidate.seqs),
        "rule": candidate.reason,
    }


def finding_line(finding: Finding) -> Text:
    """Return a verdict for people: what, about which text (never a refused one), and why."""
    verdict, candidate = finding.verdict, finding.candidate
    line = verdict_text(verdict.outcome, width=10)
    shown = f"({verdict.message})" if verdict.outcome == "rejected" else candidate.content
    line.append(f" {verdict.id or verdict.of or '-'} ", style="dim not bold")
    line.append(f"{candidate.memory_type:<10} {shown}", style="not bold default")
    of = f"of {verdict.of}" if verdict.of and verdict.id else None
    why = ", ".join(part for part in (verdict.reason, of) if part)
    if why:
        line.append(f"  [{why}]", style="dim not bold")
    return line


def report(tally: Tally, out: Output) -> None:
    """Print what became of the file."""
    for problem in tally.problems[:_SHOWN]:
        out.note(f"line {problem.line}: {problem.message} [{problem.reason}]")
    if len(tally.problems) > _SHOWN:
        out.note(f"... and {len(tally.problems) - _SHOWN} more")
    if tally.late:
        their = "its" if len(tally.late) == 1 else "their"
        out.note(
            f"{counted(len(tally.late), 'session')} had {their} passes of the last 24 hours; {their} turns"
            " are kept and the next pass begins with them."
        )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.outcomes.items()))
    out.result(
        {
            "turns": tally.turns,
            "sessions": tally.sessions,
            "outcomes": tally.outcomes,
            "verdicts": tally.verdicts,
            "problems": tally.problems,
            "late": tally.late,
        },
        f"{counted(tally.turns, 'turn')} in {counted(tally.sessions, 'session')}:"
        f" {counts or 'nothing to remember'}."
        + (f" {counted(len(tally.problems), 'bad line')}." if tally.problems else ""),
    )
