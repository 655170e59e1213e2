"""Does the service stand two hundred clients at once, and lose nothing?

python -m benchmarks.soak                  200 clients for a minute on embedded stores
python -m benchmarks.soak --write          the same, into docs/reference/soak.md

In one run: the bare route, `mnemic serve`, the bare route again; then every memory whose 201 came is
looked for. The exit status is 1 when a budget is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import table
from benchmarks.soak_clients import Answer, Figures, drive
from benchmarks.soak_page import page
from benchmarks.soak_servers import Ours, bare, ours, stored_ids
from benchmarks.soak_texts import bare_asks, our_asks
from benchmarks.table import Line

PAGE = Path(__file__).parent.parent / "docs/reference/soak.md"
_MARK = re.compile(rb"of client (\d+)")
RATE, REFUSED, FLOORS = 300.0, 0.05, 6.0
"""Requests a second at least, share of 429 at most, times the floor's p95 at most."""


@dataclass(slots=True)
class Witnessed:
    """What the clients were told: ids of what was stored, and whether anything of another's was shown."""

    ids: dict[int, set[str]] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    leaks: int = 0
    hits: int = 0

    def see(self, answer: Answer) -> None:
        marks = _MARK.findall(answer.body)
        self.leaks += any(int(mark) != answer.client for mark in marks)
        if answer.kind == "search":
            self.hits += bool(marks)
            return
        if answer.status not in (200, 201):
            return
        verdict = json.loads(answer.body)
        self.verdicts[verdict["verdict"]] = self.verdicts.get(verdict["verdict"], 0) + 1
        if answer.status == 201:
            self.ids.setdefault(answer.client, set()).add(verdict["id"])


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("soak", description="Load `mnemic serve` beside a bare route.")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of the service; the floor half"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--adds", type=float, default=0.25, help="share of writes among requests")
    parser.add_argument("--write", action="store_true", help="write docs/reference/soak.md")
    return parser.parse_args(arguments)


async def soak(wanted: argparse.Namespace) -> tuple[list[Line], dict[str, str]]:
    """Run it; return the lines, and facts about the run."""
    seen, facts = Witnessed(), {"load average before": table.machine()["load average"]}
    half = wanted.seconds / 4
    with tempfile.TemporaryDirectory(prefix="mnemic-soak-") as home:
        async with ours(Path(home), wanted.workers) as served:
            async with bare(served.owner_url, wanted.workers) as floor_at:
                floor = await drive(floor_at, bare_asks(wanted.clients, wanted.adds, 1), half)
            asks = our_asks(wanted.clients, wanted.adds, served.key)
            before = served.cpu()
            figures = await drive(served.address, asks, wanted.seconds, seen.see)
            spent = served.cpu() - before
            async with bare(served.owner_url, wanted.workers) as floor_at:
                again = await drive(floor_at, bare_asks(wanted.clients, wanted.adds, 2), half)
            lost = await _lost(served, seen)
    facts |= _facts(figures, spent, seen)
    return _lines(figures, floor.merged(again), seen, lost), facts


async def _lost(served: Ours, seen: Witnessed) -> int:
    """Return how many memories that were acknowledged are not there."""
    gone = 0
    for client, ids in seen.ids.items():
        gone += len(ids - await asyncio.to_thread(stored_ids, served, client))
    return gone


def _lines(figures: Figures, floor: Figures, seen: Witnessed, lost: int) -> list[Line]:
    limited = figures.statuses[429] / figures.requests
    wrong = figures.requests - sum(figures.statuses[status] for status in (200, 201, 429))
    acknowledged = sum(map(len, seen.ids.values()))
    lines = [
        table.bounded("requests", figures.rate, "a second", RATE, least=True,
                      floor=f"{floor.rate:,.0f} a second"),
        _compared("p95 of all requests", figures.at(0.95), floor.at(0.95), FLOORS),
        _compared("p50 of all requests", figures.at(0.50), floor.at(0.50)),
        _compared("p95 of an add", figures.at(0.95, "add"), floor.at(0.95, "add")),
        _compared("p95 of a search", figures.at(0.95, "search"), floor.at(0.95, "search")),
        table.bounded("answered 429", 100 * limited, "%", 100 * REFUSED),
        table.bounded("errors (any other status)", wrong, "", 0),
        table.bounded("connections lost", figures.lost, "", 0),
        table.bounded(f"lost of {acknowledged:,} acknowledged writes", lost, "", 0),
        table.bounded("answers with another's memory", seen.leaks, "", 0),
    ]  # fmt: skip
    return lines


def _compared(what: str, seconds: float, floor: float, budget: float | None = None) -> Line:
    figure, beside = f"{seconds * 1000:,.0f} ms", f"{floor * 1000:,.0f} ms"
    if budget is None:
        return Line(what, figure, beside, round(seconds / floor, 2))
    return table.within(what, figure, beside, seconds / floor, budget)


def _facts(figures: Figures, spent: float, seen: Witnessed) -> dict[str, str]:
    adds = len(figures.seconds["add"])
    return {
        "requests": f"{figures.requests:,} in {figures.elapsed:.1f} s, {adds:,} of them adds",
        "verdicts": ", ".join(f"{count:,} {name}" for name, count in sorted(seen.verdicts.items())),
        "searches with hits": f"{seen.hits:,}",
        "processor time of the workers": f"{1000 * spent / figures.requests:.2f} ms a request",
        "processor time of the clients": f"{1000 * figures.cpu_a_request:.2f} ms a request",
    }


def main() -> None:
    """Soak, print, and write the page where that is asked for."""
    wanted = parsed(sys.argv[1:])
    lines, facts = asyncio.run(soak(wanted))
    print(table.plain(lines))
    for name, value in facts.items():
        print(f"{name}: {value}")
    if wanted.write:
        PAGE.write_text(page(lines, facts, wanted.clients, wanted.seconds, wanted.workers), "utf-8")
    sys.exit(0 if all(line.met is not False for line in lines) else 1)


if __name__ == "__main__":
    main()
