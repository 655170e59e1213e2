"""Which JWTs count? Every way to make a wrong one is tried."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jwt_issuer import (
    AUDIENCE,
    ISSUER,
    claims,
    encoded,
    jwk,
    pem,
    private_key,
    private_pem,
    signed,
    token,
)
from mnemic.access.tokens import (
    LONGEST,
    Claims,
    TokenRefused,
    TokenRules,
    VerificationKey,
    jwks_keys,
    pem_keys,
    verify,
)
from mnemic.errors import ConfigurationError, Unauthenticated
from mnemic.settings import JWT_ALGORITHMS

ALL = frozenset(JWT_ALGORITHMS)
RULES = TokenRules(ALL, AUDIENCE, ISSUER, leeway=5)


def keys(*kinds: str) -> tuple[VerificationKey, ...]:
    return tuple(key for kind in kinds or ("RS256",) for key in pem_keys(pem(kind)))


def code_of(
    text: str, known: tuple[VerificationKey, ...] | None = None, rules: TokenRules = RULES
) -> str:
    with pytest.raises(Unauthenticated) as caught:
        verify(text, keys() if known is None else known, rules)
    assert len(text) < 20 or text not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA"])
def test_a_good_token_of_every_kind_names_its_user(algorithm: str) -> None:
    kind = "RS256" if algorithm.startswith(("RS", "PS")) else algorithm
    issued = int(time.time()) - 7
    found = verify(token(algorithm=algorithm, iat=issued), keys(kind), RULES)
    assert found == Claims("kim", ISSUER, frozenset({"read", "write", "admin"}), issued)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"exp": int(time.time()) - 3600}, "credential_expired"),
        ({"exp": None}, "credential_invalid"),
        ({"exp": "soon"}, "credential_invalid"),
        ({"exp": True}, "credential_expired"),
        ({"exp": [1]}, "credential_invalid"),
        ({"exp": {}}, "credential_invalid"),
        ({"aud": None}, "credential_invalid"),
        ({"aud": "another-service"}, "credential_invalid"),
        ({"aud": ["another", "third"]}, "credential_invalid"),
        ({"aud": []}, "credential_invalid"),
        ({"aud": ""}, "credential_invalid"),
        ({"aud": 7}, "credential_invalid"),
        ({"iss": None}, "credential_invalid"),
        ({"iss": "https://issuer.example.evil"}, "credential_invalid"),
        ({"iss": "https://issuer.example/"}, "credential_invalid"),
        ({"iss": [ISSUER]}, "credential_invalid"),
        ({"sub": None}, "credential_invalid"),
        ({"sub": ""}, "credential_invalid"),
        ({"sub": 7}, "credential_invalid"),
        ({"sub": ["kim"]}, "credential_invalid"),
        ({"sub": "k" * 129}, "credential_invalid"),
        ({"sub": "ki\u206am"}, "credential_invalid"),
        ({"sub": "ki\u0000m"}, "credential_invalid"),
        ({"nbf": int(time.time()) + 3600}, "credential_invalid"),
        ({"iat": int(time.time()) + 3600}, "credential_invalid"),
        ({"scope": 7}, "credential_invalid"),
        ({"scope": {"mnemic:read": True}}, "credential_invalid"),
        ({"scope": [1, 2]}, "credential_invalid"),
    ],
)
def test_claims_that_are_missing_or_wrong_let_nobody_in(changes: dict[str, Any], code: str) -> None:
    text = signed(claims(**changes))
    assert code_of(text) == code
    with pytest.raises(TokenRefused) as refused:
        verify(text, keys(), RULES)
    (claim,) = changes
    assert refused.value.why == claim
    assert "credential" in str(refused.value)
    assert not refused.value.details  # the log is told, the caller is not


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no token", "no_token"),
        ("a.b.c", "no_token"),
        ("x" * (LONGEST + 1), "no_token"),
        (signed(claims(), {"alg": "none"}), "alg"),
        (signed(claims(), {"kid": 7}), "kid"),
        (signed(claims(), {"typ": "logout+jwt"}), "typ"),
        (signed(claims(), {"crit": ["exp"]}), "crit"),
        (signed([1]), "payload"),
        (signed(b"\xff"), "payload"),
        (token(key=private_key("other")), "signature"),
        (token(algorithm="ES256"), "key_unknown"),
    ],
)
def test_the_log_can_say_what_was_wrong_with_a_token(text: str, why: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        verify(text, keys(), RULES)
    assert refused.value.why == why
    assert refused.value.code == "credential_invalid"


def test_pf_070_a_subject_that_would_have_to_be_folded_is_nobody() -> None:
    for subject in ("kim ", " kim", "ki\u0301m", "kim\u00a0"):
        assert code_of(token(sub=subject)) == "credential_invalid"
    assert verify(token(sub="Kím"), keys(), RULES).subject == "Kím"
    assert verify(token(sub="金小明"), keys(), RULES).subject == "金小明"


def test_the_audience_may_be_one_of_several() -> None:
    assert verify(token(aud=["x", AUDIENCE]), keys(), RULES).subject == "kim"


def test_clocks_may_differ_a_little_and_no_more() -> None:
    now = int(time.time())
    assert verify(token(exp=now - 2), keys(), RULES).subject == "kim"
    assert code_of(token(exp=now - 8)) == "credential_expired"


def test_an_expired_token_of_somebody_elses_key_is_no_token() -> None:
    stranger = token(exp=int(time.time()) - 3600, key=private_key("other"))
    assert code_of(stranger) == "credential_invalid"


@pytest.mark.parametrize(
    "alg", ["none", "None", "NONE", "nOnE", "", "HS256", "hs256", "RS256 ", "rs256", 7, None, []]
)
def test_alg_none_and_its_kin_are_refused(alg: object) -> None:
    for signature in ("", encoded(b"x" * 32)):
        header = {"alg": alg, "typ": "JWT"}
        assert code_of(f"{encoded(header)}.{encoded(claims())}.{signature}") == "credential_invalid"


@pytest.mark.parametrize("kind", ["RS256", "ES256", "EdDSA"])
def test_a_public_key_is_no_shared_secret(kind: str) -> None:
    """The classic: sign with HMAC and the published key as its secret."""
    header = {"alg": "HS256", "typ": "JWT"}
    for secret in (pem(kind), pem(kind).strip(), json.dumps(jwk(kind)).encode()):
        signed = f"{encoded(header)}.{encoded(claims())}"
        mac = encoded(hmac.digest(secret, signed.encode(), hashlib.sha256))
        assert code_of(f"{signed}.{mac}", keys(kind)) == "credential_invalid"


def test_an_algorithm_that_is_not_listed_is_refused_although_the_key_fits() -> None:
    only = TokenRules(frozenset({"ES256"}), AUDIENCE, ISSUER)
    assert code_of(token(), keys("RS256", "ES256"), only) == "credential_invalid"
    assert code_of(
        token(algorithm="RS512"), keys(), TokenRules(frozenset({"RS256"}), AUDIENCE, ISSUER)
    ) == ("credential_invalid")


def test_a_key_is_used_for_its_own_algorithm_only() -> None:
    """The header names one family, the key is of another: nothing is tried, nothing breaks."""
    for algorithm in ALL:
        text = f"{encoded({'alg': algorithm})}.{encoded(claims())}.{encoded(b'x' * 64)}"
        assert code_of(text, keys("RS256", "ES256", "ES384", "EdDSA")) == "credential_invalid"


@pytest.mark.parametrize(
    "headers",
    [
        {"jku": "https://evil.example/keys.json"},
        {"x5u": "https://evil.example/cert.pem"},
        {"jwk": jwk("other")},
        {"kid": "../../../../dev/null"},
        {"kid": "' or 1=1 --"},
    ],
)
def test_a_token_cannot_bring_its_own_key(headers: dict[str, Any]) -> None:
    forged = token(key=private_key("other"), headers=headers)
    assert code_of(forged) == "credential_invalid"


@pytest.mark.parametrize(
    "headers",
    [
        {"crit": ["exp"]},
        {"crit": []},
        {"b64": False, "crit": ["b64"]},
        {"typ": "dpop+jwt"},
        {"kid": 7},
    ],
)
def test_headers_that_ask_for_more_than_we_do_are_refused(headers: dict[str, Any]) -> None:
    assert code_of(signed(claims(), headers)) == "credential_invalid"


def test_the_key_id_chooses_among_keys() -> None:
    known = jwks_keys({"keys": [jwk("other", kid="old"), jwk(kid="new")]})
    assert verify(token(headers={"kid": "new"}), known, RULES).subject == "kim"
    assert code_of(token(headers={"kid": "old"}), known) == "credential_invalid"
    assert code_of(token(headers={"kid": "third"}), known) == "credential_invalid"
    assert verify(token(), known, RULES).subject == "kim"  # names none: each is tried


def test_a_token_that_was_changed_is_refused() -> None:
    head, body, signature = token().split(".")
    payload = json.loads(base64.urlsafe_b64decode(body + "=="))
    assert (
        code_of(f"{head}.{encoded(payload | {'sub': 'lee'})}.{signature}") == "credential_invalid"
    )
    assert code_of(f"{head}.{body}.{signature[:-8]}AAAAAAAA") == "credential_invalid"
    assert code_of(f"{head}.{body}") == "credential_invalid"
    assert code_of(f"{head}.{body}.{signature}.{signature}") == "credential_invalid"


def test_a_token_of_any_size_or_depth_costs_little() -> None:
    deep = "[" * 5_000 + "]" * 5_000
    for text in (
        "a" * (LONGEST + 1) + ".a.a",
        f"{encoded(deep.encode())}.{encoded(claims())}.AAAA",
        f"{encoded({'alg': 'RS256'})}.{encoded(deep.encode())}.AAAA",
        f"{encoded(b'{')}.{encoded(b'{}')}.AAAA",
        f"{encoded(b'null')}.{encoded(b'null')}.AAAA",
        f"{encoded([])}.{encoded([])}.AAAA",
        f"{encoded({'alg': 'RS256'})}.{encoded(b'{nan')}.AAAA",
    ):
        started = time.perf_counter()
        assert code_of(text) == "credential_invalid"
        assert time.perf_counter() - started < 10


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "[1e400]"])
def test_numbers_that_no_clock_shows_are_refused(number: str) -> None:
    body = json.dumps(claims(exp="@")).replace('"@"', number)
    assert code_of(signed(body.encode())) == "credential_invalid"


@pytest.mark.parametrize("issued", [-(10**400), -1e308, True, None])
def test_a_token_from_no_time_at_all_has_none(issued: object) -> None:
    told = verify(token(iat=issued), keys(), RULES).issued_at
    assert told == (issued if isinstance(issued, float) else None)


def test_scopes_of_ours_limit_a_token_and_others_do_not() -> None:
    assert verify(token(scope="openid mnemic:read"), keys(), RULES).scopes == {"read"}
    assert verify(token(scp=["mnemic:read", "mnemic:write"]), keys(), RULES).scopes == {
        "read",
        "write",
    }
    assert verify(token(scope="openid email"), keys(), RULES).scopes == {"read", "write", "admin"}
    assert verify(token(scope="mnemic:everything"), keys(), RULES).scopes == frozenset()


# ---- keys


def test_a_pem_file_may_hold_several_public_keys_and_no_private_one() -> None:
    found = pem_keys(pem("RS256") + b"\n# the next one\n" + pem("ES256"))
    assert [key.algorithms & {"RS256", "ES256"} for key in found] == [{"RS256"}, {"ES256"}]
    for data in (b"", b"no key", private_pem(), pem() + private_pem(), pem("short"), pem()[:200]):
        with pytest.raises(ConfigurationError) as caught:
            pem_keys(data)
        assert caught.value.code == "jwt_key_invalid"


def test_a_key_set_gives_the_keys_that_can_check_signatures() -> None:
    secret = {"kty": "oct", "k": encoded(b"s" * 32), "kid": "shared", "alg": "HS256"}
    private = json.loads(jwt.get_algorithm_by_name("RS256").to_jwk(private_key()))  # type: ignore[attr-defined]
    found = jwks_keys(
        {
            "keys": [
                jwk(kid="a"), jwk("ES256", kid="b", use="sig"), jwk("EdDSA", kid="c", key_ops=["verify"]),
                jwk(kid="enc", use="enc"), jwk(kid="sign", key_ops=["sign"]), jwk("short", kid="short"),
                jwk(kid="odd", alg="HS256"), jwk(kid="rs", alg="RS256"), secret, private | {"kid": "private"},
                {"kty": "RSA"}, {"kty": "EC", "crv": "P-256", "x": 1, "y": 2}, {}, "text", None, 7,
            ]
        }
    )  # fmt: skip
    assert [key.kid for key in found] == ["a", "b", "c", "rs"]
    assert found[3].algorithms == {"RS256"}
    for document in (None, [], {}, {"keys": None}, {"keys": "x"}, {"keys": {}}, 7, "x"):
        assert jwks_keys(document) == ()


# ---- fuzz

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
_HEADER = st.fixed_dictionaries(
    {"alg": st.sampled_from([*JWT_ALGORITHMS, "none", "HS256", "HS512"]) | _JSON},
    optional=dict.fromkeys(("typ", "kid", "crit", "jwk", "jku", "b64", "x5c"), _JSON),
)
_CLAIMS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("iss", "aud", "sub", "exp", "nbf", "iat", "scope", "scp", "jti"), _JSON
    ),
)
_KNOWN = keys("RS256", "ES256", "EdDSA")


@settings(max_examples=400, deadline=None)
@given(
    st.text(max_size=200)
    | st.binary(max_size=200).map(lambda raw: f"{encoded(raw)}.{encoded(raw)}.{encoded(raw)}")
)
def test_no_text_is_a_way_in(text: str) -> None:
    code_of(text, _KNOWN)


@settings(max_examples=400, deadline=None)
@given(_HEADER, _CLAIMS, st.binary(max_size=300))
def test_no_header_and_no_claims_without_a_signature_are_a_way_in(
    header: dict[str, Any], body: dict[str, Any], signature: bytes
) -> None:
    code_of(f"{encoded(header)}.{encoded(claims() | body)}.{encoded(signature)}", _KNOWN)


@settings(max_examples=300, deadline=None)
@given(_CLAIMS)
def test_signed_claims_name_their_subject_or_nobody(body: dict[str, Any]) -> None:
    payload = claims() | body
    text = signed(payload, algorithm="ES256")
    try:
        found = verify(text, _KNOWN, RULES)
    except Unauthenticated:
        return
    assert found.subject == payload["sub"]
    assert payload["iss"] == ISSUER
    assert AUDIENCE in payload["aud"]
    assert payload["exp"] > time.time() - 10
