"""Is a wish for a language kept as a tag that everybody reads alike?"""

from __future__ import annotations

import pytest

from mnemic.errors import InvalidInput
from mnemic.profile.language import language_tag
from mnemic.profile.words import SPOKEN


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("zh", "zh"),
        ("zh-CN", "zh-CN"),
        ("zh_CN", "zh-CN"),
        ("ZH-hant", "zh-Hant"),
        ("zh-Hans-CN", "zh-Hans-CN"),
        ("yue", "yue"),
        ("en", "en"),
        ("EN-gb", "en-GB"),
        ("pt-br", "pt-BR"),
        ("sr-Latn-RS", "sr-Latn-RS"),
        ("es-419", "es-419"),
        ("English", "en"),
        ("Traditional Chinese", "zh-Hant"),
        ("中文", "zh"),
        ("日语", "ja"),
    ],
)
def test_a_tag_of_a_known_language_is_kept_in_its_usual_form(given: str, kept: str) -> None:
    assert language_tag(given) == kept
    assert language_tag(kept) == kept


@pytest.mark.parametrize(
    "given",
    ["klingon", "Englisch", "火星文", "xx", "e", "en-", "en GB", "x-mine", "und", "mul", "qaa", "en\n", "🙂"],
)  # fmt: skip
def test_what_names_no_language_is_refused_with_what_does(given: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        language_tag(given)
    assert caught.value.code == "unknown_language"
    assert "pt-BR" in caught.value.message


@pytest.mark.parametrize("code", SPOKEN)
def test_what_the_rules_find_in_a_text_could_be_written_by_its_user(code: str) -> None:
    assert language_tag(code) == code
