"""A user with a full profile who goes away, and what of them lies where."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mnemic.model import Actor
from mnemic.profile.values import Profile

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")
CORE = {
    "username": "Kim",
    "communication_style": "concise",
    "response_format": "markdown",
    "language_preference": "en",
}
REST: dict[str, object] = {
    "background": "Kim grew up by the sea, studied geodesy and moved inland for the mountains.",
    "profession": "surveyor",
    "characteristics": ["gets up early", "keeps lists", "plans a week ahead"],
    "content": "Say what you are sure of and what not. Name the source of every number. " * 4,
    "expertise_areas": ["levelling", "photogrammetry", "map projections"],
    "programming_languages": ["Python", "Fortran"],
    "frequently_used_tools": ["QGIS", "Vim", "a pencil"],
    "email": "kim@example.org",
    "phone": "+49 30 1234567",
    "preferences": ["green tea", "dark mode", "窗边的座位", "metric units"],
}
SAID = (
    "I drink green tea every morning before work",
    "I use Vim every day",
    "我住在山脚下的一个小镇",
    "I prefer metric units in every table",
    "I studied geodesy in Dresden for five years",
    "I am learning Rust on long train rides",
)


async def full_profile(memory: MemoryService, actor: Actor) -> Profile:
    """Let a user have a profile with everything, a history and a behaviour; return it as it stands."""
    for text in SAID:
        await memory.add_explicit_memory(actor, text)
        await memory.profiles.get(actor)
    await memory.profiles.patch(actor, CORE)
    await memory.profiles.patch(actor, REST)
    vector = tuple((n % 7 - 3) / 7 for n in range(64))
    await memory.profiles.note_intent(actor, vector)
    return await memory.profiles.get(actor, contact=True)


async def away(owner: Any, user: str = "kim", *, days: int) -> None:
    """Let a user have been here last so many days ago."""
    await owner.execute(
        "update app_user set last_active_at = now() - make_interval(days => %s) where user_id = %s",
        [days, user],
    )


async def put_to_sleep(memory: MemoryService, owner: Any, *, days: int = 31) -> None:
    """Let kim have been away, and asleep since."""
    await memory.parts.sleep.activity.flush()
    await away(owner, days=days)
    assert (await memory.sleepers.hibernate()).users == 1


async def put_away(memory: MemoryService, owner: Any, *, days: int = 181) -> None:
    """Let kim's archive lie in the cold store."""
    await put_to_sleep(memory, owner, days=days)
    assert (await memory.sleepers.cool()).users == 1


async def row_of(owner: Any, table: str, scope_key: str = "user:kim") -> dict[str, Any]:
    """Return the one row of a user in a table, {} for none."""
    query = f"select * from {table} where scope_key = %s"
    row = await (await owner.execute(query, [scope_key])).fetchone()
    return dict(row or {})


async def status_of(owner: Any, user: str = "kim") -> str:
    row = await (
        await owner.execute("select status from app_user where user_id = %s", [user])
    ).fetchone()
    return str(row["status"])


async def count(owner: Any, table: str) -> int:
    row = await (await owner.execute(f"select count(*) as n from {table}")).fetchone()
    return int(row["n"])


def now() -> datetime:
    return datetime.now(UTC)
