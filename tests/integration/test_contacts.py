"""Is an address found however it is written, by the operator alone, and written down nowhere?"""

from __future__ import annotations

import asyncio
import random
import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import phonenumbers
import psycopg
import pytest
from plaintext import Finder
from psycopg.types.json import Jsonb

from conftest import Connect, Server
from mnemic.audit.verify import newest
from mnemic.errors import ConfigurationError, InvalidInput, PermissionDenied
from mnemic.model import Actor
from mnemic.profile.find import Contacts
from mnemic.settings import Settings
from mnemic.storage.cluster import wheel

if TYPE_CHECKING:
    from mnemic.service import MemoryService

OPERATOR = Actor("root", purpose="cli")
KIM, LEE, MAX = Actor("kim"), Actor("lee"), Actor("max")
NUMBER = "138" + "0013" + "8000"
COUNTRIES = ("CN", "DE", "US", "GB", "JP")
USERS, AT_ONCE = 1_000, 8


@pytest.fixture
async def contacts(settings: Settings, stub_memory: MemoryService) -> AsyncIterator[Contacts]:
    async with Contacts.open(settings) as opened:
        yield opened


async def users(contacts: Contacts, **asked: str) -> list[str]:
    return [one.user for one in await contacts.find(OPERATOR, **asked)]


async def test_who_gave_an_address_is_found_however_it_is_written(
    stub_memory: MemoryService, contacts: Contacts
) -> None:
    await stub_memory.profiles.patch(KIM, {"email": "Kim@Example.org", "phone": f"+86 {NUMBER}"})
    await stub_memory.profiles.patch(MAX, {"email": "max@example.org"})
    for written in ("kim@example.org", " KIM @ EXAMPLE.ORG ", "ｋｉｍ＠ｅｘａｍｐｌｅ．ｏｒｇ"):
        assert await users(contacts, email=written) == ["kim"]
    for written in (NUMBER, f"0086{NUMBER}", f"+86 {NUMBER[:3]}-{NUMBER[3:7]} {NUMBER[7:]}"):
        assert await users(contacts, phone=written) == ["kim"]
    assert await users(contacts, email="lee@example.org") == []


async def test_two_users_may_share_an_address_and_both_are_found(
    stub_memory: MemoryService, contacts: Contacts
) -> None:
    for actor in (LEE, KIM):
        await stub_memory.profiles.patch(actor, {"email": "family@example.org"})
    assert await users(contacts, email="family@example.org") == ["kim", "lee"]
    for actor in (LEE, KIM):
        assert (await stub_memory.profiles.get(actor)).values["email"] == "f***@e***.org"


async def test_what_was_changed_taken_away_or_erased_is_found_no_more(
    stub_memory: MemoryService, contacts: Contacts
) -> None:
    for actor in (KIM, LEE, MAX):
        await stub_memory.profiles.patch(actor, {"email": "a@example.org"})
    await stub_memory.profiles.patch(KIM, {"email": "b@example.org"})
    await stub_memory.profiles.delete(LEE)
    await stub_memory.forget_user(MAX)
    assert await users(contacts, email="a@example.org") == []
    assert await users(contacts, email="b@example.org") == ["kim"]


async def test_who_sleeps_is_found_and_sleeps_on(
    stub_memory: MemoryService, contacts: Contacts, connect: Connect
) -> None:
    await stub_memory.profiles.patch(KIM, {"email": "kim@example.org", "phone": NUMBER})
    hibernation = stub_memory._parts.sleep.hibernation
    assert await hibernation.rest(KIM, datetime.now(UTC) + timedelta(days=1)) is not None
    assert await users(contacts, email="Kim@example.org") == ["kim"]
    assert await users(contacts, phone=NUMBER) == ["kim"]
    owner = await connect("owner")
    row = await (await owner.execute("select status from app_user")).fetchone()
    assert row == {"status": "dormant"}
    assert (await stub_memory.profiles.get(KIM, contact=True)).values["email"] == "kim@example.org"


async def test_each_look_is_in_the_audit_without_the_address(
    contacts: Contacts, stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.profiles.patch(KIM, {"email": "kim@example.org"})
    await users(contacts, email="KIM@example.org")
    await users(contacts, phone=f"+86{NUMBER}")
    database, key = contacts._database, contacts._audit.key
    (entry,) = (await newest(database, key, target="kim@example.org")).entries
    assert (entry.action, entry.why) == ("find_by_email", "cli")
    assert entry.user == key.user(OPERATOR).hex()
    (other,) = (await newest(database, key, target=f"+86{NUMBER}")).entries
    assert other.action == "find_by_phone"
    assert entry.after != other.after
    owner = await connect("owner")
    rows = await (await owner.execute("select audit_log::text as t from audit_log")).fetchall()
    assert not any(text in row["t"] for row in rows for text in ("kim@", NUMBER))


async def test_no_user_learns_whether_another_is_known(
    stub_memory: MemoryService, connect: Connect
) -> None:
    """The service's login sees no profile but the asker's, by whatever statement."""
    await stub_memory.profiles.patch(KIM, {"email": "kim@example.org"})
    owner, database = await connect("owner"), stub_memory._parts.deployment.database
    row = await (await owner.execute("select email_mac from user_profile")).fetchone()
    assert row is not None
    query = "select user_id from user_profile where email_mac = %(mac)s"
    for actor, seen in ((KIM, ["kim"]), (LEE, [])):
        async with database.transaction(actor) as tx:
            found = await tx.all(query, {"mac": row["email_mac"]})
        assert [one["user_id"] for one in found] == seen
    async with database.system() as tx:
        assert await tx.all(query, {"mac": row["email_mac"]}) == []
    known = await stub_memory.profiles.patch(LEE, {"email": "kim@example.org"})
    unknown = await stub_memory.profiles.patch(MAX, {"email": "kai@example.org"})
    assert known.version == unknown.version


async def test_without_the_owners_login_nobody_looks(settings: Settings, server: Server) -> None:
    with pytest.raises(ConfigurationError) as caught:
        async with Contacts.open(settings.model_copy(update={"migration_url": None})):
            pass
    assert caught.value.code == "migration_url_missing"


async def test_what_cannot_be_looked_for_is_refused(contacts: Contacts) -> None:
    for asked, code in (
        ({}, "one_contact"),
        ({"email": "a@example.org", "phone": NUMBER}, "one_contact"),
        ({"email": "nobody"}, "invalid_email"),
        ({"phone": "12"}, "phone_without_country"),
        ({"phone": "+1 555"}, "invalid_phone"),
    ):
        with pytest.raises(InvalidInput) as caught:
            await contacts.find(OPERATOR, **asked)
        assert caught.value.code == code
    with pytest.raises(PermissionDenied):
        await contacts.find(Actor("root", agent="helper"), email="a@example.org")


@dataclass(frozen=True, slots=True)
class Given:
    """A generated user: the one form of address and number, and how the user writes them."""

    user: str
    email: str
    phone: str
    email_written: str
    phone_written: str

    @property
    def forms(self) -> set[str]:
        digits = self.phone.lstrip("+")
        return {self.email, self.email_written, self.phone_written, digits, digits[2:]}


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def generated(rng: random.Random, number: int) -> Given:
    """Two users in a row share their address and number, each writing them their own way."""
    shared = random.Random(number // 2)
    name = "".join(shared.sample("bcdfghjklmnpqrstvwxz", 9))
    email = f"{name}.{number // 2}@{name[::-1]}.example.org"
    country = COUNTRIES[number // 2 % len(COUNTRIES)]
    example = phonenumbers.example_number_for_type(country, phonenumbers.PhoneNumberType.MOBILE)
    national = phonenumbers.national_significant_number(example)
    near = phonenumbers.parse(national[:-4] + f"{number // 2 % 10_000:04}", country)
    phone = phonenumbers.format_number(near, phonenumbers.PhoneNumberFormat.E164)
    spaced = phonenumbers.format_number(near, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    emails = (
        email,
        email.upper(),
        email.title(),
        f" {email} ",
        wide(email),
        email.replace("@", " @ "),
    )
    phones = (phone, spaced, wide(phone), spaced.replace(" ", "-"), f"00{phone[1:]}", f" {spaced}")
    return Given(f"u{number}", email, phone, rng.choice(emails), rng.choice(phones))


async def test_a_dump_of_a_thousand_profiles_holds_no_address_and_no_number(
    stub_memory: MemoryService, contacts: Contacts, server: Server
) -> None:
    rng = random.Random(20261)
    given = [generated(rng, number) for number in range(USERS)]
    assert len({one.phone for one in given}) == len({one.email for one in given}) == USERS // 2
    await say(stub_memory, given)
    for one in rng.sample(given, 40):
        pair = [f"u{int(one.user[1:]) // 2 * 2 + n}" for n in (0, 1)]
        assert await users(contacts, email=one.email_written) == sorted(pair)
        assert await users(contacts, phone=one.phone_written) == sorted(pair)
    controls = plant(server, rng)
    written = dump(server)
    secrets = {form for one in given for form in one.forms if len(form) > 7}
    found = Finder(secrets | set(controls)).in_bytes(written)
    assert found & set(controls) == set(controls), "the search finds not even what was planted"
    assert found & secrets == set()


async def say(memory: MemoryService, given: Sequence[Given]) -> None:
    """Let each user give both, through the door that users take."""
    waiting = iter(given)

    async def one_by_one() -> None:
        for one in waiting:
            told = await memory.profiles.patch(
                Actor(one.user), {"email": one.email_written, "phone": one.phone_written}
            )
            assert "***" in str(told.values["email"])
            assert "***" in str(told.values["phone"])

    await asyncio.gather(*(one_by_one() for _ in range(AT_ONCE)))


def plant(server: Server, rng: random.Random) -> list[str]:
    """Write addresses as a careless program would: text, JSON, bytes, and in a value that is compressed."""
    names = ["".join(rng.sample("abcdefghijklmnop", 12)) + "@planted.example" for _ in range(4)]
    long = f"{'padding of a long value ' * 130}{names[3]}{' more of it after that' * 140}"
    assert len(long) > 6_000
    with psycopg.connect(server.owner, autocommit=True) as conn:
        conn.execute("create table public.scratch (t text, j jsonb, b bytea)")
        row = [names[0], Jsonb({"told": [names[1]]}), names[2].encode()]
        conn.execute("insert into public.scratch values (%s, %s, %s)", row)
        conn.execute("insert into public.scratch values (%s)", [long])
        size = conn.execute(
            "select min(pg_column_size(t)) from public.scratch where length(t) > 6000"
        )
        (stored,) = size.fetchone() or (len(long),)
    assert stored < len(long) / 2, "the long value was not compressed"
    return names


def dump(server: Server) -> bytes:
    """Return what pg_dump writes of everything, all schemas, as a superuser who sees all rows."""
    command = [str(wheel().bin / "pg_dump"), "-d", server.superuser]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert b"\nuser:u999\t" in done.stdout, "the dump holds no profile"
    return done.stdout
