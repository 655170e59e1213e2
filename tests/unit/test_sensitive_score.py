"""Does the scorer count as both data sets' readmes say?"""

from __future__ import annotations

from typing import Any

from mnemic.evaluation.sensitive import is_sensitive_row, score

CARD = "4" + "1" * 15


def test_a_chinese_set_counts_by_category_and_by_what_clean_rows_are_near() -> None:
    rows: list[dict[str, Any]] = [
        {
            "text": "卡号" + CARD,
            "label": "sensitive",
            "category": "payment_card",
            "why": "touching",
        },
        {"text": "没有卡号", "label": "sensitive", "category": "payment_card", "why": "missed"},
        {"text": "密码是Xy8823!kk", "label": "clean", "category": None, "why": "near password: x"},
        {"text": "我叫陈宇", "label": "clean", "category": None, "why": "person's name"},
    ]
    assert score(rows) == {
        "kind": "sensitive",
        "by": {
            "all": {"n": 4, "recall": 0.5, "false_positive_rate": 0.5},
            "password": {"n": 1, "recall": None, "false_positive_rate": 1.0},
            "payment_card": {"n": 2, "recall": 0.5, "false_positive_rate": None},
        },
    }


def test_types_that_are_not_ours_count_neither_way() -> None:
    rows = [
        {"text": CARD, "label": "pii", "type": "credit_card", "kind": "pii"},
        {"text": "5-20-2021", "label": "pii", "type": "date", "kind": "pii"},
        {"text": CARD, "label": "clean", "type": "uk_postcode", "kind": "pii"},
        {"text": "no key", "label": "clean", "type": "stripe_key", "kind": "secret"},
    ]
    by = score(rows)["by"]
    assert by["all"] == {"n": 2, "recall": 1.0, "false_positive_rate": 0.0}
    assert set(by) == {"all", "payment_card", "api_key"}


def test_a_sentence_counts_by_its_spans() -> None:
    sentence = {"label": "pii", "type": "synthetic-sentence", "kind": "pii"}
    rows = [
        {**sentence, "text": "card " + CARD, "spans": [[5, 21, "CREDIT_CARD"]]},
        {**sentence, "text": "I am Dan", "spans": [[5, 8, "PERSON"]]},
    ]
    assert score(rows)["by"]["all"]["n"] == 1
    assert score(rows)["by"]["payment_card"]["recall"] == 1.0


def test_rows_of_other_sets_are_told_apart() -> None:
    assert is_sensitive_row({"text": "x", "label": "clean"})
    assert not is_sensitive_row({"text": "x", "label": "same"})
