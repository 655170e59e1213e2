"""How little is left of a profile's history once it is folded, and of a profile whose user sleeps?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from psycopg import sql

from benchmarks.data import DIMS
from benchmarks.ours import World
from benchmarks.profile_rows import written
from benchmarks.table import Line, bounded
from mnemic.model import Actor
from mnemic.profile.history_fold import Folding
from mnemic.storage.migrate import private_schema

SAMPLE, CHANGES = 20, 100
"""Users whose history is folded, as many who fall asleep, and how often the profile of each changes."""
_KEPT = timedelta(days=30)
_FOLD_BUDGET, _SLEEP_BUDGET = 20.0, 17.0
"""Percent of the bytes that may be left."""
_HISTORY = sql.SQL(
    "select coalesce((select sum(pg_column_size(h.*)) from {0}.profile_history h"
    " where h.scope_key = any (%(scopes)s)), 0)"
    " + coalesce((select sum(pg_column_size(f.*)) from {0}.profile_history_fold f"
    " where f.scope_key = any (%(scopes)s)), 0)"
)


async def measured(world: World, users: int) -> list[Line]:
    """Change some profiles, fold what came of it as in a month, and put users to sleep."""
    actors = [Actor(f"user{number}") for number in range(min(users, 3 * SAMPLE))]
    folded, sleepers, quiet = actors[0::3], actors[1::3], actors[2::3]
    for actor in (*folded, *sleepers):
        await _lived(world, actor)
    for actor in actors:
        await _meant(world, actor)
    lines = await _folded(world, folded)
    lines += await _asleep(world, sleepers, "a profile with its history", _SLEEP_BUDGET)
    return lines + await _asleep(world, quiet, "a profile never changed", None)


async def _lived(world: World, actor: Actor) -> None:
    """Change two or three fields at a time."""
    rng = Random(actor.user)
    for _ in range(CHANGES):
        fields = {
            name: list(field.texts) if len(field.texts) > 1 else field.texts[0]
            for name, field in written(rng.randrange(10**6)).items()
            if name in ("background", "content", "profession", "communication_style")
        }
        some = rng.sample(sorted(fields), rng.randint(1, 2))
        likes = list(written(rng.randrange(10**6))["preferences"].texts)
        await world.memory.profiles.patch(
            actor, {name: fields[name] for name in some} | {"preferences": likes}
        )


async def _meant(world: World, actor: Actor) -> None:
    """Note where the user's intents lie."""
    rng = Random(actor.user)
    await world.memory.profiles.note_intent(actor, tuple(rng.gauss(0, 1) for _ in range(DIMS)))


async def _folded(world: World, actors: list[Actor]) -> list[Line]:
    folding = Folding(world.memory.profiles._refresh, _KEPT)
    later = datetime.now(UTC) + timedelta(days=1)
    before = await _history(world, actors)
    changes = 0
    for actor in actors:
        async with world.deployment.database.transaction(actor) as tx:
            changes += await folding.fold(tx, actor, later)
    after = await _history(world, actors)
    each = len(actors)
    return [
        Line(f"history of a profile, {changes / each:.0f} changes", f"{before / each:,.0f} bytes"),
        bounded(
            "history left after folding",
            100 * after / before,
            "%",
            _FOLD_BUDGET,
            floor=f"{after / each:,.0f} bytes",
        ),
    ]


async def _asleep(world: World, actors: list[Actor], what: str, budget: float | None) -> list[Line]:
    later = datetime.now(UTC) + timedelta(days=1)
    hibernation = world.memory._parts.sleep.hibernation
    saved = [one for one in [await hibernation.rest(a, later) for a in actors] if one is not None]
    assert len(saved) == len(actors), "somebody did not fall asleep"
    before, after = (sum(bytes_) for bytes_ in zip(*saved, strict=True))
    for actor in actors:
        await world.memory.profiles.get(actor)  # and is there again when asked for
    each, left = len(actors), 100 * after / before
    told, floor = f"left of {what} while its user sleeps", f"{after / each:,.0f} bytes"
    return [
        Line(f"{what}, awake", f"{before / each:,.0f} bytes"),
        Line(told, f"{left:.4g} %", floor)
        if budget is None
        else bounded(told, left, "%", budget, floor=floor),
    ]


async def _history(world: World, actors: list[Actor]) -> float:
    private = sql.Identifier(private_schema(world.settings.db_schema))
    scopes = {"scopes": [actor.user_scope for actor in actors]}
    row = await (await world.owner.execute(_HISTORY.format(private), scopes)).fetchone()
    assert row is not None
    return float(row[0])
