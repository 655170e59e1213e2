"""Is every durable fact of the bundled sample found once, and nothing else?"""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from mnemic.longterm.extract import extract_rules
from mnemic.model import Turn

# The memories of each session: kind, scope and content.
EXPECTED = {
    "getting-started": [
        "fact user | 我叫岑小舟",
        "fact user | 我在霁桥科技做后端工程师",
        "fact user | I live in Hangzhou",
        "context project | In my spare time I run an open-source project called Heron with a few friends",
        "decision project | 我们决定 Heron 用 PostgreSQL 存数据，不用 MongoDB，因为订单需要事务",
        "constraint project | One hard rule: every Heron API call must answer within 200 ms",
        "fact project | The Heron dev server runs on port 8080",
        "preference user | 我喜欢深色主题，编辑器和终端都一样",
        "preference user | I prefer concise answers: code first, little talk",
        "preference user | 以后代码示例都用 Python，并且带上类型注解",
        "habit user | I drink coffee every morning",
        "fact project | Heron 团队一共 5 个人",
        "fact project | Heron 的站会是每周一上午 9:30",
        "fact project | Heron 每个月的云服务预算是 3000 元",
        "preference user | 我不吃香菜",
        "preference user | I can't eat peanuts",
        "preference user | 我喜欢爬山",
    ],
    "conference": [
        "fact project | The Heron dev server now runs on port 9090",
        "fact project | Heron 团队现在有 7 个人",
        "skill user | 我会写 Go，写了六年",
        "skill user | I can also write Rust, but only for small command-line tools",
        "preference user | 编辑器和终端我都喜欢用深色的主题",
        "fact project | 从明天起，Heron 的站会改到每周一上午 10:00",
        "fact user | 我朋友小满喜欢抹茶拿铁",
        "decision project | We have settled it once more: Heron keeps its data in PostgreSQL",
        "event user | 已预订成功：成都栖石旅舍，3 月 27 日入住，两晚，订单号 QS-48213",
        "fact user | 登记入住要身份证号，我的是 {id:national}",
        "preference user | 以后提交说明都用英文写",
        "habit user | I go swimming every Wednesday evening",
        "preference user | 我也喜欢骑行",
        "fact user | My name is Cen Xiaozhou",
    ],
    "new-job": [
        "fact user | 我换工作了，现在在 Quillmoor 做平台工程师",
        "preference user | 我现在喜欢浅色主题了",
        "preference user | I prefer detailed answers now, with the reasoning written out",
        "preference user | I no longer drink coffee",
        "habit user | I drink tea every morning now",
        "fact project | Heron 每个月的云服务预算提高到 4500 元了，有人赞助",
        "constraint project | Heron 的日志里不能出现客户的姓名",
        "decision project | We decided to release Heron 1.0 on May 18",
        "constraint project | Every call to the Heron API has to respond in under 200 milliseconds",
        "fact user | I'm a left-handed person",
        "fact user | 我一直用 Linux",
        "preference user | I don't eat cilantro",
        "habit user | I no longer go swimming on Wednesdays",
        "preference user | 我还喜欢桌游",
        "preference session | call me Captain",
        "fact user | 小满开始学 Rust 了",
        "preference user | From now on, start every code review with the riskiest change",
    ],
}


def sessions() -> dict[str, list[Turn]]:
    found: dict[str, list[Turn]] = {}
    text = files("mnemic.demo").joinpath("sample.jsonl").read_text(encoding="utf-8")
    for line in text.splitlines():
        row = json.loads(line)
        found.setdefault(row["session"], []).append(Turn(row["role"], row["content"]))
    return found


@pytest.mark.parametrize("session", sorted(EXPECTED))
def test_the_sample_gives_exactly_its_durable_facts(session: str) -> None:
    found = extract_rules(sessions()[session])
    assert [f"{c.memory_type} {c.scope} | {c.content}" for c in found] == EXPECTED[session]


def test_turn_by_turn_gives_what_the_whole_session_gives() -> None:
    for turns in sessions().values():
        one_by_one = [
            c.content
            for index in range(len(turns))
            for c in extract_rules(turns[: index + 1], first_new=index)
        ]
        assert one_by_one == [c.content for c in extract_rules(turns)]
