"""Does a number that names a thing keep two things apart, while a number that measures still updates?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.longterm.judge import judge

# {i} names a thing, {v} and {p} are values.
TEMPLATES = """
Server {i} runs on port {p}
Fact {i}: value {v}
The user's fact number {i}
User fact {i}
fact-{i}
Fact #{i}
fact no. {i}
item {i} costs {v} dollars
Note {i} about the garden
My project number {i} is called Falcon{i}
User likes item {i}
Employee {i} works in department {v}
Customer {i} prefers delivery on day {v}
设备{i}的温度上限是{v}度
用户喜欢编号{i}的产品
并发测试事实{i}
记忆{i}：用户喜欢第{v}种水果
这是第{i}条记忆
{i}号仓库里有{v}个货架
Room {i} on the north side holds {v} desks
city{i} is the capital of country{i}
the answer to question {i} is {v}
Memory {i}: I like color {v}
book-{i} is on shelf {v}
Benchmark run {i} took {v} s
I have visited city {i}
I like the number {i}
Load test fact {i}
Unique fact number {i} about topic {v}
The password hint {i} is blue
The meeting {i} is at {v} o'clock
Alice's friend number {i} is Bob{i}
用户的第{i}个事实
我喜欢数字{i}
Fact {i} for project Apollo
User {i} likes tea
用户{i}喜欢喝茶
Sensor {i} reads {v} degrees
Truck {i} carries {v} boxes
传感器{i}的读数是{v}
{i}号员工负责{v}号产线
第{i}章讲的是网络
第{i}个任务在周五上线
Patient {i} was admitted to ward {v}
Chapter {i} has {v} pages
Idea {i}: build an app
要点{i}：先做备份
账号{i}的余额是{v}元
Account {i} has a balance of {v} dollars
Recipe {i} needs {v} eggs
我读完了第{i}本书
订单号{i}已发货
Order {i} has shipped
TICKET-{i} is closed
Team {i} won {v} games
步骤{i}：检查日志
Option {i} costs {v} euros
Preference {i}: dark mode
偏好{i}：深色模式
The {i}th memory is about tea
Entity{i} relates to Entity{v}
user_{i} prefers dark mode
问题{i}的答案是{v}
This is memory {i}
memory_{i}
I bought ticket {i}
用户有宠物{i}
""".strip().splitlines()
NUMBERS = st.integers(1, 200)


@pytest.mark.parametrize("template", TEMPLATES)
@given(one=NUMBERS, other=NUMBERS, value=NUMBERS, rival=NUMBERS, crossed=st.booleans())
@settings(max_examples=40, deadline=None)
def test_pf_003_differently_numbered_things_are_different(
    template: str, one: int, other: int, value: int, rival: int, crossed: bool
) -> None:
    if one == other:
        other = one + 1
    if crossed:
        value, rival = other, one
    if template.startswith("Entity") and value == rival == one:
        rival = one + 2
    first = template.format(i=one, v=value, p=8000 + value)
    second = template.format(i=other, v=rival, p=8000 + rival)
    assert judge(first, second, 0.93).label == "different", (first, second)


VALUES = """
The port is 8080 | The port is now 9090
The port is 8080 | The port is 9090
The server runs on port 8080 | The server runs on port 9090
Server 3 runs on port 8080 | Server 3 runs on port 9090
Rent is due on the 15th | Rent is due on the 16th
We use v2.3 | We use v2.4
I take bus 12 to work | I now take bus 15 to work
My locker number is 4417 | My locker number is 4418
I park in bay 12 | I park in bay 90
We use Java 17 | We upgraded to Java 21
My desk is on floor 3 | My desk is on floor 5
My phone is an iPhone 13 | My phone is now an iPhone 15
We employ 30 people | We employ 35 people
Our office has 12 desks | Our office has 14 desks
The meeting is in room 12 | The meeting is in room 21
服务跑在端口8080上 | 服务跑在端口9090上
服务器3的端口是8080 | 服务器3的端口是9090
我坐地铁2号线上班 | 我改坐地铁4号线上班了
我住在3号楼 | 我住在5号楼
库存50 | 库存60
15号交房租 | 16号交房租
体重70公斤 | 体重72公斤
""".strip().splitlines()


@pytest.mark.parametrize("pair", VALUES)
def test_pf_004_another_value_on_one_thing_is_newer(pair: str) -> None:
    first, second = pair.split(" | ")
    assert judge(first, second).label == "newer"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Server 3 runs on port 8080", "服务器3跑在8080端口"),
        ("Room 12 is cold", "12号房间很冷"),
        ("Chapter 3 is about joins", "Chapter three is about joins"),
        ("Note no. 5 is about tea", "Note #5 is about tea"),
    ],
)
def test_one_numbered_thing_is_the_same_in_other_words(first: str, second: str) -> None:
    assert judge(first, second).label == "same"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("我喜欢桌游", "周三就改成桌游夜吧"),
        ("我还喜欢桌游", "周三就改成桌游夜吧"),
        ("I love board games", "Let's turn Wednesday into board game night"),
    ],
)
def test_what_is_liked_may_be_put_to_another_use(first: str, second: str) -> None:
    assert judge(first, second).label == "different"
