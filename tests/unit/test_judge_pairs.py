"""How many of our own pairs, of every kind and in both languages, does the judge get right?"""

from __future__ import annotations

from mnemic.evaluation.judge import score

LABELS = {"s": "same", "n": "newer", "d": "different"}

# label (same, newer, different) | kind | stored | arriving later
PAIRS = """
s | word-order | 去年我在青岛学会了潜水。 | 我去年在青岛学会了潜水。
s | word-order | 香菜我不吃。 | 我不吃香菜。
s | synonym | I'm scared of heights. | I am afraid of heights.
s | synonym | 我老婆是小学老师。 | 我妻子是小学教师。
s | synonym | I ride my bike to the office. | I cycle to work.
s | synonym | 我每天坐地铁上班。 | 我每天乘地铁去公司。
s | synonym | My flat is tiny. | My apartment is small.
s | synonym | Please reply in Chinese. | Answer me in Chinese, please.
s | paraphrase | My cat's name is Milo. | I have a cat called Milo.
s | paraphrase | The owner of the billing module is Priya. | Priya owns the billing module.
s | paraphrase | 我的职业是程序员。 | 我是一名程序员。
s | paraphrase | Our team has nine members. | There are nine people in our team.
s | paraphrase | CI 用的是 GitHub Actions。 | 我们的 CI 跑在 GitHub Actions 上。
s | paraphrase | I can't eat shrimp because I'm allergic. | I'm allergic to shrimp.
s | date-form | My passport expires on 3/14/2027. | My passport expires on 14 March 2027.
s | date-form | 体检约在下午两点半。 | 体检约在14:30。
s | date-form | The retro is at half past four in the afternoon. | The retro is at 4:30 pm.
s | date-form | 发版日是每周四。 | 每周星期四发版。
s | numeral-form | My gym has twenty-five treadmills. | My gym has 25 treadmills.
s | numeral-form | 这批货一共三百二十箱。 | 这批货一共320箱。
s | numeral-form | 重试上限五次。 | 重试上限5次。
s | unit-form | The call lasts ninety minutes. | The call lasts 1.5 hours.
s | unit-form | 房租每月三千块。 | 房租每月3000元。
s | unit-form | The file limit is 0.5 GB. | The file limit is 512 MB.
s | antonym-paraphrase | 我不在国企上班了，已经退休。 | 我退休了，不在国企上班。
s | antonym-paraphrase | The endpoint is disabled. | The endpoint is not enabled.
s | antonym-paraphrase | 这家店不贵。 | 这家店很便宜。
s | negation-kept | We don't ship on Saturdays. | We never ship on Saturdays.
s | negation-kept | 我没有驾照。 | 我还没有驾照。
s | hedge | 我可能对芒果过敏。 | 我对芒果过敏。
s | hedge | I believe the API key rotates monthly. | The API key rotates monthly.
s | translation | We use PostgreSQL. | 我们用 PostgreSQL。
s | translation | 我每天六点起床。 | I get up at six every day.
s | translation | My father is a doctor. | 我爸是医生。
s | translation | 我不吃辣。 | I don't eat spicy food.
s | translation | The meeting is every Monday at 10 am. | 会议在每周一上午十点。
s | entailed | 我在深圳一家游戏公司做后端开发。 | 我在深圳工作。
s | entailed | I have a brown dog called Rex. | I have a dog called Rex.
s | list-order | The stack is React, FastAPI and Redis. | The stack is Redis, React and FastAPI.
s | list-order | 我对虾、蟹、花生过敏。 | 我对花生、虾和蟹过敏。
s | script | 我喜歡聽古典音樂。 | 我喜欢听古典音乐。
s | script | 請用簡體中文回覆。 | 请用简体中文回复。
s | typo | I usually work in the mornign. | I usually work in the morning.
s | typo | We deploy with kubernets. | We deploy with kubernetes.
s | quoting | 配置文件叫 "app.toml"。 | 配置文件叫《app.toml》。
s | punctuation-case | i use vs code | I use VS Code!
n | number | The pool size is 20. | The pool size is now 50.
n | number | 我的工位在12楼。 | 我的工位在15楼。
n | number | 我女儿五岁。 | 我女儿六岁了。
n | number | 每周跑三次步。 | 每周跑四次步。
n | unit | The sample is 5 kg. | The sample is 5 g.
n | unit | 课程每月两百元。 | 课程每月两百美元。
n | antonym | The heating is on automatic. | The heating is on manual.
n | antonym | 回复请尽量详细。 | 回复请尽量简短。
n | antonym | Standups are online. | Standups are in person.
n | antonym | 我偏爱靠窗的座位。 | 我偏爱靠过道的座位。
n | job | I'm a nurse at a hospital. | I now work as a librarian.
n | job | 我在华为工作。 | 我跳槽到小米了。
n | job | 我是公务员。 | 我现在自己创业。
n | job | I work for a law firm. | I quit the law firm and run a bakery.
n | version | We are on Django 4.2. | We moved to Django 5.1.
n | version | 客户端最低版本是3.2。 | 客户端最低版本是3.5。
n | preference | 我喜欢用深色主题。 | 我现在喜欢用浅色主题。
n | preference | I like my coffee black. | I like my coffee with milk now.
n | preference | My favourite colour is green. | My favourite colour is purple.
n | preference | I prefer tabs. | I prefer spaces.
n | negation | 我吃牛肉。 | 我不再吃牛肉了。
n | negation | I drink alcohol at weekends. | I don't drink alcohol any more.
n | negation | 我不会游泳。 | 我学会游泳了。
n | negation | I don't have a car. | I bought a car last week.
n | negation | We have a weekly sync. | The weekly sync has been cancelled.
n | list-adds | The linters are ruff and mypy. | The linters are ruff, mypy and bandit.
n | list-adds | 家里有我、老婆和女儿。 | 家里有我、老婆、女儿和儿子。
n | name-correction | My manager is called Jon. | My manager's name is John, not Jon.
n | name-correction | 我女儿叫王雨涵。 | 我女儿叫王语涵，不是雨涵。
n | date | The wedding is on 5 May. | The wedding is on 12 May.
n | date | 交房时间是八月。 | 交房时间是十月。
n | date | 例会是每周一。 | 例会改到每周二了。
n | deadline | 设计稿周五前交。 | 设计稿下周三前交。
n | status | 我怀孕了。 | 我生了个女儿。
n | status | The migration is in progress. | The migration is finished.
n | status | 我在休产假。 | 我已经回公司上班了。
n | status | I rent a flat. | I bought a house and moved in.
n | moved | My parents live in Chengdu. | My parents moved to Sanya.
n | moved | 公司在望京。 | 公司搬到中关村了。
n | moved | We host on AWS. | We moved hosting to Azure.
n | plan-done | I want to visit Kyoto. | I visited Kyoto in April.
n | plan-done | 我们计划接入飞书。 | 我们已经接入飞书了。
n | plan-done | 我打算戒烟。 | 我戒烟了。
n | plan-done | I'm planning to run a marathon. | I ran the marathon last Sunday.
n | person | The product owner is Maria. | Maria left; Tomas is the product owner now.
n | person | 我的导师是陈教授。 | 我的导师换成了刘教授。
n | quoted-value | The env var "LOG_LEVEL" is "info". | The env var "LOG_LEVEL" is "warn".
n | quoted-value | 口号是“快乐工作”。 | 口号改为“用心服务”。
n | role-swap | 张三做前端，李四做测试。 | 李四做前端，张三做测试。
n | role-swap | I cook and my wife washes up. | My wife cooks and I wash up.
d | other-object | My car is blue. | My bike is red.
d | other-object | 订单表有三个索引。 | 用户表有五个索引。
d | other-object | The dev server is in Frankfurt. | The staging server is in Dublin.
d | other-object | 我的生日是三月二号。 | 我的结婚纪念日是五月二号。
d | other-object | The API returns JSON. | The CLI returns YAML.
d | other-object | 早餐我喝豆浆。 | 午餐我吃面条。
d | other-object | The front door is red. | The back door is green.
d | other-object | The default theme is dark. | The default font is Inter.
d | other-object | 主卧的空调设26度。 | 客厅的空调设24度。
d | additive | I've been to Japan. | I've been to Norway.
d | additive | 我去过泰国。 | 我去过法国。
d | additive | I hate mushrooms. | I hate olives.
d | additive | 我爱看推理小说。 | 我爱看纪录片。
d | additive | I collect stamps. | I collect coins.
d | additive | I have a cat. | I have a rabbit.
d | additive | 我会用 Photoshop。 | 我会用 Blender。
d | additive | 我喜欢喝茶。 | 我也喜欢喝咖啡。
d | other-person | My daughter plays the violin. | My son plays the drums.
d | other-person | 我女儿喜欢画画。 | 我儿子喜欢足球。
d | other-person | 小王喜欢喝茶。 | 小李喜欢喝咖啡。
d | other-person | My boss is from Madrid. | My landlord is from Seville.
d | other-person | 我老公对海鲜过敏。 | 我对花粉过敏。
d | numbered-item | Ticket 231 is about login. | Ticket 213 is about payments.
d | numbered-item | 二号线到机场。 | 三号线到火车站。
d | numbered-item | 第一期做登录。 | 第二期做支付。
d | numbered-item | Chapter 3 covers joins. | Chapter 4 covers indexes.
d | numbered-item | Server 1 has 16 GB. | Server 2 has 32 GB.
d | plan-vs-fact | I work as a barista. | I hope to become a pilot.
d | plan-vs-fact | 我养了一只猫。 | 我打算再养一条狗。
d | plan-vs-fact | We deploy manually. | We plan to automate deployment.
d | plan-vs-fact | I have a Nikon. | I'm thinking of buying a Sony.
d | other-event | I saw the dentist on Monday. | I have a haircut on Monday.
d | other-event | 三月十号开家长会。 | 三月十号交房租。
d | similar-name | My sister is called Anna. | My colleague is called Hanna.
d | similar-name | 客户经理叫陈晨。 | 项目经理叫陈辰。
d | complementary | My flat has two bedrooms. | My flat is on the fourth floor.
d | complementary | 我女儿叫小雨。 | 我女儿今年上小学。
d | complementary | 我有一辆自行车。 | 我的自行车是红色的。
d | complementary | The release is on Friday. | The release contains the new login page.
d | time-scoped | When I was a child I lived in Rome. | I live in Vienna.
d | time-scoped | 上大学时我打篮球。 | 我现在打羽毛球。
d | time-scoped | Last year our budget was 20k. | This year our budget is 35k.
d | other-project | Orion is written in Rust. | Lyra is written in Go.
d | other-project | A项目用 MySQL。 | B项目用 MongoDB。
d | quoted-key | The key "color" maps to 3. | The key "colour_depth" maps to 8.
d | quoted-key | 变量 user_id 是整数。 | 变量 user_name 是字符串。
d | direction | Incoming mail is filtered. | Outgoing mail is signed.
d | direction | 从上海到北京的高铁是八点。 | 从北京到上海的高铁是六点。
d | direction | I fly to Rome on the 3rd. | I fly home from Rome on the 9th.
d | direction | 入口在东边。 | 出口在西边。
s | word-order | 暑假我带女儿去学游泳。 | 我暑假带女儿学游泳。
s | synonym | I hate getting up early. | I can't stand getting up early.
s | synonym | 我爷爷喜欢下象棋。 | 爷爷爱下象棋。
s | synonym | Our servers are hosted on AWS. | Our servers run on Amazon Web Services.
s | synonym | 我的爱好是摄影。 | 我喜欢摄影。
s | paraphrase | I'm the oldest of three siblings. | I have two younger siblings.
s | paraphrase | We picked Vue for the dashboard. | The dashboard is built with Vue.
s | paraphrase | 我们公司在浦东有一个仓库。 | 我们公司有一个仓库在浦东。
s | paraphrase | My daughter's name is Ida. | I have a daughter called Ida.
s | date-form | Payday is the 25th of every month. | We get paid on the 25th each month.
s | date-form | 年会定在12月28日。 | 年会是十二月二十八号。
s | numeral-form | The house has five bedrooms. | The house has 5 bedrooms.
s | numeral-form | 我今年三十五岁。 | 我今年35岁。
s | unit-form | My commute takes 45 minutes. | My commute takes three quarters of an hour.
s | unit-form | 阈值是百分之八十。 | 阈值是80%。
s | antonym-paraphrase | My flat is not big. | My flat is small.
s | antonym-paraphrase | 周一食堂不开。 | 食堂周一关门。
s | negation-kept | 我从不在床上看手机。 | 我不在床上看手机。
s | negation-kept | No one on the team works on Sundays. | Nobody on the team works on Sundays.
s | hedge | 印象里测试库在二号服务器上。 | 测试库在二号服务器上。
s | translation | My son is learning the violin. | 我儿子在学小提琴。
s | translation | 我们的主分支叫 main。 | Our main branch is called main.
s | translation | The timeout is 30 seconds. | 超时时间是30秒。
s | translation | 我早上喝绿茶。 | I drink green tea in the morning.
s | entailed | I bake sourdough every Sunday with my daughter. | I bake sourdough every Sunday.
s | entailed | 我爸六十二岁，在中学教物理。 | 我爸在中学教物理。
s | list-order | Allergies: nuts, eggs, milk. | I'm allergic to milk, nuts and eggs.
s | quoting | The flag is called --dry-run. | The flag is called "--dry-run".
s | script | 我對貓毛過敏，家裡不養寵物。 | 我对猫毛过敏，家里不养宠物。
s | typo | My sister is a photografer. | My sister is a photographer.
s | punctuation-case | USE TABS, NOT SPACES | use tabs not spaces
n | number | My blood pressure is 140. | My blood pressure is 125.
n | number | 项目预算二十万。 | 项目预算三十万。
n | unit | The parcel weighs 3 kg. | The parcel weighs 3 lb.
n | unit | 会员费每年三百。 | 会员费每月三百。
n | antonym | Replies should be formal. | Replies should be casual.
n | antonym | 咖啡我要热的。 | 咖啡我要冰的。
n | job | I teach at a primary school. | I left teaching and now I'm a translator.
n | job | 我老公在银行上班。 | 我老公辞职开网约车了。
n | version | 线上跑的是 2.8.1。 | 线上已经发了 2.9.0。
n | version | I'm still on iOS 17. | I've updated to iOS 18.
n | preference | My favourite author is Le Guin. | My favourite author is Butler these days.
n | preference | 回答我喜欢分点列出。 | 以后回答别分点了，用整段文字。
n | negation | I eat gluten. | I'm off gluten: I don't eat it any more.
n | negation | 我有健身卡。 | 健身卡我退了。
n | negation | We hold a stand-up every day. | We dropped the daily stand-up.
n | negation | 我坐地铁通勤。 | 我不坐地铁通勤了，改骑车。
n | list-adds | I play tennis and golf. | I play tennis, golf and squash.
n | list-adds | 需要审批的有法务和财务。 | 需要审批的有法务、财务和安全。
n | name-correction | My surname is Clarke. | My surname is Clark, without an e.
n | name-correction | 我的猫叫团子。 | 我的猫叫糯米，不叫团子。
n | date | I see my therapist on Tuesdays. | I see my therapist on Fridays.
n | date | 房东说六月涨租。 | 房东说八月涨租。
n | status | I have a broken arm. | My arm has healed.
n | status | 孩子还没上学。 | 孩子已经上学了。
n | status | The API is in beta. | The API is out of beta.
n | moved | I'm based in Boston. | I relocated to Denver.
n | moved | 我家在三楼。 | 我家搬到了七楼。
n | plan-done | I'd like to buy a drone. | I bought a drone.
n | plan-done | 我们准备上线新版首页。 | 新版首页已经上线了。
n | person | My landlord is Mr Hale. | My landlord is now Mrs Quinn.
n | person | 前端组长是阿杰。 | 前端组长现在是小雯。
n | quoted-value | The app title is "Sunrise". | The app title is "Daybreak".
d | other-object | The hall light is broken. | The porch light works.
d | other-object | 用户服务是Java写的。 | 推荐服务是Python写的。
d | other-object | My road bike is a Trek. | My mountain bike is a Giant.
d | other-object | 合同模板在共享盘。 | 报价模板在邮箱里。
d | other-object | The Android app is at version 5. | The iOS app is at version 6.
d | other-object | 左边抽屉放文具。 | 右边抽屉放药。
d | additive | I've read Dune. | I've read Emma.
d | additive | 我投资了黄金。 | 我投资了债券。
d | additive | My son likes dinosaurs. | My son likes trains.
d | additive | 我周末打篮球。 | 我周末学吉他。
d | additive | I use Slack at work. | I use Figma at work.
d | other-person | Mrs Hale teaches maths. | Mr Quinn teaches physics.
d | other-person | 我表妹在学法语。 | 我表弟在学德语。
d | other-person | The CEO drinks espresso. | The CTO drinks tea.
d | numbered-item | Exit 5 leads to the museum. | Exit 6 leads to the market.
d | numbered-item | 七号线经过我家。 | 九号线经过公司。
d | numbered-item | Issue 88 is fixed. | Issue 89 is still open.
d | plan-vs-fact | I own a petrol car. | I'm considering an electric one.
d | plan-vs-fact | 我家没养宠物。 | 我们打算养一只柴犬。
d | other-event | On 1 June we launched the shop. | On 1 June my visa expired.
d | other-event | 下午三点我有面试。 | 下午三点孩子放学。
d | similar-name | My tutor is called Karin. | My dentist is called Karina.
d | complementary | I run every morning. | I run with my neighbour's dog.
d | complementary | My brother is a pilot. | My brother lives in Lagos.
d | complementary | 我在学日语。 | 我学日语是为了去日本工作。
d | complementary | The server has 64 GB of RAM. | The server sits in the Dublin office.
d | time-scoped | In 2018 our team had four people. | Our team has nine people now.
d | time-scoped | 我上大学时喜欢摇滚。 | 我现在喜欢古典音乐。
d | other-project | In Orion we use tabs. | In Lyra we use spaces.
d | other-project | 灯塔用四个空格缩进。 | 北斗用两个空格缩进。
d | quoted-key | "timeout_ms" must be 500. | "retry_ms" must be 100.
d | direction | I take the tram to work. | I walk home from work.
d | direction | 早上从家到公司要四十分钟。 | 晚上从公司到家要一小时。
d | direction | Anna lent Ben a tent. | Ben lent Anna a stove.
s | word-order | 我一般在高铁上写周报。 | 写周报我一般在高铁上。
s | synonym | I'm fond of rainy weather. | I like rainy weather.
s | synonym | 我家离公司很近。 | 我家距离公司不远。
s | synonym | The deadline for the grant is 3 June. | The grant is due on 3 June.
s | synonym | 我先生是中学校长。 | 我丈夫是中学校长。
s | paraphrase | Our logs are kept for 90 days. | We keep logs for 90 days.
s | paraphrase | 仓库的默认分支是 develop。 | 仓库默认用 develop 分支。
s | paraphrase | I've got a Labrador named Biscuit. | My Labrador is called Biscuit.
s | paraphrase | 负责支付模块的是老杨。 | 支付模块由老杨负责。
s | date-form | My visa runs out on 1 Sept 2026. | My visa runs out on 2026-09-01.
s | date-form | 每周二、周四上瑜伽课。 | 每星期二和星期四上瑜伽课。
s | numeral-form | 这层楼一共二十四户。 | 这层楼共24户。
s | numeral-form | I own two bicycles. | I own 2 bicycles.
s | unit-form | The cable is 200 cm. | The cable is 2 m.
s | unit-form | 每天工作八小时。 | 每天工作8个小时。
s | antonym-paraphrase | The pool is closed in winter. | The pool isn't open in winter.
s | antonym-paraphrase | 这个字段是选填的。 | 这个字段不是必填的。
s | negation-kept | I do not take milk in tea. | I never take milk in tea.
s | negation-kept | 合同里没写违约金。 | 合同里没有写违约金。
s | hedge | I suppose I like mornings best. | I like mornings best.
s | hedge | 好像周五的例会是四点。 | 周五的例会是四点。
s | translation | I live in Chengdu with my wife. | 我和妻子住在成都。
s | translation | 我弟弟是程序员。 | My younger brother is a programmer.
s | translation | 我们的代码在 GitHub 上。 | Our code is on GitHub.
s | entailed | 我女儿叫小满，今年三岁。 | 我女儿今年三岁。
s | list-order | 早餐我只吃鸡蛋、燕麦、香蕉。 | 早餐我只吃香蕉、鸡蛋和燕麦。
s | typo | The realease branch is protected. | The release branch is protected.
s | typo | 我的咖非要加奶。 | 我的咖啡要加奶。
s | mixed | PR 合并前要跑 CI。 | 合并 PR 之前要跑 CI。
n | number | Our office has 40 desks. | Our office has 55 desks.
n | number | 每次最多上传五个文件。 | 每次最多上传十个文件。
n | number | 我的鞋码是42。 | 我的鞋码是43。
n | unit | The dose is 5 mg. | The dose is 5 ml.
n | unit | 刷新间隔十秒。 | 刷新间隔十分钟。
n | antonym | The valve is normally open. | The valve is normally closed.
n | antonym | 我习惯早睡。 | 我习惯晚睡。
n | antonym | 这个仓库是私有的。 | 这个仓库改成公开的了。
n | job | I'm a barista. | I've been promoted to shift manager.
n | job | 我在一家外企做财务。 | 我换工作了，现在在一家创业公司做财务。
n | job | My sister works at the post office. | My sister now works at the town hall.
n | version | The firmware is at 1.9. | The firmware is at 2.0 now.
n | version | 文档基于 Vue 2。 | 文档已经按 Vue 3 重写。
n | preference | 我最喜欢的作家是余华。 | 我最喜欢的作家是莫言。
n | negation | I'm vegetarian. | I'm not vegetarian any more.
n | negation | 我会弹吉他。 | 我手伤了，不能再弹吉他。
n | negation | The office has a canteen. | The office has no canteen any more.
n | negation | 周末可以打电话给我。 | 周末不要打电话给我。
n | list-adds | We ship to France and Spain. | We ship to France, Spain and Italy.
n | list-adds | 值班表里有甲、乙。 | 值班表里有甲、乙、丙。
n | name-correction | The street is Maple Lane. | The street is Marple Lane, not Maple Lane.
n | name-correction | 我对接人是刘洋。 | 我对接人是刘扬，不是刘洋。
n | date | The lease ends on 30 June. | The lease ends on 31 July.
n | date | 钢琴课在周四晚上七点。 | 钢琴课在周四晚上八点。
n | deadline | The demo is due this Friday. | The demo was postponed to next Wednesday.
n | status | The parcel has not arrived. | The parcel has arrived.
n | status | 我正在找房子。 | 我已经找到房子了。
n | status | 服务器宕机了。 | 服务器恢复正常了。
n | moved | We live on the second floor. | We moved to the ground floor.
d | other-object | The oven is electric. | The hob is gas.
d | other-object | 前台电话是分机八零一。 | 财务电话是分机八零五。
d | other-object | The invoice template is blue. | The contract template is grey.
d | other-object | 阳台种了薄荷。 | 院子种了月季。
d | other-object | Search results are cached for 5 minutes. | User profiles are cached for 2 hours.
d | additive | I like crime novels. | I like cookbooks.
d | additive | 我看过《流浪地球》。 | 我看过《大圣归来》。
d | additive | I can juggle. | I can whistle.
d | additive | 我不吃羊肉。 | 我不吃内脏。
d | additive | I'm learning Korean. | I'm learning to sew.
d | other-person | My flatmate works nights. | My landlord works days.
d | other-person | 我侄子上三年级。 | 我外甥女上五年级。
d | other-person | Joan keeps the keys. | Mark keeps the till.
d | numbered-item | Locker 7 is mine. | Locker 9 is Sam's.
d | numbered-item | 第2题我做错了。 | 第5题我没做完。
d | numbered-item | Meeting room 3 seats six. | Meeting room 4 seats ten.
d | plan-vs-fact | I work part time. | I'm thinking of working full time next year.
d | plan-vs-fact | 我们的网站是中文的。 | 我们计划做英文版网站。
d | other-event | On Monday I fixed the boiler. | On Monday I met the accountant.
d | other-event | 昨天我去看了牙医。 | 昨天我交了房租。
d | similar-name | Server alpha runs Debian. | Server alfa runs Ubuntu.
d | similar-name | 李静是产品经理。 | 李婧是设计师。
d | complementary | My car is a diesel. | My car is parked behind the church.
d | complementary | 我儿子会游泳。 | 我儿子怕黑。
d | complementary | The report is written in French. | The report has forty pages.
d | time-scoped | Until 2022 I played in a brass band. | I sing in a choir now.
d | time-scoped | 小时候我住在乡下。 | 我住在市中心。
d | other-project | Project Alder ships in May. | Project Birch ships in July.
d | other-project | 甲项目由小周负责。 | 乙项目由小孙负责。
d | quoted-key | "debug" is off. | "verbose" is on.
d | direction | The bridge opens to the north. | The tunnel opens to the south.
s | synonym | User prefers concise answers. | The user likes short answers.
s | paraphrase | User's name is Rowan. | The user is called Rowan.
s | paraphrase | 用户喜欢简短的回答。 | 用户偏好简洁的回复。
s | same | 用户对青霉素过敏。 | 用户青霉素过敏。
"""


def _rows() -> list[dict[str, str]]:
    rows = []
    for line in PAIRS.strip().splitlines():
        label, kind, first, second = (part.strip() for part in line.split(" | "))
        rows.append({"label": LABELS[label], "why": kind, "first": first, "second": second})
    return rows


def test_hardly_a_fact_is_lost_and_few_are_wrongly_retired() -> None:
    figures = score(_rows())["by"]["all"]
    assert figures["lost"] <= 0.01
    assert figures["wrongly_retired"] <= 0.05
    assert figures["accuracy"] >= 0.95


def test_the_encoder_may_find_everything_alike_and_nothing_is_lost() -> None:
    figures = score(_rows(), lambda _first, _second: 0.99)["by"]["all"]
    assert figures["lost"] <= 0.02
    assert figures["accuracy"] >= 0.95


def test_the_encoder_may_find_everything_unlike_and_updates_are_still_seen() -> None:
    confusion = score(_rows(), lambda _first, _second: 0.2)["by"]["all"]["confusion"]
    assert confusion["newer"]["newer"] >= 0.9 * sum(confusion["newer"].values())
