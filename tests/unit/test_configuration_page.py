"""Does the configuration page tell every setting under its variable, with its true default?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from mnemic.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
_ROW = re.compile(r"^\| `([A-Z_]+)` \| `([a-z_]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_NOTHING = ("not set", "none", "the platform's", "`keys/")


def rows() -> dict[str, tuple[str, str, str]]:
    found = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {setting: (variable, default, meaning) for variable, setting, default, meaning in found}


def variable(name: str, field: FieldInfo) -> str:
    if isinstance(field.validation_alias, AliasChoices):
        return str(field.validation_alias.choices[0])
    return field.alias or f"MNEMIC_{name.upper()}"


def test_the_page_lists_exactly_the_settings() -> None:
    assert set(rows()) == set(Settings.model_fields)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_each_setting_has_its_variable_and_default(name: str) -> None:
    field = Settings.model_fields[name]
    told, default, meaning = rows()[name]
    assert told == variable(name, field)
    assert meaning.strip()
    if field.default is None or field.default == frozenset():
        assert default.startswith(_NOTHING)
    else:
        shown = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
        assert default.strip("`") == shown


def test_what_is_secret_is_marked() -> None:
    secret = {name for name, (_, _, meaning) in rows().items() if "secret" in meaning.split("; ")}
    assert secret == {
        name
        for name, field in Settings.model_fields.items()
        if "SecretStr" in str(field.annotation)
    }
