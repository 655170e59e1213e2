"""demo: an agent's memory at work on a bundled conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.text import Text

from mnemic.cli.ingest import Tally, ingest_session, sessions
from mnemic.cli.memory import hit_json, hit_table
from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.cli.output import Output
from mnemic.demo.sample import DemoQuestion, questions, sample_file
from mnemic.model import Actor, Hit
from mnemic.service import MemoryService
from mnemic.session.transcript import read_transcript


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "demo")(demo)


async def demo(common: Common) -> int:
    """Feed three bundled sessions to a fresh memory and show every verdict, then ask ten questions.

    Works in a directory of its own that is removed at the end, unless --data-dir names one.
    """
    started = time.perf_counter()
    with TemporaryDirectory(prefix="mnemic-demo-") as scratch:
        settings = common.settings()
        if settings.data_dir is None and settings.database_url is None:
            home = Path(scratch)
            service = MemoryService.open(
                home / "data", key_file=home / "key" / "demo.key", settings=settings
            )
        else:
            service = MemoryService.open(settings=settings)
        actor = Actor(common.user or "demo", purpose="cli")
        async with service as memory:
            common.out.line(
                f"Memory opened in {time.perf_counter() - started:.1f} s: no server, key or network."
            )
            tally = await _listen(memory, actor, common.out)
            answers = await _answer(memory, actor, common.out)
    right = sum(answer["as_expected"] is True for answer in answers)
    seconds = time.perf_counter() - started
    common.out.result(
        {
            "turns": tally.turns,
            "outcomes": tally.outcomes,
            "verdicts": tally.verdicts,
            "questions": answers,
            "as_expected": right,
            "seconds": round(seconds, 1),
        },
        Text(
            f"\n{tally.turns} turns, {sum(tally.outcomes.values())} verdicts, {right} of {len(answers)}"
            f" questions answered as expected, in {seconds:.1f} s.",
            style="bold",
        ),
    )
    return DONE if right == len(answers) else REFUSED


async def _listen(memory: MemoryService, actor: Actor, out: Output) -> Tally:
    tally = Tally()
    with sample_file() as path:
        for owner, turns in sessions(read_transcript(path), actor, tally.problems):
            out.line(Text(f"\nSession {owner.session} ({len(turns)} turns)", style="bold"))
            await ingest_session(memory, owner, turns, tally, out)
    return tally


async def _answer(memory: MemoryService, actor: Actor, out: Output) -> list[dict[str, object]]:
    answers = []
    for number, question in enumerate(questions(), start=1):
        hits = await memory.search_memories(actor, question.query, k=3)
        context = await memory.build_context(actor, question.query, 400)
        good = as_expected(question, hits, context)
        out.line(Text(f"\n{number}. {question.query}", style="bold"))
        out.line(Text(f"   {question.note}", style="dim"))
        out.line(hit_table(hits))
        out.line(context or "   (nothing relevant is known, so the prompt gets nothing)")
        out.line(
            Text(
                "   as expected" if good else "   NOT as expected", style="green" if good else "red"
            )
        )
        answers.append(
            {
                "query": question.query,
                "hits": [hit_json(hit) for hit in hits],
                "context": context,
                "as_expected": good,
            }
        )
    return answers


def as_expected(question: DemoQuestion, hits: Sequence[Hit], context: str) -> bool:
    """Whether the best hit holds every expected keyword; nothing in the context where none is expected."""
    if not question.expect:
        return context == ""
    if not hits or not context:
        return False
    best = hits[0].content.casefold()
    return all(
        any(word.casefold() in best for word in keyword.split("|")) for keyword in question.expect
    )
