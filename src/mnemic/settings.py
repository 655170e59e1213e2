"""What has the operator configured?

The environment is read once, by ``Settings.read()``; everything else gets the object. A bad value stops
the start with a sentence that names the variable.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from mnemic.errors import ConfigurationError

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Names = Annotated[frozenset[str], NoDecode]
RATE = r"^(off|[1-9][0-9]{0,8}/(second|minute|hour|day))$"
AGE = r"^(off|[1-9][0-9]{0,4}[mhd])$"
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
JWT_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Signatures by a key pair: with a shared secret whoever checks a token could make one."""


def _original(name: str) -> Any:
    """A setting that keeps the name users of the original know, with or without our prefix.

    The bare field name is no alias: as a variable, MAX_LENGTH would belong to somebody else.
    """
    return AliasChoices(name, f"MNEMIC_{name}")


def _of_aws(*names: str) -> Any:
    """A setting that other tools read too, under the name that they gave it."""
    return AliasChoices(*(f"AWS_{name}" for name in names))


def age(text: str) -> timedelta | None:
    """Return how long a setting like ``30d``, ``12h`` or ``90m`` is, None for ``off``."""
    if text == "off":
        return None
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


class Settings(BaseSettings):
    """Every setting with its default. Variables are ``MNEMIC_<NAME>`` unless an alias says otherwise."""

    model_config = SettingsConfigDict(
        env_prefix="MNEMIC_",
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        env_ignore_empty=True,
    )

    data_dir: Path | None = None
    database_url: SecretStr | None = None
    migration_url: SecretStr | None = None
    key_provider: Literal["file", "environment", "vault"] = "file"
    key_file: Path | None = None
    kek: SecretStr | None = None
    kek_others: SecretStr | None = None
    key_epoch_days: int = Field(30, ge=0, le=3650)
    vault_addr: str | None = None
    vault_token: SecretStr | None = None
    vault_token_file: Path | None = None
    vault_namespace: str | None = None
    vault_mount: str = Field("transit", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}$")
    vault_key: str | None = Field(None, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")
    vault_ca_file: Path | None = None
    vault_timeout: float = Field(5.0, gt=0, le=60)

    db_schema: str = Field("mnemic", alias="MNEMIC_SCHEMA", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    pool_size: int = Field(8, ge=1, le=200)
    pool_timeout: float = Field(10.0, gt=0, le=300)
    prepare: Literal["on", "off"] = "on"
    search_function: Literal["on", "off"] = "on"
    consent: Literal["implied", "required"] = "implied"

    min_confidence: Share = Field(0.7, validation_alias=_original("MEMORY_MIN_CONFIDENCE"))
    duplicate_threshold: Share = Field(
        0.85, validation_alias=_original("MEMORY_DUPLICATE_THRESHOLD")
    )
    max_extractions: int = Field(
        3, ge=0, le=1000, validation_alias=_original("MEMORY_MAX_EXTRACTIONS")
    )
    min_length: int = Field(5, ge=1, le=100, validation_alias=_original("MEMORY_MIN_LENGTH"))
    max_length: int = Field(2000, ge=1, le=20000, validation_alias=_original("MEMORY_MAX_LENGTH"))
    confirm_below: Share = 0.8
    on_sensitive: Literal["refuse", "mask"] = "refuse"
    sensitive_extra: Names = frozenset()

    allowed_hosts: Names = frozenset()
    embedding_base_url: str | None = None
    embedding_model: str = "text-embedding-3-small"
    embedding_api_key: SecretStr | None = None
    embedding_dimensions: int = Field(1536, ge=1, le=4000)
    chat_base_url: str | None = None
    chat_model: str | None = None
    chat_api_key: SecretStr | None = None

    redis_url: SecretStr | None = None
    redis_connections: int = Field(4, ge=1, le=100)
    redis_timeout: float = Field(0.25, ge=0.01, le=10)
    window_ttl: float = Field(1800.0, ge=1, le=604_800)
    state_ttl: float = Field(1800.0, ge=1, le=2_592_000)
    checkpoint_keep: int = Field(20, ge=1, le=1_000_000)
    checkpoint_archive_days: int = Field(7, ge=0, le=3650)
    profile_history_days: int = Field(30, ge=0, le=3650)
    window_turns: int = Field(200, ge=20, le=2_000)
    window_bytes: int = Field(262_144, ge=16_384, le=16_777_216)

    hibernate_after: str = Field("30d", pattern=AGE)
    cold_after: str = Field("180d", pattern=AGE)
    cold_store: str | None = None
    cold_timeout: float = Field(5.0, gt=0, le=300)
    session_idle: str = Field("off", pattern=AGE)
    task_retention: str = Field("off", pattern=AGE)
    workflows: Path | None = None
    aws_access_key_id: SecretStr | None = Field(None, validation_alias=_of_aws("ACCESS_KEY_ID"))
    aws_secret_access_key: SecretStr | None = Field(
        None, validation_alias=_of_aws("SECRET_ACCESS_KEY")
    )
    aws_session_token: SecretStr | None = Field(None, validation_alias=_of_aws("SESSION_TOKEN"))
    aws_region: str | None = Field(
        None,
        pattern=r"^[a-z0-9-]{1,40}$",
        validation_alias=_of_aws("REGION", "DEFAULT_REGION"),
    )
    aws_endpoint_url: str | None = Field(
        None, validation_alias=_of_aws("ENDPOINT_URL", "ENDPOINT_URL_S3")
    )
    aws_ca_bundle: Path | None = Field(None, validation_alias=_of_aws("CA_BUNDLE"))

    jwt_jwks_url: str | None = None
    jwt_public_key_file: Path | None = None
    jwt_algorithms: str = "RS256,ES256"
    jwt_audience: str | None = None
    jwt_issuer: str | None = None
    rate_limit: str = Field("600/minute", pattern=RATE)
    max_body_bytes: int = Field(2_000_000, ge=1_000, le=100_000_000)
    request_timeout: float = Field(30.0, ge=1, le=600)
    shutdown_timeout: float = Field(30.0, ge=1, le=600)

    @field_validator(
        "data_dir",
        "key_file",
        "jwt_public_key_file",
        "vault_token_file",
        "vault_ca_file",
        "aws_ca_bundle",
        "workflows",
    )
    @classmethod
    def _of_home(cls, value: Path | None) -> Path | None:
        try:
            return value.expanduser().absolute() if value is not None else None
        except RuntimeError:
            raise ValueError("~ names a home directory that is not known here") from None

    @field_validator("db_schema")
    @classmethod
    def _not_of_postgres(cls, value: str) -> str:
        if value.startswith("pg_") or value == "information_schema":
            raise ValueError("pg_... and information_schema belong to PostgreSQL: choose another")
        return value

    @field_validator("sensitive_extra", "allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("sensitive_extra")
    @classmethod
    def _known_categories(cls, value: frozenset[str]) -> frozenset[str]:
        unknown = value - {"email", "phone"}
        if unknown:
            raise ValueError("may name email and phone")
        return value

    @field_validator("jwt_algorithms")
    @classmethod
    def _asymmetric(cls, value: str) -> str:
        names = [name.strip() for name in value.split(",")]
        if not set(names) <= set(JWT_ALGORITHMS):
            raise ValueError(f"may name {', '.join(JWT_ALGORITHMS)}, separated by commas")
        return ",".join(names)

    @model_validator(mode="after")
    def _tokens_checked(self) -> Self:
        if self.jwt_jwks_url and self.jwt_public_key_file:
            raise ValueError("Set MNEMIC_JWT_JWKS_URL or MNEMIC_JWT_PUBLIC_KEY_FILE, not both")
        if (self.jwt_jwks_url or self.jwt_public_key_file) and not (
            self.jwt_audience and self.jwt_issuer
        ):
            raise ValueError("MNEMIC_JWT_AUDIENCE and MNEMIC_JWT_ISSUER must be set with JWT keys")
        return self

    @model_validator(mode="after")
    def _keys_kept(self) -> Self:
        if self.key_provider == "environment" and self.kek is None:
            raise ValueError("MNEMIC_KEK must be set with MNEMIC_KEY_PROVIDER=environment")
        if self.key_provider == "vault":
            if not self.vault_addr:
                raise ValueError("MNEMIC_VAULT_ADDR must be set with MNEMIC_KEY_PROVIDER=vault")
            if (self.vault_token is None) == (self.vault_token_file is None):
                raise ValueError("Set MNEMIC_VAULT_TOKEN or MNEMIC_VAULT_TOKEN_FILE, one of them")
        return self

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_length > self.max_length:
            raise ValueError("MEMORY_MIN_LENGTH must not exceed MEMORY_MAX_LENGTH")
        if self.chat_base_url and not self.chat_model:
            raise ValueError("MNEMIC_CHAT_MODEL must be set when MNEMIC_CHAT_BASE_URL is")
        return self

    @classmethod
    def read(cls, **overrides: object) -> Settings:
        """Read the environment; keyword arguments win over it.

        Where MNEMIC_SECRETS_DIR names a directory, a file in it named as a variable (in small letters) is
        read for what the environment does not say.

        Raises ConfigurationError (``bad_setting``) that names the variable and never repeats its value.
        """
        given: dict[str, Any] = {
            name: value for name, value in overrides.items() if value is not None
        }
        secrets_dir = os.environ.get("MNEMIC_SECRETS_DIR")
        if secrets_dir:
            if not Path(secrets_dir).is_dir():
                raise ConfigurationError(
                    "bad_setting",
                    "MNEMIC_SECRETS_DIR: there is no such directory.",
                    variable="MNEMIC_SECRETS_DIR",
                )
            given["_secrets_dir"] = secrets_dir
        try:
            return cls(**given)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            name = _variable(first["loc"])
            text = first["msg"].removeprefix("Value error, ")
            sentence = f"{name}: {text}." if name else f"{text}."
            raise ConfigurationError("bad_setting", sentence, variable=name) from None


def _variable(loc: tuple[int | str, ...]) -> str:
    if not loc:
        return ""
    name = str(loc[0])
    if name.startswith(("MEMORY_", "MNEMIC_", "AWS_")):
        return name
    field = Settings.model_fields.get(name)
    alias = field.validation_alias if field else None
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return f"MNEMIC_{name.upper()}"
