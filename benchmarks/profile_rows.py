"""What do the profiles of half a million users look like, sealed and ready to be copied?

Seeded by the user's number. Fields are sealed by the functions that the service uses, under a data key of the
user's own, which the deployment's key provider wraps; so every profile is read as if its user had written it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from mnemic.contact import ContactIndex
from mnemic.crypto import DataKey, new_secret
from mnemic.ids import new_id
from mnemic.keys import KeyProvider, context_of
from mnemic.model import Actor
from mnemic.profile.rows import USERS, contact_macs, seal_fields
from mnemic.profile.values import Entry, Field

VERSION = 3
START = datetime(2026, 1, 5, tzinfo=UTC)
_NAMES = ("Rowan", "王伟", "Ada", "李雷", "Noor", "Mateo", "韩梅梅", "Yuki")
_JOBS = ("beekeeper", "测绘工程师", "cartographer", "nurse", "后端工程师", "luthier", "teacher")
_PLACES = ("Lisbon", "成都", "Leipzig", "Accra", "杭州", "Oslo")
_LIKES = (
    *(
        "green tea",
        "dark mode",
        "short answers",
        "jazz in the evening",
        "trail running",
        "喜欢简洁的代码",
    ),
    *("周末爬山", "black coffee", "short functions", "手冲咖啡", "window seats", "board games"),
)
_TRAITS = ("early riser", "writes everything down", "喜欢提前规划", "asks twice before deciding")
_SKILLS = (
    "negotiation",
    "数据分析",
    "public speaking",
    "technical writing",
    "测试设计",
    "gardening",
)
_LANGUAGES = ("Python", "Rust", "Go", "TypeScript", "SQL", "Kotlin")
_TOOLS = ("Vim", "Figma", "飞书", "PostgreSQL", "Blender", "QGIS")
_WISHES = (
    "Always name your sources, and say plainly where you are not sure.",
    "回答请先给结论，再给理由；代码要能直接运行。",
    "Use metric units and twenty-four hour times.",
)
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "user_profile": (
        *("scope_key", "user_id", *seal_fields(DataKey(new_id(), new_secret()), USERS, "", {}, 1)),
        *("email_mac", "phone_mac", "version"),
    ),
    "app_user": ("scope_key", "user_id", "remember", "key_epoch"),
    "data_key": ("scope_key", "key_id", "wrapped", "kek_id", "author_id"),
}
"""What is copied into each table, in this order: a profile that is there is not begun by its user's row."""
Rows = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Sealing:
    """What it takes to seal for a deployment."""

    provider: KeyProvider
    kek_id: str
    index: ContactIndex

    async def rows(self, user: str, number: int) -> Rows:
        """Return a user's rows by table."""
        scope_key, key_id, secret = Actor(user).user_scope, new_id(), new_secret()
        key, fields = DataKey(key_id, secret), written(number)
        wrapped = await self.provider.wrap(self.kek_id, secret, context_of(scope_key, key_id))
        sealed = seal_fields(key, USERS, scope_key, fields, VERSION)
        macs = contact_macs(key, fields, lambda _, kind, text: self.index.of(kind, text))
        profile = (scope_key, user, *sealed.values(), macs["email_mac"], macs["phone_mac"], VERSION)
        return {
            "user_profile": profile,
            "app_user": (scope_key, user, "granted", 1),
            "data_key": (scope_key, key_id, wrapped, self.kek_id, ""),
        }


def written(number: int) -> dict[str, Field]:
    """Return the fields of user ``number``, all by the user's own word; most users leave some empty."""
    rng = Random(number)
    name = rng.choice(_NAMES)
    texts: dict[str, tuple[str, ...]] = {
        "username": (name,),
        "profession": (rng.choice(_JOBS),),
        "background": (
            f"Grew up in {rng.choice(_PLACES)}, in {rng.choice(_PLACES)} since {1990 + number % 35}.",
        ),
        "communication_style": (rng.choice(("concise", "detailed", "technical")),),
        "response_format": (rng.choice(("markdown", "plain", "code")),),
        "language_preference": (rng.choice(("en", "zh")),),
        "content": (rng.choice(_WISHES),),
        "preferences": tuple(rng.sample(_LIKES, rng.randint(2, 6))),
        "characteristics": tuple(rng.sample(_TRAITS, rng.randint(0, 2))),
        "expertise_areas": tuple(rng.sample(_SKILLS, rng.randint(0, 3))),
        "programming_languages": tuple(rng.sample(_LANGUAGES, rng.randint(0, 3))),
        "frequently_used_tools": tuple(rng.sample(_TOOLS, rng.randint(0, 3))),
        "email": (f"{rng.randrange(36**6):06x}.{number}@mail{number % 90}.example.org",),
        "phone": (f"+86138{number % 10**8:08}",),
    }  # fmt: skip
    at = START + timedelta(seconds=number)
    return {field: Field(tuple(map(Entry, said)), at) for field, said in texts.items() if said}
