"""Who sent this request? Nothing but its credential says so, never its body.

``Authorization: Bearer`` carries an API key or a JWT. ``Mnemic-User`` names whom a service acts for; the keys
and tokens of users may name nobody but themselves. ``Mnemic-Project`` and ``Mnemic-Session`` say where.
Header values are UTF-8; a header that comes twice is refused: two readers could take two of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from mnemic.access.apikeys import KINDS, Holder, KeyCheck, Kind, Right, invalid, label
from mnemic.access.tokens import (
    Claims,
    TokenRefused,
    TokenRules,
    VerificationKey,
    header_of,
    pem_keys,
    verify,
)
from mnemic.errors import ConfigurationError, InvalidInput, PermissionDenied, Unauthenticated
from mnemic.model import Actor
from mnemic.settings import Settings

AUTHORIZATION, USER, PROJECT, SESSION = (
    "authorization",
    "mnemic-user",
    "mnemic-project",
    "mnemic-session",
)
_READ = frozenset({AUTHORIZATION, USER, PROJECT, SESSION})
_PURPOSE = "api"
_LOG = structlog.get_logger("mnemic.access")

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking, and what their credential allows. ``actor`` is None for an operator, who is no user.

    ``credential`` labels what was presented; ``rate_key`` names whose requests are counted together: those
    of a credential, of a service's key those for one user.
    """

    actor: Actor | None
    kind: Kind
    scopes: frozenset[str]
    credential: str
    rate_key: str

    def require(self, right: Right) -> Actor:
        """Return the actor. Raises PermissionDenied (``operator_has_no_memory``, ``scope_missing``)."""
        if self.actor is None:
            raise PermissionDenied(
                "operator_has_no_memory", "An operator's key reads the metrics only, no memory."
            )
        if right not in self.scopes:
            raise PermissionDenied(
                "scope_missing", f"This credential lacks the scope {right}.", scope=right
            )
        return self.actor

    def require_operator(self) -> None:
        """Raise PermissionDenied (``operator_required``) for anybody but an operator."""
        if self.kind != "operator":
            raise PermissionDenied("operator_required", "This needs an operator's key.")


class PublicKeys(Protocol):
    """Where the keys that check JWTs come from: ``jwks.Jwks`` or ``FixedKeys``."""

    async def keys(self, kid: str | None) -> tuple[VerificationKey, ...]:
        """Return the keys that may have signed a token with this key id."""


@dataclass(frozen=True, slots=True)
class FixedKeys:
    """The keys of a PEM file, read once."""

    found: tuple[VerificationKey, ...]

    async def keys(self, kid: str | None) -> tuple[VerificationKey, ...]:
        return self.found


@dataclass(frozen=True, slots=True)
class Tokens:
    """How JWTs are checked here."""

    rules: TokenRules
    keys: PublicKeys

    async def claims(self, token: str) -> Claims:
        """Return what a token claims. Raises Unauthenticated, ConfigurationError (``jwks_unreachable``)."""
        try:
            header = header_of(token, self.rules)
            return verify(token, await self.keys.keys(header.kid), self.rules)
        except TokenRefused as refusal:
            _LOG.info("token refused", code=refusal.code, why=refusal.why)
            raise


class Erasures(Protocol):
    """Who was forgotten, and when: ``audit.Audit``."""

    async def erased_at(self, actor: Actor) -> datetime | None:
        """Return when the actor's user was erased last, None for never."""


class Authenticator:
    """Turns a request's headers into who is asking."""

    def __init__(
        self, api_keys: KeyCheck, tokens: Tokens | None = None, erasures: Erasures | None = None
    ) -> None:
        """``erasures`` ends the tokens that users had before they were erased; their keys go with them."""
        self._api_keys = api_keys
        self._tokens = tokens
        self._erasures = erasures

    async def authenticate(self, headers: Headers) -> Identity:
        """Return who sent these headers (names in any case; a mapping, or pairs with repeats).

        Raises Unauthenticated (``credential_missing``, ``credential_invalid``, ``credential_expired``,
        ``credential_revoked``, ``credential_erased``), PermissionDenied (``acting_not_allowed``),
        InvalidInput (``invalid_id``, ``user_required``, ``header_repeated``), ConfigurationError
        (``jwks_unreachable``).
        """
        given = _collected(headers)
        token = _bearer(given.get(AUTHORIZATION, []))
        if token.startswith("mk_"):
            return _of_key(await self._api_keys.holder(token), given)
        if self._tokens is None:
            raise invalid()
        claims = await self._tokens.claims(token)
        await self._require_of_this_life(claims)
        return _of_token(claims, given)

    async def _require_of_this_life(self, claims: Claims) -> None:
        """Refuse a token from before its user was erased, and one that does not say when it is from."""
        if self._erasures is None:
            return
        erased = await self._erasures.erased_at(Actor(claims.subject))
        if erased is None:
            return
        if claims.issued_at is None or claims.issued_at < erased.timestamp():
            raise Unauthenticated(
                "credential_erased",
                "The user of this token was erased after it was issued: sign in again to begin anew.",
            )


def tokens_of(settings: Settings) -> Tokens | None:
    """Return how JWTs are checked, None where none are taken.

    Raises ConfigurationError (``bad_setting``, ``jwt_key_invalid``, ``jwt_key_unreadable``,
    ``server_not_installed``) and HostNotAllowed.
    """
    if settings.jwt_jwks_url is None and settings.jwt_public_key_file is None:
        if settings.jwt_issuer or settings.jwt_audience:
            raise ConfigurationError(
                "bad_setting",
                "MNEMIC_JWT_JWKS_URL or MNEMIC_JWT_PUBLIC_KEY_FILE must be set with"
                " MNEMIC_JWT_ISSUER and MNEMIC_JWT_AUDIENCE: without keys no JWT is taken.",
            )
        return None
    require_server_extra()
    assert settings.jwt_audience is not None  # settings check the four together
    assert settings.jwt_issuer is not None
    rules = TokenRules(
        frozenset(settings.jwt_algorithms.split(",")), settings.jwt_audience, settings.jwt_issuer
    )
    if settings.jwt_jwks_url is not None:
        from mnemic.access.jwks import Jwks

        return Tokens(rules, Jwks(settings.jwt_jwks_url, settings.allowed_hosts))
    assert settings.jwt_public_key_file is not None
    try:
        data = settings.jwt_public_key_file.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            "jwt_key_unreadable", f"MNEMIC_JWT_PUBLIC_KEY_FILE cannot be read: {error.strerror}."
        ) from None
    return Tokens(rules, FixedKeys(pem_keys(data)))


def require_server_extra() -> None:
    """Raise ConfigurationError (``server_not_installed``) unless the packages of the service are here."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("fastapi", "jwt", "limits", "uvicorn")):
        raise ConfigurationError(
            "server_not_installed",
            "The service needs more packages: pip install '.[server]' in the clone.",
        )


def _collected(headers: Headers) -> dict[str, list[str]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        if name.lower() in _READ:
            found.setdefault(name.lower(), []).append(value)
    return found


def _bearer(values: list[str]) -> str:
    if not values:
        raise Unauthenticated("credential_missing", "Send an API key: Authorization: Bearer mk_...")
    scheme, _, token = values[0].strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer":
        raise Unauthenticated(
            "credential_invalid",
            "Write the header so: Authorization: Bearer, a space, the credential.",
        )
    if len(values) > 1 or not token or not token.isascii():
        raise invalid()
    return token


def _of_key(holder: Holder, given: Mapping[str, list[str]]) -> Identity:
    assert holder.kind in KINDS
    name = label(holder.prefix)
    if holder.kind == "operator":
        return Identity(None, "operator", holder.scopes, f"operator:{name}", f"key:{name}")
    if holder.kind == "service":
        user = _one(given, USER)
        if user is None:
            raise InvalidInput(
                "user_required", "A service's key acts for a user: name them in Mnemic-User."
            )
        actor = _actor(user, given, f"service:{name}")
        counted = hashlib.sha256(actor.user.encode()).hexdigest()[:32]  # ids go into no other store
        return Identity(actor, "service", holder.scopes, f"service:{name}", f"key:{name}:{counted}")
    assert holder.user is not None
    actor = _themselves(holder.user, given, f"key:{name}")
    return Identity(actor, "user", holder.scopes, f"key:{name}", f"key:{name}")


def _of_token(claims: Claims, given: Mapping[str, list[str]]) -> Identity:
    label = f"jwt:{claims.issuer}"
    actor = _themselves(claims.subject, given, label)
    counted = hashlib.sha256(f"{claims.issuer}\0{claims.subject}".encode()).hexdigest()[:32]
    return Identity(actor, "user", claims.scopes, label, f"jwt:{counted}")


def _themselves(user: str, given: Mapping[str, list[str]], credential: str) -> Actor:
    """Return the actor of a user's own credential, which may name nobody else."""
    actor = _actor(user, given, credential)
    named = _one(given, USER)
    if named is not None and Actor(named).user != actor.user:
        raise PermissionDenied(
            "acting_not_allowed", "Only a service's key may act for another user (Mnemic-User)."
        )
    return actor


def _actor(user: str, given: Mapping[str, list[str]], credential: str) -> Actor:
    return Actor(
        user,
        _one(given, PROJECT),
        _one(given, SESSION),
        purpose=_PURPOSE,
        credential=credential,
    )


def _one(given: Mapping[str, list[str]], name: str) -> str | None:
    """Return a header's value. Raises InvalidInput (``header_repeated``, ``invalid_id``)."""
    values = given.get(name)
    if values is None:
        return None
    if len(values) > 1:
        raise InvalidInput("header_repeated", f"The header {name} must come once.", header=name)
    try:
        return values[0].encode("latin-1").decode("utf-8")
    except UnicodeEncodeError:
        return values[0]  # handed over decoded already
    except UnicodeDecodeError:
        raise InvalidInput(
            "invalid_id", f"The header {name} must be UTF-8.", what=name.removeprefix("mnemic-")
        ) from None
