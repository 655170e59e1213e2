"""How does the judge do on a second mixed set, with traps among the different pairs?"""

from __future__ import annotations

from mnemic.evaluation.judge import score

# label (same, newer, different) | stored | arriving later
PAIRS = """
s | 我每周二、周四要去打羽毛球。 | 每周二和周四我都去打羽毛球。
s | 我们的前端框架是 React。 | 前端我们用 React。
s | 我手机号尾号是8866。 | 我的手机尾号8866。
s | 我不吃羊肉。 | 羊肉我不吃的。
s | 测试环境的域名是 test.example。 | 测试环境用的域名：test.example
s | 我爷爷今年九十二了。 | 我爷爷92岁。
s | 我女儿的钢琴课在周六上午十点。 | 周六上午10点女儿上钢琴课。
s | 老板不喜欢别人迟到。 | 我老板讨厌人迟到。
s | 我去年三月入职的。 | 我是去年3月进公司的。
s | 家里养了两只猫和一条狗。 | 我家有一条狗、两只猫。
s | 這個項目的負責人是李雷。 | 李雷是这个项目的负责人。
s | 我的年假有十五天。 | 我每年有15天年假。
s | 冰箱设置在四度。 | 冰箱温度设为4度。
s | 我太太不吃辣，我也不吃。 | 我和我太太都不吃辣。
s | 请用表格总结，不要写长段文字。 | 总结请用表格，别写长段落。
s | 我觉得这个方案太贵了。 | 这个方案太贵。
s | 日志保留三十天。 | 日志保存一个月。
s | My train leaves at 7:45 in the morning. | The train I take departs at 7:45 am.
s | I never work on Sundays. | I don't work Sundays.
s | The cat is called Misty. | The cat's name is Misty.
s | My favourite season is autumn. | Autumn is my favourite season.
s | I have two kids, a boy and a girl. | I've got a son and a daughter.
s | We store images in S3. | Images are stored in S3.
s | My landlord's name is Mr Cole. | Mr Cole is my landlord.
s | The build takes about ten minutes. | A build takes roughly 10 min.
s | I usually have oatmeal for breakfast. | Breakfast is usually oatmeal for me.
s | My shoe size is 42. | I wear size 42 shoes.
s | I don't like phone calls. | I dislike phone calls.
s | Our wedding anniversary is June 3rd. | Our anniversary is 3 June.
s | I moved to Lyon in 2019. | I've lived in Lyon since 2019.
s | Please write dates as YYYY-MM-DD. | Use YYYY-MM-DD for dates, please.
s | The service is written in Kotlin. | The service is a Kotlin service.
s | My wife is from Peru. | My wife comes from Peru.
s | The deadline for the draft is the twelfth of May. | The draft is due on May 12.
s | I'm an only child. | I have no siblings.
s | My bike was stolen last week. | Last week someone stole my bike.
s | 我在家办公。 | I work from home.
s | 周报周五交。 | The weekly report is due on Friday.
n | 我在追一部韩剧。 | 那部韩剧我追完了。
n | 我家宽带是200兆。 | 家里宽带升到500兆了。
n | 我不会做饭。 | 我学会做饭了。
n | 我平时坐地铁上班。 | 我现在骑车上班了。
n | 我儿子上幼儿园。 | 我儿子上小学了。
n | 房租四千五。 | 房租涨到五千了。
n | 我的导师是孙老师。 | 孙老师退休了，导师换成了吴老师。
n | 下周三去体检。 | 体检改到下周五。
n | 我打算买特斯拉。 | 我最后买了比亚迪。
n | 生产环境还在用 MySQL 5.7。 | 生产环境已经升级到 MySQL 8.0。
n | 请用英文回答我。 | 以后用中文回答我。
n | 我跟女朋友住一起。 | 我和女朋友分手了，现在一个人住。
n | 我没养宠物。 | 我上个月领养了一只猫。
n | 用户名是 admin01。 | 用户名是 admin02。
n | 团队里我最年轻。 | 团队里来了更年轻的同事，我不是最小的了。
n | I'm single. | I'm dating someone called Leo.
n | My office hours are 9 to 5. | My office hours are 10 to 6.
n | I use Chrome. | I switched to Firefox.
n | My knee hurts. | My knee is fine again.
n | The contract runs until March. | The contract was extended until September.
n | My favourite band is Muse. | My favourite band is Blur.
n | I weigh 82 kilos. | I weigh 78 kilos.
n | I'm looking for a flat. | I found a flat and signed the lease.
n | Our head of sales is Nora. | Our head of sales is Piotr.
n | I take the 8:05 bus. | I take the 8:35 bus now.
n | The dashboard is public. | The dashboard is internal only.
n | I've got a cold. | My cold is gone.
n | We plan to drop IE support. | IE support has been dropped.
n | I have a gym membership. | I cancelled my gym membership.
n | My desk is by the window. | My desk is by the door now.
n | Reply in bullet points. | Reply in full sentences instead.
n | My daughter can't swim. | My daughter learned to swim.
n | The speaker is Dr Ames. | The speaker is Dr Hall, Dr Ames is ill.
n | The server runs Ubuntu 20.04. | The server runs Ubuntu 22.04.
d | 我女儿对花生过敏。 | 我女儿喜欢吃草莓。
d | 我爸血压高。 | 我妈血糖高。
d | 我在成都出差。 | 我家在成都。
d | 上海分公司有30人。 | 北京分公司有50人。
d | 我明天去医院。 | 我明天去银行。
d | 我会弹吉他。 | 我会打鼓。
d | 周一的会讲预算。 | 周二的会讲招聘。
d | 我喜欢小王做的方案。 | 我不喜欢小李做的方案。
d | 我大学学的是物理。 | 我现在做软件。
d | 红色按钮是停止。 | 绿色按钮是启动。
d | 去程航班是上午九点。 | 回程航班是晚上八点。
d | 我的房间朝南。 | 我的房间有阳台。
d | The morning class has 12 students. | The evening class has 20 students.
d | My boss likes tea. | My boss likes golf.
d | I met Jo in Rome. | I met Kim in Milan.
d | I read Dune last month. | I read Emma last month.
d | The cat sleeps on the sofa. | The dog sleeps in the kitchen.
d | My left knee hurts. | My right shoulder hurts.
d | I had pasta for lunch. | I had soup for dinner.
d | Anna is allergic to nuts. | Anna is afraid of spiders.
d | The old office was in Kent. | The new office is in Essex.
d | We use Redis for caching. | We use RabbitMQ for queues.
d | The iOS app has 4 stars. | The Android app has 3 stars.
d | My passport expires in 2027. | My visa expires in 2026.
d | I hope to visit Peru. | I visited Chile.
d | Tom handles billing. | Tom handles support.
d | My cousin is a chef. | My cousin lives in Hull.
d | I collect vinyl records. | I collect old maps.
d | The first draft is short. | The second draft is long.
s | 我平时戴眼镜，近视四百度。 | 我近视400度，平时戴眼镜。
s | 麻烦以后都用简体字回复。 | 请一律用简体中文回复我。
s | 我们店周一休息。 | 我们店每周一不营业。
s | 我大学读的是机械专业。 | 我本科学的机械。
s | 这张表每天早上七点更新。 | 每天7:00这张表会更新。
s | 我奶奶住在我叔叔家。 | 我奶奶跟我叔叔一起住。
s | 我每个月给父母打两千块。 | 我每月给爸妈转2000元。
s | 我的咖啡不放糖。 | 我喝咖啡不加糖。
s | 我对象是个护士。 | 我另一半的职业是护士。
s | 我家楼下有个菜市场。 | 楼下就是菜市场。
s | 用户讨厌长邮件。 | 用户不喜欢很长的邮件。
s | 张伟是我们的产品经理。 | 我们的产品经理叫张伟。
s | 会议室最多坐十二个人。 | 会议室的上限是12人。
s | 我在减肥，晚上不吃主食。 | 我晚上不吃主食，因为在减肥。
s | 我没去过欧洲。 | 欧洲我还没去过。
s | 我的生日在农历八月初三。 | 我农历生日是八月初三。
s | I'm 180 cm tall. | I'm 1.8 metres tall.
s | My phone number ends in 4402. | The last four digits of my phone number are 4402.
s | I usually skip breakfast. | I generally don't eat breakfast.
s | The team retro happens every second Friday. | Every other Friday we hold the team retro.
s | Emails should be signed "Best, Jo". | Sign my emails "Best, Jo".
s | My partner and I have been together for six years. | I've been with my partner for 6 years.
s | We bill clients quarterly. | Clients are billed every three months.
s | I speak fluent Portuguese. | I am fluent in Portuguese.
s | My car does 40 miles per gallon. | My car gets 40 mpg.
s | The museum is closed on Mondays. | On Mondays the museum is shut.
s | I have a peanut allergy. | I'm allergic to peanuts.
s | My grandfather was a miner. | My grandad worked as a miner.
s | I like my steak rare. | I prefer my steak rare.
s | The staging URL is https://stage.example. | https://stage.example is the staging URL.
s | Our router is in the hallway cupboard. | The router sits in the cupboard in the hall.
s | I'm afraid of flying. | Flying scares me.
s | My son was born on 2 February 2019. | My son's date of birth is 2019-02-02.
s | I run three times a week. | I go running 3 times each week.
s | 我用的是 MacBook Pro。 | My laptop is a MacBook Pro.
s | The project is called Bluefin. | 项目名叫 Bluefin。
n | 我在一家律所实习。 | 我在律所转正了。
n | 我每天喝两杯咖啡。 | 医生让我戒咖啡，我现在不喝了。
n | 我家住六楼。 | 我家搬到二楼了。
n | 我的英语是四级水平。 | 我过了英语六级。
n | 服务器在香港。 | 服务器迁到新加坡了。
n | 我喜欢喝冰美式。 | 我现在只喝热的了。
n | 默认语言是中文。 | 默认语言改为英文。
n | 我女儿不会走路。 | 我女儿会走路了。
n | 我想养猫。 | 我养了一只橘猫。
n | 我跟房东签了一年合同。 | 我跟房东续签到了后年。
n | 我妈在住院。 | 我妈昨天出院了。
n | 客户要求月底交付。 | 客户要求改到下月中旬交付。
n | 我是左边那桌的组长。 | 我不当组长了。
n | 我的头像是一只狗。 | 我的头像换成猫了。
n | My commute is 50 minutes. | My commute is down to 20 minutes since I moved.
n | I eat everything. | I've gone vegan.
n | The release is planned for June. | The release slipped to July.
n | I haven't read Dune. | I finally read Dune.
n | My hair is long. | I cut my hair short.
n | We meet at the cafe. | From now on we meet at the library.
n | I have two sisters. | I have two sisters and a half-brother.
n | The API uses basic auth. | The API now uses OAuth.
n | I've never been to Asia. | I went to Vietnam in March.
n | My plan is the free tier. | I upgraded to the pro plan.
n | The project has no budget. | The project got a budget of 10k.
n | My boss works remotely. | My boss is back in the office full time.
n | I'm vegetarian. | I'm not vegetarian any more.
n | My mother drives a Ford. | My mother doesn't drive any more.
n | I prefer meetings in the morning. | I prefer meetings in the afternoon.
n | The password policy requires 8 characters. | The password policy requires 12 characters.
d | 我喜欢周杰伦的歌。 | 我喜欢看周星驰的电影。
d | 我叔叔开出租车。 | 我舅舅开饭店。
d | 我家有两个卫生间。 | 我家有三个卧室。
d | 春节我回老家。 | 国庆我去旅游。
d | 前端由小张做。 | 后端由小赵做。
d | 我小学在乡下读的。 | 我高中在县城读的。
d | 我早上跑步。 | 我晚上游泳。
d | 我欠小李五百块。 | 小李欠我三百块。
d | 他的电脑是联想的。 | 我的电脑是苹果的。
d | 我的护照放在抽屉里。 | 我的钥匙放在抽屉里。
d | 张工负责数据库。 | 张工负责网络。
d | 一班有四十人。 | 二班有四十二人。
d | 我昨天买了一双鞋。 | 我昨天买了一件外套。
d | 我读过《三体》。 | 我读过《流浪地球》。
d | 我对猫毛过敏。 | 我女儿对猫毛过敏。
d | 英语课在周二。 | 法语课在周四。
d | My eldest son is 12. | My youngest son is 7.
d | The red car is mine. | The blue car is my wife's.
d | I have an exam on Tuesday. | I have a date on Friday.
d | My grandmother on my dad's side lives in Cork. | My grandmother on my mum's side lives in Derry.
d | I like Thai food. | I like Greek food.
d | I ran the Berlin marathon. | I ran the Vienna marathon.
d | I have a degree in law. | I have a degree in music.
d | My Monday shift starts at 8. | My Friday shift starts at 12.
d | We hired a designer. | We hired an accountant.
d | Lisa is on the design team. | Mark is on the sales team.
d | I use Vim at home. | I use PyCharm at work.
d | The summer house is in Brittany. | Our flat is in Lille.
d | I gave Tom a book. | I gave Eva a scarf.
d | My brother is taller than me. | My brother is older than me.
d | The blue folder has contracts. | The green folder has invoices.
d | I sold my bike. | I sold my piano.
d | I lost my keys. | I lost my umbrella.
d | Ben moved to Spain. | Ann moved to Italy.
d | I cancelled Netflix. | I cancelled my gym membership.
d | 我中午吃了面。 | 我中午吃了饺子。
d | 我给我妈买了手机。 | 我给我爸买了手表。
d | 我的电脑是八核的。 | 我的电脑是黑色的。
d | 我是独生子。 | 我是左撇子。
d | 我们部门有个实习生叫小陈。 | 我们部门有个新人叫小吴。
d | 我老婆会开车。 | 我老婆会做饭。
d | 我的爱好是集邮。 | 我的爱好还有钓鱼。
d | 一楼是餐厅。 | 二楼是健身房。
d | 我上午有课。 | 我下午有会。
d | 我们和甲公司签了合同。 | 我们和乙公司签了合同。
d | 我对虾过敏。 | 我对桃子过敏。
d | 这个接口返回用户列表。 | 这个接口需要登录。
d | 我在学 Python。 | 我在学吉他。
d | 小明是我的大学同学。 | 小红是我的大学同学。
d | 我养的猫叫雪球。 | 我养的狗叫煤球。
d | 老家的房子租出去了。 | 城里的房子自己住。
d | 我订了周六的酒店。 | 我订了周日的餐厅。
d | 我妹在读高中。 | 我妹喜欢追星。
d | My desk is oak. | My desk is 140 cm wide.
d | I teach maths. | I teach physics to year nine.
d | I have a scar on my left hand. | I have a tattoo on my back.
d | The API has a rate limit. | The API has a sandbox.
d | I donate to Oxfam. | I donate to the Red Cross.
d | We ship to France. | We ship to Spain.
d | I follow Arsenal. | My wife follows Chelsea.
d | My aunt lives in Poland. | My aunt bakes wonderful cakes.
d | The car needs new tyres. | The car needs an oil change.
d | I wrote the login page. | I wrote the search page.
d | I work with Dana. | I work with Felix.
d | Our Paris office opens at 9. | Our Tokyo office opens at 10.
d | I read the news every morning. | I read novels at night.
d | My manager is on leave. | My manager likes short emails.
d | I own a house in Bath. | I own a boat.
d | The first meeting is at 9. | The second meeting is at 11.
d | Mia's birthday is 4 May. | Leo's birthday is 9 June.
d | I take vitamin D. | I take iron tablets.
d | My grandmother speaks Polish. | My grandmother plays bridge.
d | The tests run on every commit. | The linter runs on every commit.
d | I like the colour teal. | My car is teal.
d | I was in hospital in 2018. | I am in hospital for a check tomorrow.
s | 我有三个孩子。 | 我有仨孩子。
s | 我在准备雅思考试。 | 我正在备考雅思。
s | 请别在晚上九点以后打电话给我。 | 晚上9点后请不要给我打电话。
s | 项目用 MIT 许可证。 | 该项目采用 MIT 协议。
s | 我习惯用左手写字。 | 我写字用左手。
s | 我的工位靠窗。 | 我坐在窗边的工位。
s | 我妻子是四川人。 | 我太太来自四川。
s | 周末我会带孩子去公园。 | 我周末带孩子去公园玩。
s | 我们每两周发一次版。 | 发版周期是两周。
s | 我喝不惯牛奶。 | 我不爱喝牛奶。
s | I rent a two-bedroom flat. | My rented flat has two bedrooms.
s | I'm bad with names. | I'm not good at remembering names.
s | My parents are divorced. | My mum and dad are divorced.
s | I go swimming on Thursdays. | Thursdays are when I go swimming.
s | Keep answers under 200 words. | Answers should not exceed 200 words.
s | My wife and I met in college. | I met my wife at university.
s | The API key expires after 90 days. | API keys are valid for 90 days.
s | I hardly ever drink alcohol. | I rarely drink.
s | The tool supports Windows and Linux. | The tool works on Linux and Windows.
s | He is my cousin Marek. | Marek is my cousin.
n | 我在找工作。 | 我找到工作了，在一家券商。
n | 我跟室友合租。 | 我现在一个人住了。
n | 门禁密码是2580。 | 门禁密码改为1470。
n | 项目还没立项。 | 项目已经立项了。
n | 我爸抽烟。 | 我爸把烟戒了。
n | 我每周三值班。 | 我改成每周五值班。
n | 我的手表是机械表。 | 我换了块智能手表。
n | 会员还没到期。 | 会员已经过期了。
n | 我怕狗。 | 我现在不怕狗了。
n | 我们支持微信登录。 | 我们取消了微信登录。
n | My flatmate is Rosa. | Rosa moved out and my flatmate is Ines now.
n | The lease ends in May. | The lease ends in August.
n | I use an Android phone. | I switched to an iPhone.
n | My baby isn't sleeping through the night. | My baby sleeps through the night now.
n | I'm on antibiotics. | I finished my antibiotics.
n | The launch date is 3 March. | The launch date is 10 March.
n | The kids go to Elm School. | The kids changed to Oak School.
n | I have braces. | I got my braces off.
n | The bridge is closed. | The bridge has reopened.
n | Our budget is 5k. | Our budget is 8k.
"""


def _rows() -> list[dict[str, str]]:
    labels = {"s": "same", "n": "newer", "d": "different"}
    rows = []
    for line in PAIRS.strip().splitlines():
        label, first, second = (part.strip() for part in line.split(" | "))
        rows.append({"label": labels[label], "first": first, "second": second})
    return rows


def test_little_is_lost_or_wrongly_retired_and_most_is_right() -> None:
    figures = score(_rows())["by"]["all"]
    assert figures["lost"] <= 0.01
    assert figures["wrongly_retired"] <= 0.03
    assert figures["accuracy"] >= 0.8
    same = figures["confusion"]["same"]
    assert same["same"] >= 0.65 * sum(same.values())
