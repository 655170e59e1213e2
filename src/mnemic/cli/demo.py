"""demo: an agent's memory at work on a bundled conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from mnemic.cli.ingest import finding_json, runs, survey, turns_of
from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.cli.output import Output, verdict_text
from mnemic.cli.views import hit_json
from mnemic.demo.sample import DemoQuestion, questions, sample_file
from mnemic.model import Actor, Hit

if TYPE_CHECKING:
    from rich.text import Text

    from mnemic.longterm.passes import Finding
    from mnemic.service import MemoryService

_TEXT_COLUMN = 35
_MARKS = {
    "*": "* given to the prompt",
    "+": "+ stands in the profile, which every prompt holds",
}


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "demo")(demo)


async def demo(common: Common) -> int:
    """Feed three bundled sessions to a fresh memory and show every verdict, then ask ten questions.

    Works in a directory of its own that is removed at the end, unless --data-dir names one.
    """
    from rich.text import Text

    started = time.perf_counter()
    actor = Actor(common.user or "demo", purpose="cli")
    with TemporaryDirectory(prefix="mnemic-demo-") as scratch:
        async with _service(common, Path(scratch)) as memory:
            taken = time.perf_counter() - started
            common.out.line(f"Memory opened in {taken:.1f} s: no server to set up, no API key.")
            turns, verdicts = await _listen(memory, actor, common.out)
            answers = await _ask(memory, actor, common.out)
    right = sum(answer["as_expected"] is True for answer in answers)
    seconds = time.perf_counter() - started
    common.out.result(
        {
            "turns": turns,
            "verdicts": verdicts,
            "questions": answers,
            "as_expected": right,
            "seconds": round(seconds, 1),
        },
        Text(
            f"\n{turns} turns, {len(verdicts)} verdicts, {right} of {len(answers)} questions"
            f" answered as expected, in {seconds:.1f} s.",
            style="bold",
        ),
    )
    return DONE if right == len(answers) else REFUSED


def _service(common: Common, scratch: Path) -> AbstractAsyncContextManager[MemoryService]:
    from mnemic.service import MemoryService

    if common.data_dir is not None or common.database_url is not None:
        return common.open()
    # what the environment names is somebody's real memory: only an option brings the sample there
    scratch_only = {
        "database_url": None,
        "migration_url": None,
        "data_dir": scratch / "data",
        "key_file": scratch / "key" / "demo.key",
    }
    return MemoryService.open(settings=common.settings().model_copy(update=scratch_only))


async def _listen(
    memory: MemoryService, actor: Actor, out: Output
) -> tuple[int, list[dict[str, Any]]]:
    """Log the bundled sessions, and extract at the end of each; return turns and verdicts."""
    from rich.text import Text

    verdicts = []
    with sample_file() as path:
        total, ends = survey(turns_of(path, []))
        for run in runs(turns_of(path, []), actor, ends):
            out.line(Text(f"\nSession {run.actor.session}, {len(run.turns)} turns", style="bold"))
            await memory.sessions.append(run.actor, run.turns)
            if run.complete:
                for finding in (await memory.extract(run.actor)).findings:
                    verdicts.append(finding_json(finding, run.actor))
                    out.line(await _told(memory, run.actor, finding), hang=_TEXT_COLUMN)
    return total, verdicts


async def _told(memory: MemoryService, actor: Actor, finding: Finding) -> Text:
    """Return turn, verdict, type and text, with the old value before the new one."""
    from rich.text import Text

    verdict, candidate = finding.verdict, finding.candidate
    turns = ",".join(map(str, candidate.seqs))
    line = verdict_text(verdict.outcome, width=10)
    line.append(f"  {candidate.memory_type:<10}  ", style="not bold dim")
    if verdict.outcome == "rejected":
        line.append(f"({verdict.message})", style="not bold default")
    elif verdict.of is None:
        line.append(candidate.content, style="not bold default")
    else:
        old = (await memory.get(actor, verdict.of)).content
        sign = "->" if verdict.outcome == "superseded" else "="
        line.append(f"{old} {sign} ", style="not bold dim")
        line.append(candidate.content, style="not bold default")
    if verdict.question:
        line.append(f"  {verdict.question}", style="not bold magenta")
    return Text(f"turn {turns:<5}  ").append(line)


async def _ask(memory: MemoryService, actor: Actor, out: Output) -> list[dict[str, object]]:
    from rich.text import Text

    answers: list[dict[str, object]] = []
    out.line(Text("\nQuestions", style="bold"))
    for number, question in enumerate(questions(), start=1):
        hits = await memory.search_memories(actor, question.query, k=3)
        context = await memory.build_context(actor, question.query, 400)
        good = as_expected(question, hits, context)
        out.line(Text(f"\n{number}. {question.query}", style="bold"), hang=3)
        out.line(Text(f"   {question.note}", style="dim"), hang=3)
        _show_answer(hits, context, good, out)
        answers.append(
            {
                "query": question.query,
                "hits": [hit_json(hit) for hit in hits],
                "context": context,
                "as_expected": good,
            }
        )
    return answers


def _show_answer(hits: Sequence[Hit], context: str, good: bool, out: Output) -> None:
    """Print the hits with their scores, marking those that the prompt would be given."""
    from rich.text import Text

    marks = [mark_of(hit.content, context) for hit in hits]
    for hit, mark in zip(hits, marks, strict=True):
        line = Text(f"   {hit.score:.2f} {mark} ")
        out.line(line.append(hit.content, style="dim" if mark == " " else ""), hang=10)
    told = [meaning for mark, meaning in _MARKS.items() if mark in marks]
    if "<memories>" not in context:
        told.append("no memory is given to the prompt")
    verdict = Text("as expected" if good else "NOT as expected", style="green" if good else "red")
    out.line(Text(f"   {'; '.join(told)}; ", style="dim") + verdict)


def mark_of(content: str, context: str) -> str:
    """Return the mark of a hit: given to the prompt as a memory, known from the profile there, or neither."""
    from mnemic.retrieval.context import quoted

    profile, memories = (
        context.partition(f"<{block}>")[2].partition(f"</{block}>")[0]
        for block in ("profile", "memories")
    )
    if quoted(content) in memories:
        return "*"
    return "+" if quoted(content) in profile else " "


def as_expected(question: DemoQuestion, hits: Sequence[Hit], context: str) -> bool:
    """Whether the best hit holds every expected keyword; no memory in the context where none is expected.

    The profile stands in every context.
    """
    if not question.expect:
        return "<memories>" not in context
    if not hits or not context:
        return False
    best = hits[0].content.casefold()
    return all(
        any(word.casefold() in best for word in keyword.split("|")) for keyword in question.expect
    )
