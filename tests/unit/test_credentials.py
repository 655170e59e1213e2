"""Whom does a request's header name? Only its credential does, and no header is a way round it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers
from structlog.testing import capture_logs

from jwt_issuer import AUDIENCE, ISSUER, claims, jwk, pem, private_key, signed, token
from mnemic.access.apikeys import Holder, new_key
from mnemic.access.credentials import Authenticator, FixedKeys, Identity, Tokens, tokens_of
from mnemic.access.tokens import TokenRules, jwks_keys
from mnemic.errors import (
    ConfigurationError,
    HostNotAllowed,
    InvalidInput,
    MnemicError,
    PermissionDenied,
    Unauthenticated,
)
from mnemic.model import Actor
from mnemic.settings import Settings

KIM, SERVICE, OPERATOR, READER = (new_key()[0] for _ in range(4))
RIGHTS = frozenset({"read", "write", "admin"})


@dataclass
class Keys:
    """The keys of this test; how the database knows them is another test's matter."""

    known: dict[str, Holder] = field(
        default_factory=lambda: {
            KIM: Holder("aaaaaaaa", "user", "kim", RIGHTS),
            SERVICE: Holder("bbbbbbbb", "service", None, RIGHTS),
            OPERATOR: Holder("cccccccc", "operator", None, frozenset()),
            READER: Holder("dddddddd", "user", "kim", frozenset({"read"})),
        }
    )

    async def holder(self, text: str) -> Holder:
        if text not in self.known:
            raise Unauthenticated("credential_invalid", "This credential does not count here.")
        return self.known[text]


TOKENS = Tokens(
    TokenRules(frozenset({"RS256"}), AUDIENCE, ISSUER), FixedKeys(jwks_keys({"keys": [jwk()]}))
)
AUTH = Authenticator(Keys(), TOKENS)  # type: ignore[arg-type]


async def identity(credential: str | None, **headers: str) -> Identity:
    given = {f"Mnemic-{name.title()}": value for name, value in headers.items()}
    if credential is not None:
        given["Authorization"] = f"Bearer {credential}"
    return await AUTH.authenticate(given)


async def code(*pairs: tuple[str, str]) -> str:
    with pytest.raises(MnemicError) as caught:
        await AUTH.authenticate(pairs)
    for _, value in pairs:
        assert len(value) < 8 or value not in str(caught.value)
    return caught.value.code


async def test_a_users_key_is_its_user_in_the_named_project_and_session() -> None:
    found = await identity(KIM, project="apollo", session="s1")
    assert found.actor is not None
    actor = found.actor
    assert (actor.user, actor.project, actor.session) == ("kim", "apollo", "s1")
    assert (actor.purpose, actor.credential) == ("api", "key:mk_aaaaaaaa")
    assert (found.kind, found.scopes, found.rate_key) == ("user", RIGHTS, "key:mk_aaaaaaaa")


async def test_a_token_is_its_subject() -> None:
    found = await identity(token(), session="s1")
    assert found.actor is not None
    assert (found.actor.user, found.actor.session, found.actor.credential) == (
        "kim",
        "s1",
        f"jwt:{ISSUER}",
    )
    other = await identity(token(sub="lee"))
    assert found.rate_key == (await identity(token(jti="x"))).rate_key != other.rate_key
    assert "kim" not in found.rate_key


async def test_pf_067_without_a_credential_there_is_no_answer() -> None:
    assert await code() == "credential_missing"
    assert await code(("mnemic-user", "kim")) == "credential_missing"
    assert await code(("X-Forwarded-User", "kim"), ("X-User", "kim")) == "credential_missing"
    assert (
        await code(("Cookie", f"authorization={KIM}"), ("X-Api-Key", KIM)) == "credential_missing"
    )


@pytest.mark.parametrize(
    "value",
    ["", " ", "Bearer", "Bearer ", "bearer", "Basic a2ltOmtpbQ==", "Bearer mk_", "Bearer null", "Bearer *",
     "Bearer undefined", "Token abc", "Bearer ' or 1=1", "Bearer mk_金", "Bearer a b", "Negotiate x",
     "Bearer .", "Bearer ..", "Bearer mk_aaaaaaaa", "Bearer \x00", "Bearer mk_aaaaaaaa_" + "A" * 43],
)  # fmt: skip
async def test_what_is_no_credential_is_refused(value: str) -> None:
    assert await code(("authorization", value)) == "credential_invalid"


async def test_the_scheme_is_read_in_any_case_and_the_key_in_its_own() -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert (await AUTH.authenticate([("AUTHORIZATION", f"{scheme} {KIM}")])).kind == "user"
    assert await code(("authorization", f"Bearer {KIM.upper()}")) == "credential_invalid"
    assert await code(("authorization", KIM)) == "credential_invalid"


async def test_pf_060_a_user_may_name_themselves_and_nobody_else() -> None:
    for credential in (KIM, READER, token()):
        found = await identity(credential, user="kim")
        assert found.actor is not None
        assert found.actor.user == "kim"
        for other in (
            "lee",
            "KIM",
            "kim2",
            "*",
            "%",
            "kim,lee",
            "k\u0456m".encode().decode("latin-1"),
        ):
            with pytest.raises(PermissionDenied) as caught:
                await identity(credential, user=other)
            assert caught.value.code == "acting_not_allowed"


async def test_pf_061_a_service_that_names_nobody_acts_for_nobody() -> None:
    auth = ("authorization", f"Bearer {SERVICE}")
    assert await code(auth) == "user_required"
    for blank in ("", "   ", "\t"):
        assert await code(auth, ("mnemic-user", blank)) == "invalid_id"
    found = await identity(SERVICE, user="*")  # a user of that name, no pattern
    assert found.actor is not None
    assert found.actor.scope_keys == ("user:%2A",)


async def test_a_service_acts_for_the_user_whom_it_names_and_that_is_on_record() -> None:
    found = await identity(SERVICE, user="lee", project="apollo")
    assert found.actor is not None
    assert (found.actor.user, found.actor.project, found.kind) == ("lee", "apollo", "service")
    assert found.actor.credential == "service:mk_bbbbbbbb"
    again = await identity(SERVICE, user="lee")
    other = await identity(SERVICE, user="kim")
    assert found.rate_key == again.rate_key != other.rate_key
    assert "lee" not in found.rate_key


async def test_pf_034_pf_070_the_ids_in_headers_are_trimmed_or_refused() -> None:
    found = await identity(SERVICE, user=" kim ")
    assert found.actor is not None
    assert found.actor.user == "kim"
    for hidden in ("ki\u206am", "ki\u200bm", "kim\u202e", "ki\x00m"):
        with pytest.raises(InvalidInput) as caught:
            await identity(SERVICE, user=hidden.encode().decode("latin-1"))
        assert caught.value.code == "invalid_id"


async def test_ids_beyond_latin_come_as_utf_8() -> None:
    auth = f"Bearer {SERVICE}".encode()
    wire = Headers(raw=[(b"authorization", auth), (b"mnemic-user", "金小明".encode())])
    found = await AUTH.authenticate(wire)
    assert found.actor is not None
    assert found.actor.user == "金小明"
    named = await identity(SERVICE, user="金小明")  # decoded already, as tests do
    assert named.actor is not None
    assert named.actor.user == "金小明"
    assert (
        await code(("authorization", f"Bearer {SERVICE}"), ("mnemic-user", "\xff\xfe"))
        == "invalid_id"
    )


async def test_a_header_that_comes_twice_is_refused() -> None:
    auth = ("authorization", f"Bearer {SERVICE}")
    for name in ("mnemic-user", "mnemic-project", "mnemic-session"):
        assert (
            await code(auth, ("Mnemic-User", "kim"), (name, "a"), (name.title(), "b"))
            == "header_repeated"
        )
    assert await code(("Authorization", f"Bearer {KIM}"), auth) == "credential_invalid"
    twice = Headers(raw=[(b"authorization", f"Bearer {KIM}".encode())] * 2)
    with pytest.raises(Unauthenticated):
        await AUTH.authenticate(twice)


async def test_an_operator_reads_no_memory_and_a_user_no_metrics() -> None:
    operator = await identity(OPERATOR, user="kim")
    operator.require_operator()
    assert operator.actor is None
    for right in ("read", "write", "admin"):
        with pytest.raises(PermissionDenied) as caught:
            operator.require(right)  # type: ignore[arg-type]
        assert caught.value.code == "operator_has_no_memory"
    for other in (
        await identity(KIM),
        await identity(SERVICE, user="kim"),
        await identity(token()),
    ):
        with pytest.raises(PermissionDenied) as caught:
            other.require_operator()
        assert caught.value.code == "operator_required"


async def test_scopes_are_kept() -> None:
    reader = await identity(READER)
    assert reader.require("read").user == "kim"
    for right in ("write", "admin"):
        with pytest.raises(PermissionDenied) as caught:
            reader.require(right)  # type: ignore[arg-type]
        assert (caught.value.code, caught.value.details) == ("scope_missing", {"scope": right})
    limited = await identity(token(scope="mnemic:read"))
    with pytest.raises(PermissionDenied):
        limited.require("write")


async def test_where_no_tokens_are_taken_none_counts() -> None:
    with pytest.raises(Unauthenticated) as caught:
        await Authenticator(Keys()).authenticate({"Authorization": f"Bearer {token()}"})  # type: ignore[arg-type]
    assert caught.value.code == "credential_invalid"


# ---- settings


def with_jwt(**given: Any) -> Settings:
    return Settings.read(jwt_audience=AUDIENCE, jwt_issuer=ISSUER, **given)


async def test_a_pem_file_of_the_settings_checks_tokens(tmp_path: Path) -> None:
    file = tmp_path / "issuer.pem"
    file.write_bytes(pem())
    tokens = tokens_of(with_jwt(jwt_public_key_file=file))
    assert tokens is not None
    assert (await tokens.claims(token())).subject == "kim"
    file.write_bytes(b"nothing")
    with pytest.raises(ConfigurationError) as caught:
        tokens_of(with_jwt(jwt_public_key_file=file))
    assert caught.value.code == "jwt_key_invalid"
    with pytest.raises(ConfigurationError) as caught:
        tokens_of(with_jwt(jwt_public_key_file=tmp_path / "none.pem"))
    assert caught.value.code == "jwt_key_unreadable"


def test_a_key_set_of_the_settings_needs_an_allowed_host() -> None:
    url = "https://issuer.example/keys.json"
    with pytest.raises(HostNotAllowed):
        tokens_of(with_jwt(jwt_jwks_url=url))
    assert tokens_of(with_jwt(jwt_jwks_url=url, allowed_hosts="issuer.example")) is not None
    assert tokens_of(Settings.read()) is None


@pytest.mark.parametrize(
    "given",
    [
        {"jwt_jwks_url": "https://a.example"},
        {"jwt_jwks_url": "https://a.example", "jwt_audience": "x"},
        {"jwt_public_key_file": "/tmp/key.pem", "jwt_issuer": "x"},
        {"jwt_jwks_url": "https://a.example", "jwt_public_key_file": "/k", "jwt_audience": "x",
         "jwt_issuer": "y"},
        {"jwt_algorithms": "HS256"}, {"jwt_algorithms": "none"}, {"jwt_algorithms": ""},
        {"jwt_algorithms": "RS256,HS256"}, {"jwt_algorithms": "RS256,"},
        {"rate_limit": "many"}, {"rate_limit": "0/minute"}, {"rate_limit": "-1/minute"},
        {"rate_limit": "5/year"},
    ],
)  # fmt: skip
def test_settings_that_would_open_a_door_stop_the_start(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.read(**given)
    assert caught.value.code == "bad_setting"


@pytest.mark.parametrize("given", [{"jwt_issuer": ISSUER}, {"jwt_audience": AUDIENCE}])
def test_an_issuer_without_its_keys_stops_the_start(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="MNEMIC_JWT_JWKS_URL") as caught:
        tokens_of(Settings.read(**given))
    assert caught.value.code == "bad_setting"


# ---- fuzz

_NAMES = st.sampled_from(
    ["authorization", "Authorization", "mnemic-user", "Mnemic-User", "mnemic-project", "mnemic-session",
     "x-forwarded-for", "mnemic_user", "mnemic-user ", "cookie"]
)  # fmt: skip
_GOOD = st.sampled_from([KIM, SERVICE, OPERATOR, token(), token(sub="lee")])
_VALUES = (
    st.text(max_size=40)
    | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1"))
    | _GOOD.map(lambda text: f"Bearer {text}")
    | _GOOD.flatmap(lambda text: st.integers(0, len(text)).map(lambda cut: f"Bearer {text[:cut]}"))
    | _GOOD.flatmap(
        lambda text: st.text(min_size=1, max_size=3).map(lambda more: f"Bearer {text}{more}")
    )
    | st.sampled_from(["kim", "lee", "*", ""])
)
_WHOLE = {f"Bearer {text}" for text in (KIM, SERVICE, OPERATOR)}


@settings(max_examples=800, deadline=None)
@given(st.lists(st.tuples(_NAMES, _VALUES), max_size=6))
async def test_no_combination_of_headers_is_a_way_in(pairs: list[tuple[str, str]]) -> None:
    try:
        found = await AUTH.authenticate(pairs)
    except (Unauthenticated, PermissionDenied, InvalidInput):
        return
    given = [value.strip() for name, value in pairs if name.lower() == "authorization"]
    assert len(given) == 1
    bearer = given[0].partition(" ")[2].strip()
    if found.kind == "operator":
        assert (bearer, found.actor) == (OPERATOR, None)
    elif found.kind == "service":
        assert bearer == SERVICE
    else:
        assert found.actor is not None
        assert found.actor.user in ("kim", "lee")
        assert bearer == KIM or bearer.count(".") == 2


# ---- users who were erased


ERASED = datetime(2026, 3, 2, 9, 14, 7, 250_000, tzinfo=UTC)


class Forgotten:
    """Kim was erased at ``ERASED``, nobody else ever."""

    async def erased_at(self, actor: Actor) -> datetime | None:
        return ERASED if actor.user == "kim" else None


@pytest.mark.parametrize(
    ("issued_at", "counts"),
    [
        (ERASED.timestamp() - 3600, False),
        (ERASED.timestamp() - 0.001, False),
        (int(ERASED.timestamp()), False),
        (ERASED.timestamp(), True),
        (int(ERASED.timestamp()) + 1, True),
        (None, False),
        (True, False),
        (str(int(ERASED.timestamp()) + 1), False),
        (-1, False),
    ],
)
async def test_pf_080_a_token_from_before_the_erasure_of_its_user_is_refused(
    issued_at: Any, counts: bool
) -> None:
    auth = Authenticator(Keys(), TOKENS, Forgotten())  # type: ignore[arg-type]
    text = signed(claims(iat=issued_at))
    if counts:
        found = await auth.authenticate({"authorization": f"Bearer {text}"})
        assert found.actor is not None
        assert found.actor.user == "kim"
        return
    with pytest.raises(Unauthenticated) as caught:
        await auth.authenticate({"authorization": f"Bearer {text}"})
    assert caught.value.code == "credential_erased"
    assert caught.value.details == {}


async def test_an_erasure_ends_no_token_of_others_and_tells_nothing_of_them() -> None:
    auth = Authenticator(Keys(), TOKENS, Forgotten())  # type: ignore[arg-type]
    lee = await auth.authenticate({"authorization": f"Bearer {token(sub='lee', iat=None)}"})
    assert lee.actor is not None
    for text in (
        token(sub="kim", iat=None, aud="elsewhere"),
        token(sub="kim", iat=None, key=private_key("other")),
        token(sub="kim", iat=None)[:-4] + "AAAA",
    ):
        with pytest.raises(Unauthenticated) as caught:
            await auth.authenticate({"authorization": f"Bearer {text}"})
        assert caught.value.code == "credential_invalid"
    # keys are not asked about: an erasure takes them away
    assert (await auth.authenticate({"authorization": f"Bearer {KIM}"})).actor is not None


async def test_a_refused_token_is_logged_by_what_is_wrong_and_without_a_word_of_it() -> None:
    text = token(aud="another-service", sub="kim-of-another")
    with capture_logs() as logged, pytest.raises(Unauthenticated) as refused:
        await identity(text)
    assert logged == [
        {
            "event": "token refused",
            "log_level": "info",
            "code": "credential_invalid",
            "why": "aud",
        }
    ]
    assert "aud" not in str(refused.value)
    assert not refused.value.details
