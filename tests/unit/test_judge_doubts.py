"""Do two facts that share their words, but not what they tell, both stay?"""

from __future__ import annotations

import pytest

from mnemic.longterm.judge import judge

# Both orders; nothing may be lost or retired.
APART = """
I owe Tom 50 euros | Tom owes me 50 euros
i owe tom 50 euros | tom owes me 50 euros
我欠小王50块 | 小王欠我50块
I lent Anna 20 euros | Anna lent me 20 euros
I gave Anna the keys | Anna gave me the keys
我把钥匙给了小李 | 小李把钥匙给了我
Ben taught me chess | I taught Ben chess
I trust Ben | Ben trusts me
Anna likes Ben | Ben likes Anna
Tom manages Anna | Anna manages Tom
小王是小李的老板 | 小李是小王的老板
Tom is Anna's boss | Anna is Tom's boss
Nina helps Omar with maths | Omar helps Nina with maths
我教小张游泳 | 小张教我游泳
老王请我吃饭 | 我请老王吃饭
My boss trusts me | I trust my boss
My mother visits my sister every weekend | My sister visits my mother every weekend
我妈照顾我奶奶 | 我奶奶照顾我妈
Lisa follows Mark | Mark follows Lisa
I work at Bosch | I work remotely on Fridays
I work at Bosch | I work best in the morning
I work at Bosch | I work part-time
I work at Globex | I work at night
I work for Globex | I work for eight hours a day
I work as a nurse | I work in Bonn
I work as a nurse | I work night shifts
我在腾讯工作 | 我在深圳工作
我在腾讯工作 | 我在家工作
我在小米上班 | 我在办公室上班
I start work at 9 | I finish work at 5
I start school at 8 | I finish school at 3
I lived in Rome for two years | I lived in Madrid for three years
我在成都住过两年 | 我在重庆住过三年
I live in Berlin | I live on the third floor
My name is Kim | My friends call me Kimmy
I like coffee | I don't like coffee after 4 pm
我喜欢咖啡 | 下午四点以后我不喝咖啡
我喝咖啡 | 我晚上不喝咖啡
I eat meat | I don't eat meat on Fridays
我吃肉 | 我周五不吃肉
I like dogs | I don't like big dogs
I like tea | I don't like iced tea
I drink milk | I don't drink cold milk
I like cats | I don't like cats in my bed
Emma is allergic to cats | Emma is not allergic to dogs
I am allergic to penicillin | I am not allergic to aspirin
小明对花生过敏 | 小明对牛奶不过敏
I prefer dark mode in VS Code | I prefer light mode in the browser
I prefer window seats on planes | I prefer aisle seats on trains
Use formal tone in emails to clients | Use informal tone in chat with friends
Answer briefly when I ask about code | Answer in detail when I ask about history
Never deploy on Fridays | Deploy on Mondays
On Mondays I go swimming | On Thursdays I go swimming
周一我去游泳 | 周四我去游泳
每周二我上瑜伽课 | 每周四我上瑜伽课
Monday: gym | Tuesday: gym
I went to the gym on Monday | I went to the gym on Wednesday
I ate pizza on Monday | I ate pizza on Tuesday
周一我吃了披萨 | 周二我吃了披萨
Meeting with Anna on Monday at 10 | Meeting with Anna on Friday at 10
Lunch with Kai on 3 May | Lunch with Kai on 10 May
Dentist appointment on 3 May at 10:00 | Dentist appointment on 3 November at 10:00
Anna's birthday is on May 3 | Anna's name day is on July 26
Weight on May 1: 82 kg | Weight on June 1: 80 kg
I like running | I like running shoes from Asics
I like cycling | I like cycling shorts from Assos
I enjoy cooking | I enjoy cooking shows
我帮小美搬家 | 小美帮我搬家
Globex bought Initech | Initech bought Globex
My dad is teaching me to drive | I am teaching my dad to drive
I like beer | I don't like dark beer
I wear glasses | I don't wear glasses when I swim
我喜欢牛奶 | 我早上不喝牛奶
Ben visited me on Monday | Ben visited me on Friday
Kim was here on 3 May | Kim was here on 4 May
Interview with Globex on Monday | Interview with Globex on Friday
周一和小王吃饭 | 周五和小王吃饭
I work on the billing team | I work in a small office
I like tea | I like tea towels
I like football | I like football boots from Nike
I collect wine | I collect wine labels
My plant is a fern | My plant is a cactus
My car is a Golf | My car is a wreck
My manager is Petra | My manager is Scottish
我老板是王磊 | 我老板是湖南人
Please answer in English | Answer in German when I write German
I drive a BMW to work | I drive a Volvo on weekends
Ida danced at the lantern fair and was very happy | Ida rode the drop tower at the pier and was very happy
Ida painted a mural in the club and felt happy | Ida felt sad because the boat trip was cancelled by the storm
Ida carved a whistle with her uncle and felt proud | Ida lost the key of the shed in the snow and felt ashamed
Ida keeps two goats behind the barn and likes that | Ida does not like how the heating in the attic hums
I planned a picnic by the lake with Tom and Nora | I finished the tax return for the bakery last night
Ida在灯会上跳了一支舞，非常开心 | Ida因为下雨取消了划船，非常难过
小月在灯会上跳了一支舞，非常开心 | 小月因为下雨取消了划船，非常难过
""".strip().splitlines()

# The second takes the place of the first.
UPDATES = """
My manager is Petra | My manager is Jens
我的经理是王磊 | 我的经理换成李娜了
Please answer in English | Please answer in German
Answer in English | From now on answer in German
以后用英文回答我 | 以后用中文回答我
My car is a Golf | My car is a Tesla
My car is a Golf | I drive a Tesla now
My phone is a Pixel | My phone is an iPhone
Rent is due on the 15th | Rent is due on the 16th
下午三点开会 | 下午四点开会
例会在周一 | 例会在周三
The deadline is Friday | The deadline is Monday
My birthday is on 3 May | My birthday is on 5 May
We deploy every Friday | We deploy every Tuesday
周一我去游泳 | 我改成周四去游泳了
I go swimming on Mondays | I now go swimming on Thursdays
I like coffee | I don't like coffee anymore
Emma is allergic to cats | Emma is not allergic to cats
I work at Contoso | I work at Globex
I work in Bonn | I work in Kiel now
我在华为上班 | 我在小米上班
我在华为工作 | 我跳槽到小米了
I start work at 9 | I start work at 8
我九点上班 | 我八点上班
I work at Contoso | I quit my job
我用Python写脚本 | 我改用Go写脚本了
我在VS Code里用dark主题 | 我在VS Code里改用light主题了
We run the billing service on MongoDB in Frankfurt | We moved the billing service from MongoDB to PostgreSQL
I live in a small flat near the old harbour in Lisbon | I moved to a house with a garden in Porto last spring
""".strip().splitlines()

ONE_FACT = """
I owe Tom 50 euros | I still owe Tom 50 euros
Anna taught me chess | I was taught chess by Anna
Tom is Anna's boss | Anna's boss is Tom
小王是小李的老板 | 小李的老板是小王
Anna is my sister | My sister is Anna
I go to the gym with Anna | Anna and I go to the gym
I met Paul in 2015 | Paul met me in 2015
我在腾讯工作 | 我在腾讯上班
""".strip().splitlines()


@pytest.mark.parametrize("pair", APART)
@pytest.mark.parametrize("similarity", [None, 0.9])
def test_neither_of_two_facts_is_lost_or_retired(pair: str, similarity: float | None) -> None:
    first, second = pair.split(" | ")
    assert judge(first, second, similarity).label == "different"
    assert judge(second, first, similarity).label == "different"


@pytest.mark.parametrize("pair", UPDATES)
def test_another_value_of_one_thing_is_newer(pair: str) -> None:
    first, second = pair.split(" | ")
    assert judge(first, second).label == "newer"


@pytest.mark.parametrize("pair", ONE_FACT)
def test_another_order_of_one_fact_is_the_same(pair: str) -> None:
    first, second = pair.split(" | ")
    assert judge(first, second).label == "same"
