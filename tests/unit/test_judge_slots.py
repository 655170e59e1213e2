"""Do two texts about one single-valued attribute share a key, and only those?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.longterm.judge import slots

SHARED = """
I work at Northwind | I just joined Contoso
我在晨星科技上班 | 我跳槽到云帆了
我在晨星科技上班 | I now work at Yunfan
I work at Northwind | I quit my job
I'm a nurse at a hospital | I now work as a librarian
I work as a barista | I'm a pilot now
我是公务员 | 我现在自己创业
I'm a teacher | 我改行做程序员了
I work for a law firm | I've been laid off
My employer is Globex | I started at Initech last month
我在华为工作 | 我被裁了
我在阿里当产品经理 | 我入职字节了
I live in Berlin | I moved to Hamburg
我住在杭州 | 我搬到苏州了
I live in Leeds | 我搬到上海了
My home is in Lyon | I've relocated to Nice
My parents live in Chengdu | My parents moved to Sanya
我爸妈住在老家 | 我爸妈搬到了三亚
My sister lives in Rome | My sister has moved to Milan
My name is Rowan | I'm called Robin
我叫陈晨 | 我改名叫陈辰了
My name is Chen | 我叫陈晨
My favourite cafe is Lantern | My favourite cafe is now Harbour
My favourite colour is green | 我最喜欢的颜色是紫色
我最喜欢的水果是芒果 | My favourite fruit is pear
My favourite drink is tea | My favourite drink is now coffee
My favourite language is Rust | My favorite language is Go
My manager is Priya | My manager is called Jon
My manager is Priya | 我的领导换成了老王
I report to Priya | My boss is Kim
我的导师是陈教授 | 我的导师换成了刘教授
My landlord is Mr Okafor | My landlord is Ms Lind now
My phone is a Pixel 8 | I switched to a new phone, an iPhone 15
我的手机是华为 | 我手机换成小米了
I drive a Tesla | My car is a BYD now
I'm single | We got married in May
我还单身 | 我结婚了
I'm married | I got divorced
I'm vegetarian | I eat meat again
我吃素 | 我现在开荤了
I'm 34 years old | I turned 35
我女儿五岁 | 我女儿六岁了
My birthday is 5 May | 我的生日是6月5日
The Heron dev server runs on port 8080 | The port of the Heron dev server is 9090
Heron 的端口是8080 | Heron moved to port 9090
Heron's budget is 20k | The budget for Heron was raised to 30k
Heron is on version 2.3 | Heron's version is 2.4
Heron uses Postgres | Heron migrated to MySQL
We use PostgreSQL | 我们换成 MySQL 了
Our CI is Jenkins | We moved to GitHub Actions
The Heron deadline is 5 May | Heron's deadline moved to 12 May
Heron 的截止日期是5月5日 | The deadline of Heron is 12 May
The meeting is on Monday | 会议改到周二了
例会是每周一 | 例会改到每周二了
I wake up at six | I get up at seven now
我每天六点起床 | I get up at seven
I go to bed at eleven | 我现在十二点睡
I commute by bus | I cycle to work now
Please reply in English | 请用中文回复
Keep replies short | Please give detailed answers
My phone number is 5551234 | 我的电话是5559876
I weigh 70 kg | 我体重72公斤
I'm studying at Leeds university | I graduated
The timeout is 30 s | 超时改为60秒
""".strip().splitlines()

APART = """
I like tea | I like coffee
I have a cat | I have a dog
I work at Northwind | I live in Berlin
My sister lives in Rome | I live in Milan
My mother works at a bank | I work at a school
The Heron dev server runs on port 8080 | The Crane dev server runs on port 9090
Heron uses Postgres | Crane uses MySQL
I visited Kyoto | I visited Osaka
My favourite colour is green | My favourite fruit is mango
My cat is called Milo | My name is Rowan
My cat is called Milo | My dog is called Rex
我喜欢爬山 | 我喜欢游泳
我女儿五岁 | 我儿子六岁
我妈是医生 | 我是老师
Server 3 runs on port 8080 | Server 4 runs on port 8081
I'm allergic to nuts | I'm allergic to pollen
I met Anna on Monday | I met Ben on Tuesday
The wedding is on 5 May | The exam is on 6 May
订单表有三个索引 | 用户表有五个索引
I speak French | I speak German
I bought a lamp | I bought a chair
Please reply in English | Keep replies short
My boss is from Madrid | My landlord is from Seville
I play chess | I play tennis
我养了一只猫 | 我会弹钢琴
I'm afraid of heights | I'm scared of dogs
When I was a child I lived in Rome | I live in Vienna
Last year I worked at A | I work at B
The front door is red | The back door is green
Tabs are better | The weather is nice
I like tea | My favourite fruit is pear
My brother is called Tom | I'm called Robin
My sister got married | I'm single
My dad retired | I retired last year
我女儿上小学 | 我上大学
我妈搬到了三亚 | 我搬到了苏州
我儿子六岁 | 我今年三十岁
My wife's birthday is 5 May | My birthday is 6 June
The Heron deadline is 5 May | The Crane deadline is 6 June
Heron's budget is 20k | Crane's budget is 30k
The test server runs on port 8080 | The production server runs on port 9090
订单服务的端口是8080 | 支付服务的端口是9090
My phone is a Pixel 8 | My laptop is a MacBook
I wake up at six | I go to bed at ten
I weigh 70 kg | I'm 180 cm tall
I commute by bus | I live in Leeds
My manager is Priya | My landlord is Mr Cole
We use Postgres | We use React
I work at Northwind | My name is Rowan
我叫陈晨 | 我住在杭州
我吃素 | 我戒烟了
Alder ships in May | Birch ships in July
例会是每周一 | 复盘是每周五
My favourite season is spring | My favourite city is Lyon
I'm 34 | My phone number is 5551234
I collect stamps | I live in Leeds
我对花生过敏 | 我叫陈晨
I can swim | I'm a nurse
The museum is closed | I'm married
I have two cats | I work at Globex
""".strip().splitlines()


@pytest.mark.parametrize("pair", SHARED)
def test_pf_005_one_attribute_has_one_key_in_every_wording(pair: str) -> None:
    first, second = pair.split(" | ")
    assert slots(first) & slots(second)


@pytest.mark.parametrize("pair", APART)
def test_other_subjects_and_attributes_share_no_key(pair: str) -> None:
    first, second = pair.split(" | ")
    assert not slots(first) & slots(second)


def test_keys_name_the_subject_and_the_attribute() -> None:
    assert slots("I work at Northwind") == {"user/employer"}
    assert slots("我跳槽到云帆了") == {"user/employer"}
    assert slots("My mother lives in Rome") == {"mother/residence"}
    assert slots("My favourite colour is green") == {"user/favourite:colour"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I like tea",
        "我喜欢爬山",
        "The weather is nice",
        "Benchmark run 41 took 12 s",
        "帮我写个脚本",
    ],
)
def test_texts_that_fill_nothing_have_no_key(text: str) -> None:
    assert slots(text) == frozenset()


@given(st.text(max_size=400))
@settings(max_examples=150, deadline=None)
def test_any_text_has_at_most_six_keys(text: str) -> None:
    found = slots(text)
    assert len(found) <= 6
    assert all("/" in key for key in found)


QUESTIONS = """
Where do I live? | I live in Leipzig near the zoo
where do i live | 我搬到苏州了
Who is my manager? | My boss is called Henrike
Who's my boss? | I report to Priya
What is my name? | 我叫陈晨
what phone do I have | My phone is a Pixel 8
What car do I have? | I drive a Tesla
What company do I work for? | I work at Northwind
What do I do for a living? | I'm a nurse
How old am I? | I'm 34 years old
When is my birthday? | My birthday is 5 May
When do I get up? | I get up at seven
What is my cat called? | My cat is called Milo
What port does Heron run on? | Heron's port is 8080
What's my favourite colour? | 我最喜欢的颜色是紫色
What language should you answer in? | Please reply in English
Where does my mother live? | My mother lives in Rome
我住哪儿 | I live in Berlin
我老板是谁 | My manager is Priya
我叫什么名字 | My name is Rowan
我在哪家公司工作 | 我在晨星科技上班
我开什么车？ | I drive a Tesla
我几点起床 | 我每天早上六点起床
我最喜欢什么颜色 | My favourite colour is green
Heron 的端口是多少？ | Heron runs on port 8080
""".strip().splitlines()


@pytest.mark.parametrize("pair", QUESTIONS)
def test_a_question_has_the_key_of_its_answer(pair: str) -> None:
    question, answer = pair.split(" | ")
    assert slots(question) & slots(answer)


@pytest.mark.parametrize(
    "text",
    [
        "I work remotely on Fridays",
        "I work best in the morning",
        "I work part-time",
        "I work night shifts",
        "I work in Bonn",
        "I start work at 9",
        "I finish work at 5",
        "I lived in Rome for two years",
        "我在深圳工作",
        "我在家工作",
    ],
)
def test_how_when_and_where_one_works_names_no_employer(text: str) -> None:
    assert not slots(text) & {"user/employer", "user/residence"}


@pytest.mark.parametrize(
    "text",
    [
        "How do I live with regret?",
        "How does a car work?",
        "How do I sleep better?",
        "What is the best car?",
        "What time is it?",
        "How much does a flight cost?",
        "Where do you live?",
        "How old is the universe?",
        "What should I study?",
        "What do I think of my manager?",
        "Where does Tom work?",
        "怎么在家工作更高效？",
    ],
)
def test_a_question_that_is_not_about_a_fact_of_ones_life_has_no_key(text: str) -> None:
    assert slots(text) == frozenset()
