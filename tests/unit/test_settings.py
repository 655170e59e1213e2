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
]  # fmt: skip


@pytest.mark.parametrize("variable", GOOD)
def test_each_variable_is_read(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field, text, value = GOOD[variable]
    monkeypatch.setenv("MNEMIC_CHAT_MODEL", "big")  # which an address of one asks for
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


@pytest.mark.parametrize("field", Settings.model_fields)
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
