"""What does it cost to read a profile for a prompt, beside a bare row of it? And to keep half a million?

python -m benchmarks.profiles --users 500000 --write
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
from random import Random
from typing import Any

from psycopg import sql

from benchmarks import page, profile_aging, profile_load, table
from benchmarks.data import Corpus
from benchmarks.measure import interleaved
from benchmarks.ours import World, world
from benchmarks.profile_rows import COLUMNS
from benchmarks.table import Line, bounded, within
from mnemic.model import Actor
from mnemic.profile.fields import USER_FIELDS
from mnemic.profile.rows import USERS, open_fields
from mnemic.settings import Settings

_COLUMNS = (*(f"{name}_enc" for name in USER_FIELDS), "version")
_BARE = sql.SQL("select {} from user_profile where scope_key = %s").format(
    sql.SQL(", ").join(map(sql.Identifier, _COLUMNS))
)
_EDIT = {
    "username": "Rowan",
    "profession": "beekeeper",
    "communication_style": "concise",
    "language_preference": "en",
    "content": "Always name your sources.",
    "programming_languages": ["Python", "Rust"],
    "email": "rowan@example.org",
}
"""What a profile holds beside what the corpus' items say."""
_LOAD_BUDGET = 420.0
"""Seconds for half a million, so that the whole run stays below ten minutes; less for fewer."""


async def measured(world: World, corpus: Corpus, users: int = 50, count: int = 400) -> list[Line]:
    """One client: ``get_profile_for_agent`` beside a SELECT by primary key with its decryption."""
    actors = [Actor(f"{corpus.name}{number}") for number in range(min(users, corpus.users))]
    for actor in actors:
        await world.memory.profiles.patch(actor, _EDIT)
    return await at_hand(world, actors, "profile for an agent", count)


async def at_hand(world: World, actors: Sequence[Actor], what: str, count: int = 400) -> list[Line]:
    """The same of a few users who come all the time, so that their keys are open."""
    keys = {}
    for actor in actors:
        await world.memory.get_profile_for_agent(actor)
        known = world.memory._parts.deployment.keys.recent(actor)
        assert known is not None
        keys[actor.user] = known[0]
    random = Random(5)
    asked = [random.choice(actors) for _ in range(count)]

    async def bare(actor: Actor) -> Any:
        row = await (await world.owner.execute(_BARE, [actor.user_scope], binary=True)).fetchone()
        assert row is not None
        fields = dict(zip(_COLUMNS, row, strict=True))
        return open_fields(keys[actor.user], USERS, actor.user_scope, fields, fields["version"])

    found = await interleaved({"ours": world.memory.get_profile_for_agent, "floor": bare}, asked)
    ours, floor = found["ours"], found["floor"]
    return [
        within(
            f"{what}, p50",
            f"{ours.p50:.2f} ms",
            f"{floor.p50:.2f} ms",
            ours.ratio(floor),
            budget=2,
        ),
        Line(f"{what}, p99", f"{ours.p99:.2f} ms", f"{floor.p99:.2f} ms"),
    ]


async def strangers(world: World, users: int, count: int = 2_000) -> list[Line]:
    """Users drawn from all, each once: their keys are fetched and unwrapped, beside a bare row unopened."""
    numbers = Random(6).sample(range(users), min(count, users))
    keys = world.memory._parts.deployment.keys

    async def ours(actor: Actor) -> Any:
        keys.forget(actor.user_scope)
        profile = (await world.memory.get_profile_for_agent(actor)).user
        assert profile.values["username"], "a sealed profile was read as an empty one"

    async def bare(actor: Actor) -> Any:
        row = await (await world.owner.execute(_BARE, [actor.user_scope], binary=True)).fetchone()
        assert row is not None

    actors = [Actor(f"user{number}") for number in numbers]
    found = await interleaved({"ours": ours, "floor": bare}, actors)
    mine, floor = found["ours"], found["floor"]
    what = f"one of {users:,} profiles, key fetched"
    ratio = mine.ratio(floor)
    return [
        Line(f"{what}, p50", f"{mine.p50:.2f} ms", f"{floor.p50:.2f} ms", round(ratio, 2)),
        Line(f"{what}, p99", f"{mine.p99:.2f} ms", f"{floor.p99:.2f} ms"),
    ]


async def loaded(world: World, users: int) -> list[Line]:
    """Seal and copy the profiles, and tell how long that took and what they take on disk."""
    start = time.perf_counter()
    await profile_load.load(world.settings, world.deployment, world.floor_url, users)
    seconds = time.perf_counter() - start
    await profile_load.settle(world.owner)
    row = await (
        await world.owner.execute(
            "select sum(pg_total_relation_size(t::regclass)) from unnest(%s::text[]) t",
            [list(COLUMNS)],
        )
    ).fetchone()
    there = await (await world.owner.execute("select count(*) from user_profile")).fetchone()
    assert row is not None
    assert there == (users,)
    per_user = float(row[0]) / users
    lines = [
        bounded(f"{users:,} profiles sealed and copied", seconds, "s", _LOAD_BUDGET),
        Line("profiles a second", f"{users / seconds:,.0f} /s"),
        Line("users, keys and profiles on disk", f"{float(row[0]) / 2**20:,.0f} MiB"),
        Line("of one user", f"{per_user:,.0f} bytes"),
    ]
    return lines


async def stored(settings: Settings, users: int) -> list[Line]:
    """Measure all of it on a schema of its own."""
    async with world(settings) as opened:
        lines = told(await loaded(opened, users))
        few = [Actor(f"user{number}") for number in range(min(users, 50))]
        lines += told(await at_hand(opened, few, f"profile among {users:,}"))
        lines += told(await strangers(opened, users))
        lines += told(await profile_aging.measured(opened, users))
    return lines


def told(lines: list[Line]) -> list[Line]:
    """Say on stderr what was just measured."""
    print(table.plain(lines), file=sys.stderr, flush=True)
    return lines


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("benchmarks.profiles", description="Measure many profiles.")
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--write", action="store_true", help="write the section of docs/reference/benchmarks.md"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and tell by the exit status whether every budget was met."""
    asked = parsed(sys.argv[1:] if arguments is None else arguments)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        place = Path(folder)
        settings = Settings.read(data_dir=place / "data", key_file=place / "key.key")
        lines = asyncio.run(stored(settings, asked.users))
    if asked.json:
        print(json.dumps({"machine": table.machine(), "lines": table.as_json(lines)}))
    else:
        print(table.plain(lines))
    if asked.write:
        page.write_profiles(lines, asked.users)
    return int(any(line.met is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
