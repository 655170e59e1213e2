"""Is every variable read under its name, and does a bad value say which variable is bad, never the value?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices, SecretStr

from mnemic.errors import ConfigurationError
from mnemic.settings import Settings

GOOD: dict[str, tuple[str, str, Any]] = {
    "MNEMIC_DATA_DIR": ("data_dir", "/srv/memory", Path("/srv/memory")),
    "MNEMIC_DATABASE_URL": ("database_url", "postgresql://db/m", SecretStr("postgresql://db/m")),
    "MNEMIC_MIGRATION_URL": ("migration_url", "postgresql://db/m", SecretStr("postgresql://db/m")),
    "MNEMIC_KEY_FILE": ("key_file", "/etc/k", Path("/etc/k")),
    "MNEMIC_KEY_PROVIDER": ("key_provider", "file", "file"),
    "MNEMIC_KEK": ("kek", "abc", SecretStr("abc")),
    "MNEMIC_KEK_OTHERS": ("kek_others", "abc,def", SecretStr("abc,def")),
    "MNEMIC_KEY_EPOCH_DAYS": ("key_epoch_days", "7", 7),
    "MNEMIC_VAULT_ADDR": ("vault_addr", "https://v.example", "https://v.example"),
    "MNEMIC_VAULT_TOKEN": ("vault_token", "abc", SecretStr("abc")),
    "MNEMIC_VAULT_TOKEN_FILE": ("vault_token_file", "/run/t", Path("/run/t")),
    "MNEMIC_VAULT_NAMESPACE": ("vault_namespace", "team", "team"),
    "MNEMIC_VAULT_MOUNT": ("vault_mount", "keys", "keys"),
    "MNEMIC_VAULT_KEY": ("vault_key", "memory", "memory"),
    "MNEMIC_VAULT_CA_FILE": ("vault_ca_file", "/etc/ca.pem", Path("/etc/ca.pem")),
    "MNEMIC_VAULT_TIMEOUT": ("vault_timeout", "2.5", 2.5),
    "MNEMIC_SCHEMA": ("db_schema", "mem", "mem"),
    "MNEMIC_POOL_SIZE": ("pool_size", "20", 20),
    "MNEMIC_POOL_TIMEOUT": ("pool_timeout", "2.5", 2.5),
    "MNEMIC_PREPARE": ("prepare", "off", "off"),
    "MEMORY_MIN_CONFIDENCE": ("min_confidence", "0.6", 0.6),
    "MEMORY_DUPLICATE_THRESHOLD": ("duplicate_threshold", "0.9", 0.9),
    "MEMORY_MAX_EXTRACTIONS": ("max_extractions", "5", 5),
    "MEMORY_MIN_LENGTH": ("min_length", "3", 3),
    "MEMORY_MAX_LENGTH": ("max_length", "3000", 3000),
    "MNEMIC_CONFIRM_BELOW": ("confirm_below", "0.7", 0.7),
    "MNEMIC_ON_SENSITIVE": ("on_sensitive", "mask", "mask"),
    "MNEMIC_SENSITIVE_EXTRA": ("sensitive_extra", " email, phone,", frozenset({"email", "phone"})),
    "MNEMIC_ALLOWED_HOSTS": (
        "allowed_hosts",
        "a.example, b.example",
        frozenset({"a.example", "b.example"}),
    ),
    "MNEMIC_EMBEDDING_BASE_URL": (
        "embedding_base_url",
        "https://e.example/v1",
        "https://e.example/v1",
    ),
    "MNEMIC_EMBEDDING_MODEL": ("embedding_model", "small", "small"),
    "MNEMIC_EMBEDDING_API_KEY": ("embedding_api_key", "abc", SecretStr("abc")),
    "MNEMIC_EMBEDDING_DIMENSIONS": ("embedding_dimensions", "768", 768),
    "MNEMIC_CHAT_BASE_URL": ("chat_base_url", "https://c.example/v1", "https://c.example/v1"),
    "MNEMIC_SEARCH_FUNCTION": ("search_function", "off", "off"),
    "MNEMIC_CHAT_MODEL": ("chat_model", "big", "big"),
    "MNEMIC_CHAT_API_KEY": ("chat_api_key", "def", SecretStr("def")),
    "MNEMIC_CONSENT": ("consent", "required", "required"),
    "MNEMIC_WORKFLOWS": ("workflows", "/etc/mnemic/w.json", Path("/etc/mnemic/w.json")),
    "MNEMIC_JWT_JWKS_URL": ("jwt_jwks_url", "https://i.example/k", "https://i.example/k"),
    "MNEMIC_JWT_PUBLIC_KEY_FILE": ("jwt_public_key_file", "/etc/i.pem", Path("/etc/i.pem")),
    "MNEMIC_JWT_ALGORITHMS": ("jwt_algorithms", "ES256, EdDSA", "ES256,EdDSA"),
    "MNEMIC_JWT_AUDIENCE": ("jwt_audience", "memory", "memory"),
    "MNEMIC_JWT_ISSUER": ("jwt_issuer", "https://i.example", "https://i.example"),
    "MNEMIC_RATE_LIMIT": ("rate_limit", "5/second", "5/second"),
    "MNEMIC_REDIS_URL": ("redis_url", "redis://r/0", SecretStr("redis://r/0")),
    "MNEMIC_MAX_BODY_BYTES": ("max_body_bytes", "5000", 5000),
    "MNEMIC_REQUEST_TIMEOUT": ("request_timeout", "5", 5.0),
    "MNEMIC_SHUTDOWN_TIMEOUT": ("shutdown_timeout", "5", 5.0),
    "MNEMIC_REDIS_TIMEOUT": ("redis_timeout", "0.5", 0.5),
    "MNEMIC_REDIS_CONNECTIONS": ("redis_connections", "9", 9),
    "MNEMIC_WINDOW_BYTES": ("window_bytes", "65536", 65536),
    "MNEMIC_WINDOW_TTL": ("window_ttl", "60", 60.0),
    "MNEMIC_STATE_TTL": ("state_ttl", "60", 60.0),
    "MNEMIC_CHECKPOINT_KEEP": ("checkpoint_keep", "5", 5),
    "MNEMIC_CHECKPOINT_ARCHIVE_DAYS": ("checkpoint_archive_days", "1", 1),
    "MNEMIC_PROFILE_HISTORY_DAYS": ("profile_history_days", "7", 7),
    "MNEMIC_WINDOW_TURNS": ("window_turns", "50", 50),
    "MNEMIC_HIBERNATE_AFTER": ("hibernate_after", "12h", "12h"),
    "MNEMIC_COLD_AFTER": ("cold_after", "off", "off"),
    "MNEMIC_COLD_STORE": ("cold_store", "s3://cellar/a", "s3://cellar/a"),
    "MNEMIC_COLD_TIMEOUT": ("cold_timeout", "0.5", 0.5),
    "MNEMIC_SESSION_IDLE": ("session_idle", "90m", "90m"),
    "MNEMIC_TASK_RETENTION": ("task_retention", "30d", "30d"),
    "AWS_ACCESS_KEY_ID": ("aws_access_key_id", "id", SecretStr("id")),
    "AWS_SECRET_ACCESS_KEY": ("aws_secret_access_key", "word", SecretStr("word")),
    "AWS_SESSION_TOKEN": ("aws_session_token", "word", SecretStr("word")),
    "AWS_REGION": ("aws_region", "eu-north-1", "eu-north-1"),
    "AWS_ENDPOINT_URL": ("aws_endpoint_url", "https://s3.example", "https://s3.example"),
    "AWS_CA_BUNDLE": ("aws_ca_bundle", "/etc/ca.pem", Path("/etc/ca.pem")),
}
BAD = [
    ("MNEMIC_SCHEMA", "Bad Schema"), ("MNEMIC_SCHEMA", "a;drop"),
    ("MNEMIC_SCHEMA", "pg_catalog"), ("MNEMIC_SCHEMA", "pg_mine"), ("MNEMIC_SCHEMA", "information_schema"),
    ("MNEMIC_POOL_SIZE", "0"),
    ("MNEMIC_POOL_SIZE", "many"), ("MNEMIC_POOL_TIMEOUT", "nan"), ("MNEMIC_POOL_TIMEOUT", "-1"),
    ("MNEMIC_PREPARE", "maybe"), ("MEMORY_MIN_CONFIDENCE", "1.2"), ("MEMORY_MIN_CONFIDENCE", "nan"),
    ("MNEMIC_MEMORY_MIN_CONFIDENCE", "1.2"), ("MEMORY_DUPLICATE_THRESHOLD", "high"),
    ("MEMORY_MAX_EXTRACTIONS", "-3"), ("MEMORY_MIN_LENGTH", "0"), ("MEMORY_MAX_LENGTH", "100001"),
    ("MNEMIC_CONFIRM_BELOW", "-0.1"), ("MNEMIC_ON_SENSITIVE", "shrug"),
    ("MNEMIC_SENSITIVE_EXTRA", "email,shoesize"), ("MNEMIC_EMBEDDING_DIMENSIONS", "4001"),
    ("MNEMIC_KEY_FILE", "~nobody-of-this-name/key"),
    ("MNEMIC_KEY_PROVIDER", "pocket"), ("MNEMIC_KEY_EPOCH_DAYS", "-1"), ("MNEMIC_VAULT_TIMEOUT", "0"),
    ("MNEMIC_VAULT_MOUNT", "a b"), ("MNEMIC_VAULT_KEY", "a/b"),
    ("MNEMIC_HIBERNATE_AFTER", "30 days"), ("MNEMIC_COLD_AFTER", "0d"), ("MNEMIC_SESSION_IDLE", "-1h"),
    ("MNEMIC_COLD_TIMEOUT", "0"), ("AWS_REGION", "no region"),
]  # fmt: skip


@pytest.mark.parametrize("variable", GOOD)
def test_each_variable_is_read(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field, text, value = GOOD[variable]
    for name in ("MNEMIC_CHAT_MODEL", "MNEMIC_JWT_AUDIENCE", "MNEMIC_JWT_ISSUER"):
        monkeypatch.setenv(name, "big")  # which an address or a key asks for
    monkeypatch.setenv(variable, text)
    assert getattr(Settings.read(), field) == value


def test_every_setting_has_a_variable_here() -> None:
    assert {field for field, _, _ in GOOD.values()} == set(Settings.model_fields)


@pytest.mark.parametrize("variable", [name for name in GOOD if name.startswith("MEMORY_")])
def test_the_names_of_the_original_also_work_with_our_prefix(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    field, text, value = GOOD[variable]
    monkeypatch.setenv(f"MNEMIC_{variable}", text)
    assert getattr(Settings.read(), field) == value


@pytest.mark.parametrize("variable", GOOD)
def test_an_empty_variable_counts_as_not_set(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = Settings.read()
    monkeypatch.setenv(variable, "")
    assert getattr(Settings.read(), GOOD[variable][0]) == getattr(default, GOOD[variable][0])


@pytest.mark.parametrize("field", [f for f in Settings.model_fields if not f.startswith("aws_")])
def test_a_bare_field_name_in_the_environment_belongs_to_others(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = Settings.read()
    monkeypatch.setenv(field.upper(), "7")
    assert Settings.read() == default


@pytest.mark.parametrize(("variable", "text"), BAD)
def test_a_bad_value_names_its_variable_and_is_not_repeated(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(ConfigurationError) as caught:
        Settings.read()
    assert caught.value.code == "bad_setting"
    named = variable.replace("MNEMIC_MEMORY_", "MEMORY_")
    assert str(caught.value).startswith(f"{named}: ")
    assert caught.value.details == {"variable": named}
    assert caught.value.__cause__ is None
    if len(text) > 3 and not text.startswith(("pg_", "information_")):  # public words that explain
        assert text not in str(caught.value)


def test_an_argument_wins_over_the_environment_and_none_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MNEMIC_POOL_SIZE", "3")
    monkeypatch.setenv("MNEMIC_SCHEMA", "mem")
    assert Settings.read(pool_size=5, db_schema="other").pool_size == 5
    assert Settings.read(pool_size=5, db_schema="other").db_schema == "other"
    assert Settings.read(pool_size=None).pool_size == 3


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.read(pool_sise=5)
    assert "POOL_SISE" in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"MEMORY_MIN_LENGTH": "50", "MEMORY_MAX_LENGTH": "40"}, "MEMORY_MIN_LENGTH"),
        ({"MNEMIC_CHAT_BASE_URL": "https://c.example"}, "MNEMIC_CHAT_MODEL"),
        ({"MNEMIC_KEY_PROVIDER": "environment"}, "MNEMIC_KEK"),
        ({"MNEMIC_KEY_PROVIDER": "vault", "MNEMIC_VAULT_TOKEN": "t"}, "MNEMIC_VAULT_ADDR"),
        (
            {"MNEMIC_KEY_PROVIDER": "vault", "MNEMIC_VAULT_ADDR": "https://v.example"},
            "MNEMIC_VAULT_TOKEN",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_named(
    variables: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        Settings.read()
    assert named in str(caught.value)


def test_no_secret_shows_in_a_repr() -> None:
    word = "open" + "sesame"
    settings = Settings.read(
        database_url=f"postgresql://u:{word}@h/d",
        migration_url=f"postgresql://u:{word}@h/d",
        embedding_api_key=word,
        chat_api_key=word,
        kek=word,
        kek_others=word,
        vault_token=word,
    )
    assert word not in repr(settings)
    assert word not in str(settings)
    assert word not in settings.model_dump_json()


def test_a_home_directory_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/kim")
    settings = Settings.read(data_dir="~/m", key_file="~/k")
    assert (settings.data_dir, settings.key_file) == (Path("/home/kim/m"), Path("/home/kim/k"))


def test_the_names_of_the_original_come_first() -> None:
    for variable, (field, _, _) in GOOD.items():
        alias = Settings.model_fields[field].validation_alias
        if variable.startswith("MEMORY_"):
            assert isinstance(alias, AliasChoices)
            assert alias.choices[0] == variable
