"""Does the service stand two hundred clients at once, and lose nothing?

python -m benchmarks.soak                  200 clients for a minute on embedded stores
python -m benchmarks.soak --write          the same, into docs/reference/soak.md

In one run: the bare route, the bare route that embeds, `mnemic serve`, both again; then every memory whose
201 came is looked for. The exit status is 1 when a budget is not met.
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
"""Requests a second at least, share of 429 at most, times each floor's p95 at most."""
KINDS = {"plain": "bare route", "embeds": "bare route that embeds"}
"""The floors, by what they are called."""


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
        "--seconds", type=float, default=60.0, help="of the service; each floor half"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--adds", type=float, default=0.25, help="share of writes among requests")
    parser.add_argument("--write", action="store_true", help="write docs/reference/soak.md")
    return parser.parse_args(arguments)


async def soak(wanted: argparse.Namespace) -> tuple[list[Line], dict[str, str]]:
    """Run it; return the lines, and facts about the run."""
    seen, facts = Witnessed(), {"load average before": table.machine()["load average"]}
    with tempfile.TemporaryDirectory(prefix="mnemic-soak-") as home:
        async with ours(Path(home), wanted.workers) as served:
            before = await _floors(wanted, served.owner_url, 1)
            asks = our_asks(wanted.clients, wanted.adds, served.key)
            used = served.cpu()
            figures = await drive(served.address, asks, wanted.seconds, seen.see)
            used = served.cpu() - used
            after = await _floors(wanted, served.owner_url, 2)
            lost = await _lost(served, seen)
    facts |= _facts(figures, used, seen)
    floors = {kind: before[kind].merged(after[kind]) for kind in KINDS}
    return _lines(figures, floors, seen, lost), facts


async def _floors(wanted: argparse.Namespace, owner_url: str, seed: int) -> dict[str, Figures]:
    """Measure each floor for a quarter of the service's time."""
    found = {}
    for kind in KINDS:
        async with bare(owner_url, wanted.workers, kind) as at:
            asks = bare_asks(wanted.clients, wanted.adds, seed)
            found[kind] = await drive(at, asks, wanted.seconds / 4)
            assert found[kind].statuses.keys() <= {200, 201}, found[kind].statuses
    return found


async def _lost(served: Ours, seen: Witnessed) -> int:
    """Return how many memories that were acknowledged are not there."""
    gone = 0
    for client, ids in seen.ids.items():
        gone += len(ids - await asyncio.to_thread(stored_ids, served, client))
    return gone


def _lines(figures: Figures, floors: dict[str, Figures], seen: Witnessed, lost: int) -> list[Line]:
    limited = figures.statuses[429] / figures.requests
    wrong = figures.requests - sum(figures.statuses[status] for status in (200, 201, 429))
    acknowledged = sum(map(len, seen.ids.values()))
    return [
        table.bounded("requests", figures.rate, "a second", RATE, least=True),
        *(line for kind, name in KINDS.items() for line in _beside(figures, floors[kind], name)),
        table.bounded("answered 429", 100 * limited, "%", 100 * REFUSED),
        table.bounded("errors (any other status)", wrong, "", 0),
        table.bounded("connections lost", figures.lost, "", 0),
        table.bounded(f"lost of {acknowledged:,} acknowledged writes", lost, "", 0),
        table.bounded("answers with another's memory", seen.leaks, "", 0),
    ]


def _beside(figures: Figures, floor: Figures, name: str) -> list[Line]:
    rate, beside = f"{figures.rate:,.0f} a second", f"{floor.rate:,.0f} a second"
    return [
        Line(f"requests, beside the {name}", rate, beside, round(figures.rate / floor.rate, 2)),
        _compared(f"p95 of all requests, beside the {name}", figures, floor, 0.95, budget=FLOORS),
        _compared(f"p50 of all requests, beside the {name}", figures, floor, 0.50),
        _compared(f"p95 of an add, beside the {name}", figures, floor, 0.95, "add"),
        _compared(f"p95 of a search, beside the {name}", figures, floor, 0.95, "search"),
    ]


def _compared(
    what: str,
    figures: Figures,
    floor: Figures,
    share: float,
    kind: str | None = None,
    budget: float | None = None,
) -> Line:
    ours, least = figures.at(share, kind), floor.at(share, kind)
    figure, beside = f"{ours * 1000:,.0f} ms", f"{least * 1000:,.0f} ms"
    if budget is None:
        return Line(what, figure, beside, round(ours / least, 2))
    return table.within(what, figure, beside, ours / least, budget)


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
