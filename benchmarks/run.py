"""How does one measure everything and see what is within its budget?

python -m benchmarks.run                 10,000 items, a few minutes
python -m benchmarks.run --full          100,000 and 1,000,000 items, half an hour or more
python -m benchmarks.run --full --peers  the others too, at 10,000 and 100,000 items: as long again
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import peers, profiles, scenarios, startup, table, windows
from benchmarks.data import Corpus
from benchmarks.ours import World, world
from benchmarks.page import PAGE, kept, page
from benchmarks.table import Line
from mnemic.settings import Settings

PER_USER = 100


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("benchmarks", description="Measure Mnemic beside its floor.")
    parser.add_argument("--items", type=int, default=10_000, help="items of the main corpus")
    parser.add_argument("--full", action="store_true", help="100,000 and 1,000,000 items")
    parser.add_argument("--peers", action="store_true", help="measure other libraries too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="write docs/reference/benchmarks.md")
    return parser.parse_args(arguments)


async def stored(settings: Settings, items: int, scope: int, more: int | None) -> list[Line]:
    """Measure all that needs a database: ``items`` of many users, one scope, and a larger table."""
    corpus = Corpus("user", max(items // PER_USER, 1), PER_USER)
    hall = Corpus("hall", 1, scope)
    async with world(_schema(settings, "bench_main")) as main:
        await _loaded(main, corpus)
        await _loaded(main, hall)
        lines = told(await scenarios.search(main, corpus))
        lines += told(await scenarios.strangers(main, corpus))
        lines += told(await scenarios.exactness(main, corpus))
        lines += told(await scenarios.large_scope(main, hall))
        lines += told(await scenarios.clients(main, corpus))
        lines += told(await scenarios.writes(main, corpus))
        lines += told(await profiles.measured(main, corpus))
        assert settings.data_dir is not None
        lines += told(await windows.measured(main, settings.data_dir))
        if more is not None:
            many = Corpus("user", more // PER_USER, PER_USER)
            async with world(_schema(settings, "bench_large")) as large:
                await _loaded(large, many)
                lines += told(await scenarios.search(large, many))
                lines += told(await scenarios.growth(main, corpus, large, many))
    return lines


def told(lines: list[Line]) -> list[Line]:
    """Say on stderr what was just measured, so that a run that is cut short was not for nothing."""
    print(table.plain(lines), file=sys.stderr, flush=True)
    return lines


async def _loaded(target: World, corpus: Corpus) -> None:
    start = time.perf_counter()
    await target.load(corpus)
    seconds = time.perf_counter() - start
    print(f"loaded {corpus.items:,} items in {seconds:.0f} s", file=sys.stderr, flush=True)


def _schema(settings: Settings, name: str) -> Settings:
    return Settings.read(**(settings.model_dump(exclude_unset=True) | {"db_schema": name}))


async def _others(settings: Settings, sizes: Sequence[int]) -> list[Line]:
    lines = []
    for size in sizes:
        corpus = Corpus("user", max(size // PER_USER, 1), PER_USER)
        lines += told(await peers.measured(_schema(settings, f"bench_beside_{size}"), corpus))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and tell by the exit status whether every budget was met."""
    asked = parsed(sys.argv[1:] if arguments is None else arguments)
    items, more = (100_000, 1_000_000) if asked.full else (asked.items, None)
    lines = told(startup.measured())
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        place = Path(folder)
        settings = Settings.read(data_dir=place / "data", key_file=place / "key.key")
        lines += asyncio.run(stored(settings, items, min(items, 20_000), more))
        if asked.peers:
            sizes = (10_000, 100_000) if asked.full else (items,)
            lines += asyncio.run(_others(settings, sizes))
    _show(lines, asked)
    return int(any(line.met is False for line in lines))


def _show(lines: Sequence[Line], asked: argparse.Namespace) -> None:
    if asked.json:
        print(json.dumps({"machine": table.machine(), "lines": table.as_json(lines)}))
    else:
        print(table.plain(lines))
    if asked.write:
        profiles = kept(PAGE.read_text("utf-8"))
        PAGE.write_text(page(lines, command(asked), profiles), encoding="utf-8")


def command(asked: argparse.Namespace) -> str:
    """Return how the same is measured again."""
    size = "--full" if asked.full else f"--items {asked.items}"
    return " ".join(["python -m benchmarks.run", size, *["--peers"] * asked.peers, "--write"])


if __name__ == "__main__":
    sys.exit(main())
