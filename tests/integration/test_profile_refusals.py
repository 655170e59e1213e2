"""What becomes of a profile when an edit cannot be meant, or its key is not to be had?

A typed error that names the remedy, in the library and over HTTP alike; the profile stays as it was, whole,
and one that cannot be read is never shown as an empty one.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from api_world import app_on, asking, told
from conftest import Connect, Prepare, Server
from mnemic import keyvault
from mnemic.crypto import new_secret
from mnemic.errors import ConfigurationError, InvalidInput, KeyUnavailable
from mnemic.ids import new_id
from mnemic.model import Actor
from stub_embedder import StubEmbedder, curve
from vault_server import TOKEN, FakeVault, fake_vault

if TYPE_CHECKING:
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

KIM, LEE = Actor("kim"), Actor("lee")
URL = "/api/memory/profile"
_JSON = {"If-Match": "*", "Content-Type": "application/json"}
KNOWN = {"username": "Ro", "preferences": ["tea"], "email": "kim@example.org"}
BAD: tuple[tuple[str, dict[str, object], str, str, str], ...] = (
    ("unknown field", {"shoe_size": 43}, "unknown_profile_field", "unknown_field", "username"),
    ("number", {"username": 7}, "profile_value_invalid", "", "must be text"),
    ("flag", {"username": True}, "profile_value_invalid", "", "must be text"),
    ("text for a list", {"preferences": "tea"}, "profile_value_invalid", "", "list of texts"),
    ("list of numbers", {"preferences": [1]}, "profile_value_invalid", "", "list of texts"),
    ("object", {"content": {"a": 1}}, "profile_value_invalid", "", "must be text"),
    ("no such word", {"communication_style": "loud"}, "profile_value_invalid", "", "concise"),
    ("one megabyte", {"content": "x" * 1_000_000}, "profile_value_too_long", "", "8,000"),
    ("many entries", {"preferences": ["x"] * 51}, "profile_value_too_long", "", "50"),
    ("no number", {"phone": "+1 555"}, "invalid_phone", "", "+49"),
    ("no country", {"phone": "030 1234567"}, "phone_without_country", "", "country code"),
    ("no address", {"email": "kim"}, "invalid_email", "", "name@example.com"),
    ("two lines", {"username": "Kim\nLee"}, "profile_value_not_one_line", "", "one line"),
    ("a tab", {"profession": "pilot\tand more"}, "profile_value_not_one_line", "", "one line"),
    ("a control", {"username": "Kim\x1b[31m"}, "profile_value_not_one_line", "", "control"),
    ("half a character", {"username": "\udcff"}, "profile_value_not_one_line", "", "one line"),
    ("only controls", {"content": "\x01\x02"}, "profile_value_invalid", "", "can be read"),
    ("nothing to see", {"username": "\u200b\u3164"}, "profile_value_invalid", "", "can be read"),
    ("no language", {"language_preference": "klingon"}, "unknown_language", "", "zh-CN"),
    ("no tag", {"language_preference": "火星文"}, "unknown_language", "", "zh-CN"),
    ("nothing", {}, "nothing_to_change", "", "Name at least one"),
)
cases = pytest.mark.parametrize(
    ("changes", "code", "over_http", "remedy"),
    [one[1:] for one in BAD],
    ids=[one[0] for one in BAD],
)


@pytest.fixture
async def known(stub_memory: MemoryService) -> MemoryService:
    await stub_memory.profiles.patch(KIM, KNOWN)
    return stub_memory


@cases
async def test_a_bad_edit_changes_nothing_and_says_what_to_do(
    known: MemoryService, changes: dict[str, object], code: str, over_http: str, remedy: str
) -> None:
    before = await known.profiles.get(KIM, contact=True)
    given = {"profession": "pilot", **changes} if changes else {}
    for edit in (known.profiles.patch, known.profiles.put):
        with pytest.raises(InvalidInput) as caught:
            await edit(KIM, given)
        assert caught.value.code == code
        assert remedy in caught.value.message
        assert len(caught.value.message) < 400, "the message repeats what was given"
    assert await known.profiles.get(KIM, contact=True) == before


@cases
async def test_a_bad_edit_over_http_changes_nothing_and_says_what_to_do(
    known: MemoryService, changes: dict[str, object], code: str, over_http: str, remedy: str
) -> None:
    before = await known.profiles.get(KIM, contact=True)
    given = {"profession": "pilot", **changes} if changes else {}
    async with asking(app_on(known)) as kim:
        for ask in (kim.patch, kim.put):
            answer = await ask(URL, content=json.dumps(given), headers=_JSON)
            problem = told(answer, 422, over_http or code)
            assert over_http or remedy in problem["detail"]
            assert len(answer.content) < 2_000
    assert await known.profiles.get(KIM, contact=True) == before


async def test_a_body_beyond_the_limit_is_refused_before_it_is_read(known: MemoryService) -> None:
    async with asking(app_on(known)) as kim:
        answer = await kim.patch(URL, json={"content": "x" * 2_100_000}, headers={"If-Match": "*"})
        told(answer, 413, "body_too_large")
    assert (await known.profiles.get(KIM)).values["content"] is None


# ---- keys


async def unreadable(memory: MemoryService, code: str, remedy: str) -> None:
    """See that kim's profile is refused by every door, and that lee's is served."""
    attempts = {
        "get": lambda: memory.profiles.get(KIM),
        "agent": lambda: memory.get_profile_for_agent(KIM),
        "context": lambda: memory.build_context(KIM, "tea"),
        "edit": lambda: memory.profiles.edit(KIM, "username", "Kim"),
        "put": lambda: memory.profiles.put(KIM, {"username": "Kim"}),
        "delete": lambda: memory.profiles.delete(KIM),
    }
    for name, attempt in attempts.items():
        with pytest.raises(KeyUnavailable) as caught:
            await attempt()
        assert caught.value.code == code, name
        assert remedy in caught.value.message
    async with asking(app_on(memory)) as kim:
        told(await kim.get(URL), 503, code)
        patched = await kim.patch(URL, json={"username": "Kim"}, headers={"If-Match": "*"})
        told(patched, 503, code)
        told(await kim.post("/api/memory/context", json={"query": "tea"}), 503, code)


async def as_it_was(memory: MemoryService) -> None:
    profile = await memory.profiles.get(KIM, contact=True)
    assert {name: profile.values[name] for name in ("username", "email")} == {
        "username": "Ro",
        "email": "kim@example.org",
    }
    assert profile.version == 2


def forget_keys(memory: MemoryService) -> None:
    """As after a minute, or in another process."""
    for actor in (KIM, LEE):
        memory._parts.deployment.keys.forget(actor.user_scope)


@pytest.mark.parametrize(
    ("damage", "code", "remedy"),
    [
        ("kek_id = 'gone'", "unknown_kek", "key"),
        (
            "wrapped = set_byte(wrapped, 0, get_byte(wrapped, 0) # 255)",
            "wrong_key",
            "name the right",
        ),
        ("key_id = gen_random_uuid()", "wrong_key", "name the right key file"),
    ],
)
async def test_a_key_that_the_deployment_does_not_hold_is_no_empty_profile(
    known: MemoryService, connect: Connect, damage: str, code: str, remedy: str
) -> None:
    await known.profiles.patch(LEE, KNOWN)
    owner = await connect("owner")
    kept = await (
        await owner.execute("select * from data_key where scope_key = 'user:kim'")
    ).fetchone()
    assert kept is not None
    await owner.execute(f"update data_key set {damage} where scope_key = 'user:kim'".encode())
    forget_keys(known)
    await unreadable(known, code, remedy)
    assert (await known.profiles.get(LEE)).values["username"] == "Ro"
    await owner.execute(
        "update data_key set key_id = %(key_id)s, wrapped = %(wrapped)s, kek_id = %(kek_id)s"
        " where scope_key = 'user:kim'",
        kept,
    )
    forget_keys(known)
    await as_it_was(known)


async def test_values_of_a_key_that_is_not_in_the_database_are_no_empty_profile(
    known: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    query = "select username_enc, preferences_enc, email_enc from user_profile"
    kept = await (await owner.execute(query)).fetchone()
    assert kept is not None
    other = new_id().bytes
    foreign = {name: other + bytes(value)[16:] for name, value in kept.items()}
    update = (
        "update user_profile set username_enc = %(username_enc)s,"
        " preferences_enc = %(preferences_enc)s, email_enc = %(email_enc)s"
    )
    await owner.execute(update, foreign)
    await unreadable(known, "unknown_key_id", "restore")
    await owner.execute(update, kept)
    await as_it_was(known)


async def test_a_profile_whose_key_is_gone_is_not_begun_anew(
    known: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    row = await (await owner.execute("delete from data_key returning *")).fetchone()
    assert row is not None
    forget_keys(known)
    await unreadable(known, "unknown_key_id", "restore")
    assert (await owner.execute("select from data_key")).rowcount == 0, "a key was made beside it"
    names = ", ".join(row)
    values = ", ".join(f"%({name})s" for name in row)
    await owner.execute(f"insert into data_key ({names}) values ({values})".encode(), row)
    forget_keys(known)
    await as_it_was(known)


async def test_a_projects_profile_whose_keys_are_gone_is_not_begun_anew(
    stub_memory: MemoryService, connect: Connect
) -> None:
    kim = replace(KIM, project="apollo")
    await stub_memory.projects.create(kim, "apollo", "Apollo")
    await stub_memory.profiles.patch_project(kim, "apollo", {"current_phase": "beta"})
    await stub_memory.profiles.get(KIM)
    owner = await connect("owner")
    gone = "delete from data_key where scope_key = 'project:apollo' returning *"
    rows = await (await owner.execute(gone)).fetchall()
    assert rows
    for attempt in (
        lambda: stub_memory.profiles.get_project(kim, "apollo"),
        lambda: stub_memory.get_profile_for_agent(kim),
        lambda: stub_memory.profiles.patch_project(kim, "apollo", {"current_phase": "x"}),
    ):
        with pytest.raises(KeyUnavailable) as caught:
            await attempt()
        assert caught.value.code == "unknown_key_id"
    left = await owner.execute("select from data_key where scope_key = 'project:apollo'")
    assert left.rowcount == 0, "a key was made beside what it cannot open"
    for row in rows:
        names, values = ", ".join(row), ", ".join(f"%({name})s" for name in row)
        await owner.execute(f"insert into data_key ({names}) values ({values})".encode(), row)
    profile = await stub_memory.profiles.get_project(kim, "apollo")
    assert profile.values["current_phase"] == "beta"


async def test_another_key_file_opens_nothing(
    settings: Settings, prepare: Prepare, tmp_path: Path
) -> None:
    from mnemic.service import MemoryService

    first, other = tmp_path / "one" / "k", tmp_path / "two" / "k"
    own = settings.model_copy(update={"key_file": first})
    await prepare(own, StubEmbedder(), curve())
    async with MemoryService.open(settings=own, embedder=StubEmbedder()) as memory:
        await memory.profiles.patch(KIM, KNOWN)
    for wrong, code in ((missing, "key_file_missing"), (foreign, "wrong_key")):
        wrong(first, other)
        with pytest.raises(ConfigurationError) as caught:
            async with MemoryService.open(
                settings=settings.model_copy(update={"key_file": other}), embedder=StubEmbedder()
            ):
                pytest.fail("opened with another key")
        assert caught.value.code == code
        assert "key" in caught.value.message
    async with MemoryService.open(settings=own, embedder=StubEmbedder()) as memory:
        await as_it_was(memory)


def missing(first: Path, other: Path) -> None:
    assert not other.exists()


def foreign(first: Path, other: Path) -> None:
    """A key file of this deployment's form and name, with another key in it."""
    value = json.loads(first.read_text())
    value["keys"] = {kek: base64.b64encode(new_secret()).decode() for kek in value["keys"]}
    other.parent.mkdir(mode=0o700)
    other.write_text(json.dumps(value))
    other.chmod(0o600)


@asynccontextmanager
async def on_vault(
    server: Server, schema: str, prepare: Prepare, vault: FakeVault
) -> AsyncIterator[MemoryService]:
    from mnemic.service import MemoryService

    settings = server.settings(
        schema,
        key_provider="vault",
        vault_addr=vault.url,
        vault_token=TOKEN,
        vault_timeout=0.1,
    )
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        await memory.profiles.patch(KIM, KNOWN)
        await memory.profiles.patch(LEE, KNOWN)
        await memory.profiles.get(LEE)
        yield memory


@pytest.mark.parametrize(
    ("trouble", "code", "remedy"),
    [
        ({"sealed": True}, "vault_sealed", "unseal"),
        ({"delay": 0.3}, "vault_timeout", "MNEMIC_VAULT_TIMEOUT"),
        ({"token": "another"}, "vault_forbidden", "token"),
        ({"keys": {}}, "unknown_kek", "key"),
    ],
)
async def test_a_vault_that_is_sealed_or_slow_is_no_empty_profile(
    server: Server,
    schema: str,
    prepare: Prepare,
    monkeypatch: pytest.MonkeyPatch,
    trouble: dict[str, Any],
    code: str,
    remedy: str,
) -> None:
    monkeypatch.setattr(keyvault, "_PAUSES", (0.01, 0.02))
    with fake_vault() as vault:
        async with on_vault(server, schema, prepare, vault) as memory:
            well = {name: getattr(vault, name) for name in trouble}
            for name, value in trouble.items():
                setattr(vault, name, value)
            memory._parts.deployment.keys.forget(KIM.user_scope)
            await unreadable(memory, code, remedy)
            assert (await memory.profiles.get(LEE)).values["username"] == "Ro", "its key is open"
            newcomer = Actor("newcomer")
            if "keys" not in trouble:  # a Vault makes a key that it is asked to encrypt with
                with pytest.raises(KeyUnavailable):
                    await memory.profiles.edit(newcomer, "username", "New")
            for name, value in well.items():
                setattr(vault, name, value)
            await as_it_was(memory)
            assert (await memory.profiles.get(newcomer)).is_empty


async def test_one_edit_of_two_that_meet_a_sealed_vault_is_not_half_written(
    known: MemoryService, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealing fails at the last of several fields: none of them is written."""
    from mnemic.crypto import DataKey

    sealed = DataKey.seal

    def failing(self: DataKey, text: str, at: bytes) -> bytes:
        if b"preferences" in at:
            raise KeyUnavailable("vault_sealed", "Vault is sealed: unseal it.")
        return sealed(self, text, at)

    monkeypatch.setattr(DataKey, "seal", failing)
    edits = [
        known.profiles.patch(KIM, {"username": f"K{n}", "profession": "pilot"}) for n in (1, 2)
    ]
    for outcome in await asyncio.gather(*edits, return_exceptions=True):
        assert isinstance(outcome, KeyUnavailable)
    monkeypatch.undo()
    await as_it_was(known)
    owner = await connect("owner")
    row = await (await owner.execute("select profession_enc from user_profile")).fetchone()
    assert row == {"profession_enc": None}
