"""ingest: a file of conversations through the log, the extraction and the gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from mnemic.cli.memory import verdict_json
from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.cli.output import Output, verdict_text
from mnemic.errors import RateLimited
from mnemic.longterm.passes import Finding, PassReport
from mnemic.model import Actor, Turn
from mnemic.service import MemoryService
from mnemic.session.transcript import Problem, Spoken, read_transcript

_BATCH = 200


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

    Lines {"role", "content", "session", "time"}, {"turns": [...]} or {"corpus": [...], "conv_id"}; each
    conversation of the last kind becomes a user of its own. A bad line is reported and the rest goes on.
    """
    tally = Tally()
    async with common.open() as memory:
        with common.out.progress() as progress:
            bar = progress.add_task("turns", total=None)
            for actor, turns in sessions(
                read_transcript(file), common.actor, tally.problems, limit
            ):
                await ingest_session(memory, actor, turns, tally, common.out)
                progress.update(bar, completed=tally.turns)
    report(tally, common.out)
    return REFUSED if tally.problems else DONE


def sessions(
    spoken: Iterable[Spoken | Problem],
    actor: Actor,
    problems: list[Problem],
    limit: int | None = None,
) -> Iterator[tuple[Actor, list[Turn]]]:
    """Yield runs of turns that belong together, at most 200 at once; problems go into ``problems``."""

    def readable() -> Iterator[Spoken]:
        count = 0
        for entry in spoken:
            if isinstance(entry, Problem):
                problems.append(entry)
            elif limit is None or count < limit:
                count += 1
                yield entry

    for (user, session), run in groupby(readable(), key=lambda s: (s.user, s.session)):
        owner = replace(actor, user=user or actor.user, session=session)
        turns: list[Turn] = []
        for entry in run:
            turns.append(entry.turn)
            if len(turns) == _BATCH:
                yield owner, turns
                turns = []
        if turns:
            yield owner, turns


async def ingest_session(
    memory: MemoryService, actor: Actor, turns: list[Turn], tally: Tally, out: Output
) -> PassReport | None:
    """Log turns, run a pass and print its verdicts as they are written."""
    await memory.sessions.append(actor, turns)
    tally.turns += len(turns)
    tally.sessions += 1
    try:
        report = await memory.extract(actor)
    except RateLimited:
        tally.late.append(str(actor.session))
        return None
    for finding in report.findings:
        tally.outcomes[finding.verdict.outcome] += 1
        if out.as_json:
            tally.verdicts.append(finding_json(finding, actor))
        else:
            out.line(finding_line(finding))
    return report


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
    """Return a verdict for people: what, why, and about which text (never a refused one)."""
    verdict, candidate = finding.verdict, finding.candidate
    line = verdict_text(f"{verdict.outcome:<10}")
    shown = f"({verdict.message})" if verdict.outcome == "rejected" else candidate.content
    line.append(f" {verdict.id or verdict.of or '-'} ", style="dim not bold")
    line.append(f"{candidate.memory_type:<10} {shown}", style="not bold default")
    parts = (verdict.reason, f"of {verdict.of}" if verdict.of else None)
    why = ", ".join(part for part in parts if part)
    if why:
        line.append(f"  [{why}]", style="dim not bold")
    return line


def report(tally: Tally, out: Output) -> None:
    """Print what became of the file."""
    for problem in tally.problems[:20]:
        out.note(f"line {problem.line}: {problem.message} [{problem.reason}]")
    if tally.late:
        out.note(
            f"{len(tally.late)} passes are late (rate limit); their turns are kept and come next."
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
        f"{tally.turns} turns in {tally.sessions} sessions: {counts or 'nothing to remember'};"
        f" {len(tally.problems)} bad lines.",
    )
