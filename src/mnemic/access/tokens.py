"""Does this JWT come from the one who may vouch for our users, and whom does it name?

Pure: token, keys and rules in, claims or an error out. Signature, algorithm, issuer, audience and expiry are
all required; what a token says about its own key (``jku``, ``jwk``, ``x5u``) is never followed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.access.apikeys import RIGHTS, invalid
from mnemic.errors import ConfigurationError, InvalidInput, Unauthenticated
from mnemic.model import clean_id
from mnemic.settings import JWT_ALGORITHMS

LONGEST = 8_192
"""Characters of a token that is looked at."""
LEEWAY = 30.0
"""Seconds by which the issuer's clock may differ from ours."""
MINIMUM_RSA_BITS = 2048

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_RSA = frozenset(name for name in JWT_ALGORITHMS if name.startswith(("RS", "PS")))
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)
_SCOPE_PREFIX = "mnemic:"
_TIME_CLAIM = re.compile(r"\((exp|nbf|iat)\)")


class TokenRefused(Unauthenticated):
    """A token that does not count; ``why`` names the claim or part that is wrong, for the log alone."""

    def __init__(self, why: str, told: Unauthenticated | None = None) -> None:
        told = told or invalid()
        super().__init__(told.code, told.message)
        self.why = why


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a token must say. ``algorithms`` holds asymmetric ones only (settings check it)."""

    algorithms: frozenset[str]
    audience: str
    issuer: str
    leeway: float = LEEWAY


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, the algorithms it can be used with, and its id where it has one."""

    key: Any = field(repr=False)
    algorithms: frozenset[str]
    kid: str | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """Whom a token names, who says so, and what its bearer may do: ``scopes`` of read, write, admin.

    ``issued_at`` is in seconds since 1970, None where the token does not say.
    """

    subject: str
    issuer: str
    scopes: frozenset[str]
    issued_at: float | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """What a token says about its signature, which nobody has checked yet."""

    algorithm: str
    kid: str | None


def header_of(token: str, rules: TokenRules) -> Header:
    """Return the header of what may be a token. Raises Unauthenticated (``credential_invalid``)."""
    import jwt

    if len(token) > LONGEST or not _SHAPE.fullmatch(token):
        raise TokenRefused("no_token")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        parts = {"Key ID": "kid", "critical": "crit"}  # which the library looks at first
        found = (part for words, part in parts.items() if words in str(error))
        raise TokenRefused(next(found, "no_token")) from None
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in rules.algorithms:
        raise TokenRefused("alg")
    if kid is not None and not isinstance(kid, str):
        raise TokenRefused("kid")
    # an extension that must be understood, and is not; a token made for something else
    if "crit" in header:
        raise TokenRefused("crit")
    if not isinstance(kind, str) or kind.lower() not in ("jwt", "at+jwt"):
        raise TokenRefused("typ")
    return Header(algorithm, kid)


def verify(token: str, keys: Iterable[VerificationKey], rules: TokenRules) -> Claims:
    """Return what a token claims, once a key of ours has proved its signature.

    Raises Unauthenticated: ``credential_expired``, else ``credential_invalid`` whatever is wrong.
    """
    header = header_of(token, rules)
    fitting = _fitting(keys, header)
    for candidate in fitting:
        payload = _decoded(token, candidate, header.algorithm, rules)
        if payload is not None:
            return _claims(payload, rules.issuer)
    raise TokenRefused("signature" if fitting else "key_unknown")


def pem_keys(data: bytes) -> tuple[VerificationKey, ...]:
    """Return the public keys of a PEM file. Raises ConfigurationError (``jwt_key_invalid``)."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    found = []
    for block in _PEM.finditer(data):
        if block[1] != b"PUBLIC KEY":
            raise _bad_key()
        try:
            key = load_pem_public_key(block[0])
        except (ValueError, UnsupportedAlgorithm):
            raise _bad_key() from None
        found.append(VerificationKey(key, _usable_with(key)))
    if not found or not all(key.algorithms for key in found):
        raise _bad_key()
    return tuple(found)


def jwks_keys(document: object) -> tuple[VerificationKey, ...]:
    """Return the keys of a JSON Web Key Set that can check signatures; others in it are passed over."""
    entries = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return ()
    found = (_of_jwk(entry) for entry in entries if isinstance(entry, Mapping))
    return tuple(key for key in found if key is not None)


def _of_jwk(entry: Mapping[str, Any]) -> VerificationKey | None:
    import jwt

    # no shared secrets, and no private keys: who publishes one has lost it
    if entry.get("kty") not in ("RSA", "EC", "OKP") or "d" in entry:
        return None
    if entry.get("use", "sig") != "sig" or "verify" not in entry.get("key_ops", ["verify"]):
        return None
    try:
        key = jwt.PyJWK(dict(entry)).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    usable, named = _usable_with(key), entry.get("alg")
    if named is not None:
        usable &= {named} if isinstance(named, str) else set()
    kid = entry.get("kid")
    return VerificationKey(key, usable, kid if isinstance(kid, str) else None) if usable else None


def _usable_with(key: object) -> frozenset[str]:
    """Return the algorithms of a public key's kind; none for keys that are too short or of other kinds."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

    if isinstance(key, rsa.RSAPublicKey):
        return _RSA if key.key_size >= MINIMUM_RSA_BITS else frozenset()
    if isinstance(key, ec.EllipticCurvePublicKey):
        name = _CURVES.get(key.curve.name)
        return frozenset({name} if name else ())
    if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        return frozenset({"EdDSA"})
    return frozenset()


def _fitting(keys: Iterable[VerificationKey], header: Header) -> list[VerificationKey]:
    """Return the keys that may have made this signature: by its id, where both sides name one."""
    return [
        key
        for key in keys
        if header.algorithm in key.algorithms
        and (header.kid is None or key.kid is None or key.kid == header.kid)
    ]


def _decoded(
    token: str, candidate: VerificationKey, algorithm: str, rules: TokenRules
) -> dict[str, Any] | None:
    """Return the payload; None when another key signed it. Raises Unauthenticated."""
    import jwt

    try:
        payload: dict[str, Any] = jwt.decode(
            token,
            candidate.key,
            algorithms=[algorithm],
            audience=rules.audience,
            issuer=rules.issuer,
            leeway=rules.leeway,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except jwt.InvalidSignatureError:
        return None
    except jwt.ExpiredSignatureError:
        told = Unauthenticated("credential_expired", "This token has expired: sign in again.")
        raise TokenRefused("exp", told) from None
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise TokenRefused(_why(error)) from None
    return payload


def _why(error: Exception) -> str:
    """Return which claim the library did not take, or that the payload is none."""
    from jwt import exceptions

    if isinstance(error, exceptions.MissingRequiredClaimError):
        return error.claim
    kinds: tuple[tuple[type[Exception], str], ...] = (
        (exceptions.InvalidAudienceError, "aud"),
        (exceptions.InvalidIssuerError, "iss"),
        (exceptions.InvalidSubjectError, "sub"),
        (exceptions.InvalidIssuedAtError, "iat"),
        (exceptions.InvalidJTIError, "jti"),
    )
    named = _TIME_CLAIM.search(str(error))
    found = next((claim for kind, claim in kinds if isinstance(error, kind)), None)
    return found or (named[1] if named else "payload")


def _claims(payload: Mapping[str, Any], issuer: str) -> Claims:
    subject = payload["sub"]
    try:
        # folding would make one user of two whom their issuer tells apart
        if clean_id(subject, "user") != subject:
            raise TokenRefused("sub")
    except InvalidInput:
        raise TokenRefused("sub") from None
    return Claims(subject, issuer, _scopes(payload), _issued_at(payload.get("iat")))


def _issued_at(claim: object) -> float | None:
    """Return when a token was made; what is no plain number of seconds says nothing."""
    if isinstance(claim, bool) or not isinstance(claim, int | float):
        return None
    try:
        seconds = float(claim)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _scopes(payload: Mapping[str, Any]) -> frozenset[str]:
    """Return what ``scope`` (or ``scp``) allows; a token that names no scope of ours is its user's own."""
    claim = payload.get("scope", payload.get("scp", ""))
    names = claim.split() if isinstance(claim, str) else claim
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TokenRefused("scope")
    ours = {name for name in names if name.startswith(_SCOPE_PREFIX)}
    if not ours:
        return frozenset(RIGHTS)
    return frozenset(right for right in RIGHTS if _SCOPE_PREFIX + right in ours)


def _bad_key() -> ConfigurationError:
    return ConfigurationError(
        "jwt_key_invalid",
        "MNEMIC_JWT_PUBLIC_KEY_FILE must hold public keys in PEM: RSA of 2,048 bits or more, P-256, P-384,"
        " P-521 or Ed25519; never a private key.",
    )
