"""What does it cost to read a profile for a prompt, beside a bare row of it?"""

from __future__ import annotations

from random import Random
from typing import Any

from psycopg import sql

from benchmarks.data import Corpus
from benchmarks.measure import interleaved
from benchmarks.ours import World
from benchmarks.table import Line, within
from mnemic.model import Actor
from mnemic.profile.fields import USER_FIELDS
from mnemic.profile.rows import USERS, open_fields

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


async def measured(world: World, corpus: Corpus, users: int = 50, count: int = 400) -> list[Line]:
    """One client: ``get_profile_for_agent`` beside a SELECT by primary key with its decryption."""
    actors = [Actor(f"{corpus.name}{number}") for number in range(min(users, corpus.users))]
    keys = {}
    for actor in actors:
        await world.memory.profiles.patch(actor, _EDIT)
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
            "profile for an agent, p50",
            f"{ours.p50:.2f} ms",
            f"{floor.p50:.2f} ms",
            ours.ratio(floor),
            budget=2,
        ),
        Line("profile for an agent, p99", f"{ours.p99:.2f} ms", f"{floor.p99:.2f} ms"),
    ]
