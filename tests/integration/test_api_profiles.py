"""Do profiles read and change over HTTP as in the library, at the version that was meant?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from api_world import app_on, asking, told
from conftest import Connect

if TYPE_CHECKING:
    from mnemic.service import MemoryService

URL = "/api/memory/profile"


async def test_a_profile_is_read_changed_and_put(stub_memory: MemoryService) -> None:
    async with asking(app_on(stub_memory)) as kim:
        first = await kim.get(URL)
        assert first.status_code == 200
        assert first.headers["etag"] == '"1"'
        assert first.json()["values"]["username"] is None
        changed = await kim.patch(
            URL,
            json={"username": "Ro", "preferences": ["tea"], "email": "kim@example.org"},
            headers={"If-Match": first.headers["etag"]},
        )
        assert changed.json()["values"]["username"] == "Ro"
        assert changed.json()["values"]["email"] == "k***@e***.org"
        full = await kim.get(URL, params={"contact": "true"})
        assert full.json()["values"]["email"] == "kim@example.org"
        put = await kim.put(URL, json={"profession": "pilot"}, headers={"If-Match": "*"})
        assert put.json()["values"]["username"] is None
        assert put.json()["values"]["profession"] == "pilot"


async def test_the_first_authenticated_call_makes_the_profile(
    stub_memory: MemoryService, connect: Connect
) -> None:
    async with asking(app_on(stub_memory), "newcomer") as client:
        assert (await client.get("/api/memory")).status_code == 200
    owner = await connect("owner")
    rows = await owner.execute("select from user_profile where user_id = 'newcomer'")
    assert rows.rowcount == 1


async def test_which_version_is_meant_must_be_said_and_be_there(stub_memory: MemoryService) -> None:
    async with asking(app_on(stub_memory)) as kim:
        for ask in (kim.patch, kim.put):
            told(await ask(URL, json={"username": "Ro"}), 428, "precondition_required")
            stale = await ask(URL, json={"username": "Ro"}, headers={"If-Match": '"7"'})
            told(stale, 412, "version_conflict")
            several = await ask(URL, json={"username": "Ro"}, headers={"If-Match": '"7", "8"'})
            told(several, 412, "version_conflict")
        listed = await kim.patch(URL, json={"username": "Ro"}, headers={"If-Match": '"7", "1"'})
        assert listed.status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"shoe_size": 43}, "unknown_field"),
        ({"username": 7}, "profile_value_invalid"),
        ({"content": "x" * 9_000}, "profile_value_too_long"),
        ({"phone": "12"}, "phone_without_country"),
        ({}, "nothing_to_change"),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    stub_memory: MemoryService, body: dict[str, object], code: str
) -> None:
    async with asking(app_on(stub_memory)) as kim:
        told(await kim.patch(URL, json=body, headers={"If-Match": "*"}), 422, code)


async def test_the_same_request_again_gets_the_first_answer(stub_memory: MemoryService) -> None:
    async with asking(app_on(stub_memory)) as kim:
        headers = {"If-Match": '"1"', "Idempotency-Key": "k1"}
        first = await kim.patch(URL, json={"username": "Ro"}, headers=headers)
        again = await kim.patch(URL, json={"username": "Ro"}, headers=headers)
        assert first.json() == again.json()


async def test_a_projects_profile_is_its_members(stub_memory: MemoryService) -> None:
    app = app_on(stub_memory)
    async with asking(app) as kim, asking(app, "lee") as lee:
        await kim.post("/api/projects", json={"id": "apollo", "name": "Apollo"})
        url = "/api/projects/apollo/profile"
        told(await lee.get(url), 404, "project_not_found")
        await kim.put("/api/projects/apollo/members/lee", json={"role": "viewer"})
        edited = await kim.patch(url, json={"current_phase": "beta"}, headers={"If-Match": "*"})
        assert edited.status_code == 200, edited.text
        assert (await lee.get(url)).json()["values"]["current_phase"] == "beta"
        refused = await lee.patch(url, json={"current_phase": "x"}, headers={"If-Match": "*"})
        told(refused, 403, "role_too_low")
        derived = await kim.patch(url, json={"key_decisions": []}, headers={"If-Match": "*"})
        told(derived, 422, "unknown_field")
