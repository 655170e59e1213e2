"""How does the judge do on a mixed set of everyday pairs, most of them about people?"""

from __future__ import annotations

from mnemic.evaluation.judge import score

# label (same, newer, different) | stored | arriving later
PAIRS = """
s | 我们团队每周五下午四点做代码走查。 | 代码走查固定在周五16:00。
s | 我对青霉素过敏，去医院要提前说。 | 去医院要提前说明：我青霉素过敏。
s | 这个仓库一共有一千两百箱货。 | 仓库共存货1200箱。
s | 我老家在湖南，现在在深圳打工。 | 我是湖南人，在深圳工作。
s | 我儿子在读高二。 | 我儿子现在上高中二年级。
s | 我每晚十一点左右睡觉。 | 我一般晚上11点睡。
s | 我家的猫叫豆豆，今年三岁。 | 我养了只三岁的猫，名字叫豆豆。
s | 我爱人在银行上班。 | 我老婆的工作单位是银行。
s | 别给我推荐恐怖片。 | 恐怖片就不要推荐给我了。
s | 服务器内存是64G。 | 服务器有64GB内存。
s | 项目代号叫“北斗”。 | 这个项目的代号是北斗。
s | 我开车上班大概要四十分钟。 | 我自驾通勤约40分钟。
s | 我有轻微的色弱。 | 我有点色弱。
s | 報銷單要在每月五號之前提交。 | 报销单每月5号前要交。
s | 我妈喜欢跳广场舞。 | 我母亲爱跳广场舞。
s | 客服电话是工作日九点到六点。 | 客服热线周一至周五9:00-18:00。
s | 我平时用的编辑器是 VS Code。 | 我写代码用 VS Code。
s | 我从不喝含糖饮料。 | 含糖的饮料我从来都不喝。
s | 数据库每天凌晨两点备份。 | 每天2:00自动备份数据库。
s | 我弟弟去年考上了公务员。 | 去年我弟考上公务员了。
s | 请称呼我老周。 | 叫我老周就行。
s | 我已经戒烟五年了。 | 我戒烟有5年了。
s | 我跟太太结婚十周年了。 | 我和老婆结婚10年了。
s | 房子是三室一厅，九十平。 | 我家九十平方米，三室一厅。
s | 我膝盖受过伤，不能跑步。 | 因为膝盖有伤，我跑不了步。
s | The backup job starts at 2 am every night. | Every night at 02:00 the backup job kicks off.
s | I take two sugars in my tea. | I have my tea with 2 sugars.
s | My daughter is in third grade. | My daughter is a third grader.
s | I've been a vegetarian for ten years. | It's been 10 years since I went vegetarian.
s | We keep the source code on GitLab. | Our code lives in GitLab.
s | My office is on the ninth floor. | I work on the 9th floor.
s | The staging database is wiped every Sunday. | Each Sunday we wipe the staging database.
s | I can't drive. | I don't know how to drive.
s | My husband works nights as a nurse. | My husband is a nurse on the night shift.
s | I'm left-handed. | I write with my left hand.
s | The invoice total is £1,250. | The total on the invoice is 1250 pounds.
s | Ben is responsible for the deployment pipeline. | The deployment pipeline is Ben's responsibility.
s | I find open-plan offices distracting. | Open-plan offices distract me.
s | My dog is a three-year-old beagle named Max. | I have a beagle named Max who is three.
s | I grew up in Dundee. | Dundee is where I grew up.
s | My sister has twins. | My sister is a mother of twins.
s | Don't call me before 9 in the morning. | Please never ring me before 9 am.
s | The warranty lasts 24 months. | There is a two-year warranty.
s | Our flat has no lift. | There isn't a lift in our building.
s | My mum turns 60 in October. | My mother will be sixty this October.
s | Lunch is at half past twelve. | We eat lunch at 12:30.
s | I really dislike small talk. | I hate small talk.
s | The parcel weighs 1.5 kg. | The parcel is 1500 grams.
s | I use a standing desk at work. | At work I have a standing desk.
s | Our team uses Jira to track tasks. | We track our tasks in Jira.
s | I'm learning Spanish and I have a class on Tuesdays. | I have a Spanish class every Tuesday.
s | 我在学西班牙语。 | I'm learning Spanish.
s | My brother lives in Canada. | 我哥住在加拿大。
s | 我们的部署用 Docker。 | We deploy with Docker.
n | 我在学车。 | 我已经拿到驾照了。
n | 客厅的灯是暖光。 | 客厅的灯换成冷光的了。
n | 我们公司有80人。 | 我们公司现在有120人。
n | 我每周健身两次。 | 我现在每周健身四次。
n | 我用的是 iPhone 12。 | 我换了 iPhone 15。
n | 我男朋友叫李明。 | 我和李明分手了。
n | 我爸还在上班。 | 我爸上个月退休了。
n | 发布会定在六月三号。 | 发布会推迟到六月十号。
n | 我一直很喜欢吃榴莲。 | 我现在闻到榴莲就恶心。
n | 我的航班是CA1234。 | 我的航班改签成CA5678了。
n | 我住在学校宿舍。 | 我搬出宿舍，在外面租房了。
n | 我准备考研。 | 我决定不考研了，直接工作。
n | 默认分支是 master。 | 默认分支改成 main 了。
n | 我老婆怀孕了。 | 我老婆生了，是个女儿。
n | 我的车是白色的。 | 我把车改成了黑色。
n | 会员费每年三百。 | 会员费涨到每年四百。
n | 团队用 Jira 管理任务。 | 团队从 Jira 迁到了飞书。
n | 我姐还没结婚。 | 我姐上周领证了。
n | 项目经理是王磊。 | 项目经理换人了，现在是赵敏。
n | 我吃素。 | 我恢复吃肉了。
n | 周末我要加班。 | 周末不用加班了。
n | My car is in the garage for repairs. | My car is fixed and back home.
n | I drive a Honda. | I traded the Honda in for a Volvo.
n | My rent is 900 pounds a month. | My rent went up to 950 pounds.
n | The login bug is still open. | The login bug was fixed yesterday.
n | My sister is engaged. | My sister got married on Saturday.
n | I'm training for a half marathon in May. | I finished the half marathon last weekend.
n | We have daily standups. | We only do standups twice a week now.
n | My doctor is Dr Patel. | I've changed doctors; it's Dr Nguyen now.
n | I have a beard. | I shaved my beard off.
n | I drink three cups of coffee a day. | I'm down to one coffee a day.
n | The office is in Reading. | The office has moved to Slough.
n | My son is afraid of dogs. | My son isn't afraid of dogs any more.
n | I'm a student at Leeds. | I graduated from Leeds in June.
n | My email is anna@old.example | My email is anna@new.example
n | I like working from home. | I prefer working in the office these days.
n | The team lead is Omar. | Omar left, and Lena leads the team.
n | I'm planning to buy an electric car. | I bought an electric car.
n | We support Python 3.9. | We dropped Python 3.9.
n | The shop opens at 8. | The shop opens at 9 from next week.
n | I don't eat fish. | I've started eating fish.
n | My wifi password is sunflower. | I changed the wifi password to bluebird.
n | The API limit is 100 requests per minute. | The API limit was doubled to 200 requests per minute.
n | My grandma is in hospital. | My grandma came home from hospital.
n | Our mascot is a fox. | Our mascot is an owl.
n | I go to the gym in the evening. | I go to the gym in the morning now.
d | 我喜欢吃饺子。 | 我也爱吃馄饨。
d | 我妈住在老家。 | 我住在杭州。
d | 我周一去健身房。 | 我周三上瑜伽课。
d | 订单服务用 Java 写的。 | 支付服务用 Go 写的。
d | 我上周感冒了。 | 我上周丢了钱包。
d | 卧室的窗帘是蓝色的。 | 卧室的地毯是灰色的。
d | 我去过日本。 | 我去过泰国。
d | 我的主治医生姓陈。 | 我的律师姓程。
d | 我有一台 MacBook。 | 我有一台 Switch。
d | 我2019年在华为实习。 | 我现在在腾讯工作。
d | 我打算明年去云南。 | 我今年去了青海。
d | 我的工资是两万。 | 我的房租是五千。
d | 大会议室能坐二十人。 | 小会议室能坐六人。
d | 我儿子喜欢恐龙。 | 我女儿喜欢芭蕾。
d | 英语我会说。 | 日语我也会一点。
d | 我表哥在上海。 | 我堂哥在北京。
d | I have a brother in Oslo. | I have a sister in Bergen.
d | The kitchen is being painted. | The bathroom is being tiled.
d | My first car was a Mini. | My current car is a Skoda.
d | I'm allergic to cats. | I'm allergic to penicillin.
d | The API is written in Go. | The web client is written in TypeScript.
d | I have a meeting with Sara on Monday. | I have a meeting with Tom on Monday.
d | My dad is a pilot. | My mum is a lawyer.
d | Our release is monthly. | Our retro is fortnightly.
d | I like hiking. | I like sailing.
d | Project Ibis is behind schedule. | Project Kestrel is on schedule.
d | I lived in Cairo until 2015. | I live in Bath.
d | I play the piano. | My son plays the trumpet.
d | The front tyre is flat. | The back tyre is fine.
d | I want to learn the drums. | I play the guitar.
d | I bought a tent. | I bought a sleeping bag.
d | My flight out is on Friday. | My flight back is on Sunday.
d | The red team has 8 people. | The blue team has 6 people.
d | My cat hates the vet. | My cat loves tuna.
d | I prefer aisle seats on planes. | I prefer window tables in restaurants.
d | The test server has 8 GB. | The production server has 64 GB.
d | 我女儿在学芭蕾。 | 我女儿在学画画。
d | 我爸是退伍军人。 | 我爸喜欢喝茶。
d | 我住的小区有游泳池。 | 我住的小区在地铁口。
d | 我上个月去了西安。 | 我上个月买了新车。
d | 我和小刘同一年入职。 | 我和小刘同一天生日。
d | 主库在上海机房。 | 备库在杭州机房。
d | 我中午一般吃食堂。 | 我晚上一般自己做饭。
d | 这个按钮是蓝色的。 | 这个按钮在右上角。
d | 我们每周一开例会。 | 我们每周五团建。
d | 我弟比我小三岁。 | 我姐比我大五岁。
d | 我的手机是安卓的。 | 我的平板是苹果的。
d | 张老师教语文。 | 李老师教数学。
d | 我买了去广州的票。 | 我买了回上海的票。
d | 我希望回复简短。 | 我希望代码带注释。
d | 客厅朝南。 | 卧室朝北。
d | 我参加了合唱团。 | 我参加了读书会。
d | 我十岁学会了骑车。 | 我二十岁学会了开车。
d | I bake bread on Sundays. | I bake cookies on Fridays.
d | My tutor is French. | My dentist is Greek.
d | The API key is stored in Vault. | The API key rotates monthly.
d | I lent Sam 50 pounds. | Sam lent me 30 pounds.
d | I flew to Oslo in May. | I flew to Turin in June.
d | Ana runs marketing. | Raj runs finance.
d | The upstairs bathroom leaks. | The downstairs bathroom is fine.
d | I study at night. | I work in the morning.
d | My niece is five. | My nephew is eight.
d | We sponsor a football club. | We sponsor a chess club.
d | I owe Dan 20 dollars. | I owe Kim 35 dollars.
d | My printer is out of ink. | My printer is on the second floor.
d | I avoid dairy. | I avoid gluten.
d | Search uses Elasticsearch. | Billing uses Postgres.
d | I had covid in 2021. | I had the flu in 2023.
d | The invoice from Acme is paid. | The invoice from Zeta is overdue.
d | My dad was born in Lagos. | My mum was born in Accra.
d | I subscribe to The Times. | I subscribe to Wired.
s | 我在一家外企做人力资源。 | 我是外企的HR。
s | 我不太会喝酒。 | 我酒量不好。
s | 我们公司实行弹性工作制。 | 公司是弹性上班。
s | 我家在五楼，没有电梯。 | 我住五楼，楼里没电梯。
s | 我的航班晚上八点二十起飞。 | 我坐20:20的飞机走。
s | 我丈夫对牛奶过敏。 | 我老公牛奶过敏。
s | 数据每小时同步一次。 | 每个小时同步一次数据。
s | 我总是忘记带钥匙。 | 我老忘带钥匙。
s | 我不看电视剧。 | 电视剧我不看。
s | 提醒我每天吃药。 | 每天提醒我吃药。
s | I can't swim. | I am unable to swim.
s | The gate code is 4417. | 4417 is the gate code.
s | My team is based in Lisbon. | My team sits in Lisbon.
s | I need subtitles when I watch films. | When watching films I need subtitles.
s | My mother-in-law is visiting in July. | My wife's mother is visiting in July.
s | We pay salaries on the last day of the month. | Salaries are paid on the last day of each month.
s | I quit smoking 5 years ago. | I stopped smoking five years ago.
s | My dog doesn't like strangers. | My dog dislikes strangers.
s | I'm studying for the bar exam. | I am preparing for the bar exam.
s | Standup is at a quarter past nine. | Standup is at 9:15.
n | 我用的是免费版。 | 我升级成付费版了。
n | 我周末带娃上早教。 | 我周末不带娃上早教了。
n | 合同明年到期。 | 合同续签了三年。
n | 我一顿吃两碗饭。 | 我现在一顿只吃半碗饭。
n | 公司地址在南山。 | 公司搬去福田了。
n | 我没买保险。 | 我上周买了保险。
n | 我儿子考第十名。 | 我儿子考到第三名了。
n | 我们用微信群沟通。 | 我们改用钉钉群沟通了。
n | 我胃不好。 | 我的胃好了。
n | 投影仪坏了。 | 投影仪修好了。
n | My visa is pending. | My visa was approved.
n | I take the stairs. | I take the lift since my knee surgery.
n | The tour has 12 stops. | The tour has 14 stops.
n | I have a perm. | I no longer have a perm.
n | My godson is in primary school. | My godson started secondary school.
n | We use tabs. | We use spaces.
n | My Spanish is basic. | My Spanish is fluent now.
n | The deposit is 300. | The deposit was raised to 400.
n | I live with my parents. | I moved out of my parents' house.
n | Our mascot is called Pip. | Our mascot is called Zip.
s | 我跟我弟都在南方工作。 | 我和弟弟都在南方上班。
s | 我对声音很敏感，睡觉要戴耳塞。 | 我睡觉得戴耳塞，因为对声音敏感。
s | 我们的客户主要是中小企业。 | 中小企业是我们的主要客户。
s | 我儿子身高一米三。 | 我儿子130厘米高。
s | 日报每天下班前发。 | 每天下班之前发日报。
s | 我没有兄弟姐妹。 | 我是独生子女。
s | 我的车牌尾号是7。 | 我车尾号为7。
s | 我每天早上喝一杯黑咖啡。 | 我早上都喝一杯美式。
s | 我喜歡在圖書館看書。 | 我喜欢在图书馆看书。
s | 数据库连接数上限是一百。 | 数据库最大连接数为100。
s | 我家狗狗叫可乐。 | 我的狗叫可乐。
s | 上线前必须跑回归测试。 | 上线之前一定要跑回归测试。
s | 我属猴。 | 我的生肖是猴。
s | 我一般不接陌生电话。 | 陌生电话我一般不接。
s | I usually work from a cafe on Fridays. | On Fridays I usually work from a coffee shop.
s | My father passed away in 2015. | My dad died in 2015.
s | Our staging server is called Juno. | The name of our staging server is Juno.
s | I can't eat gluten. | I have to avoid gluten.
s | I start work at half past eight. | My workday starts at 8:30.
s | The app is available in English and German. | The app comes in German and English.
s | I never answer calls after 8 pm. | I don't pick up the phone after 20:00.
s | My apartment is on the third floor. | I live on the 3rd floor.
s | Please adress me as Dr Lund. | Please address me as Dr Lund.
s | We deploy twice a day. | There are two deployments per day.
s | My brother is a firefighter in Cork. | My brother works as a fireman.
s | I have no pets. | I don't have any pets.
s | The budget is 2.5 million dollars. | The budget is $2,500,000.
s | 我每周三晚上打羽毛球。 | I play badminton every Wednesday evening.
s | My favourite fruit is mango. | 我最喜欢的水果是芒果。
n | 我在读研究生。 | 我研究生毕业了。
n | 我的微信名是小鱼。 | 我的微信名改成大鱼了。
n | 我家有两口人。 | 我家现在有三口人。
n | 我不吃香菜。 | 我现在能吃香菜了。
n | 客服时间是9点到18点。 | 客服时间是9点到21点。
n | 我周末想去爬山。 | 我周末去爬了山。
n | 项目用 Vue 2。 | 项目升级到 Vue 3 了。
n | 我老婆在家带孩子。 | 我老婆回去上班了。
n | 我的腿骨折了。 | 我的腿好了。
n | 我养了一只仓鼠。 | 我的仓鼠上周死了。
n | 路由器密码没改过。 | 路由器密码改过了。
n | 产品定价99元。 | 产品定价129元。
n | 我们组的测试是小何。 | 小何离职了，测试换成小许。
n | My dentist appointment is on Tuesday. | My dentist appointment was moved to Thursday.
n | I'm a night owl. | I've become an early bird.
n | The company has 40 employees. | The company has 55 employees.
n | I have one child. | I have two children now.
n | My favourite author is Le Guin. | My favourite author is Pratchett.
n | I commute by train. | I cycle to work these days.
n | I live with two flatmates. | I live alone now.
n | The feature is behind a flag. | The feature flag was removed.
n | My dog is healthy. | My dog is ill.
n | We haven't chosen a name yet. | We chose the name Aster.
n | My flight is at 10:40. | My flight is at 11:15.
n | I'm writing a novel. | I finished the novel.
n | The bakery is open on Sundays. | The bakery is closed on Sundays.
n | The car insurance costs 600 euros. | The car insurance costs 720 euros.
n | I want a promotion. | I got promoted.
d | 我妈血型是A型。 | 我爸血型是B型。
d | 我们用 Redis 做缓存。 | 我们用 Kafka 做消息队列。
d | 我高中同桌叫李娜。 | 我大学室友叫王倩。
d | 我六点去接孩子。 | 我八点开电话会。
d | 我喜欢红茶。 | 我喜欢绿茶。
d | 我在杭州买了房。 | 我在杭州买了车。
d | 小张会西班牙语。 | 小张会开车。
d | 北门八点开。 | 南门九点开。
d | 我哥比我高。 | 我哥比我胖。
d | 我计划学潜水。 | 我在学滑雪。
d | 开发环境用SQLite。 | 生产环境用Postgres。
d | 这个月我看了三本书。 | 这个月我看了两部电影。
d | 我姥姥是山东人。 | 我爷爷是河北人。
d | 我的眼镜是黑框的。 | 我的眼镜度数是300度。
d | My sister plays the cello. | My sister plays tennis.
d | The kitchen tap drips. | The bathroom tap drips.
d | I like dogs. | I have a parrot.
d | My car has 5 doors. | My car is a hybrid.
d | We test with pytest. | We lint with ruff.
d | I speak to my mum on Sundays. | I speak to my dad on Mondays.
d | The London team uses Slack. | The Madrid team uses Teams.
d | I had a meeting with HR today. | I have a meeting with finance tomorrow.
d | I was a waiter in college. | I am an architect.
d | My laptop is silver. | My laptop has 32 GB of memory.
d | I returned the blue shirt. | I kept the red shirt.
d | Tina is my sister. | Tina lives in Ghent.
d | I grow tomatoes. | I grow basil.
d | We have an office in Rome. | We have an office in Athens.
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
