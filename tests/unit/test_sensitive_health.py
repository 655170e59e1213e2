"""Is a diagnosis, a test result or a treatment of a person told from talk about health?"""

from __future__ import annotations

import pytest

from mnemic.longterm.sensitive import find_sensitive

DIAGNOSED = """
我舅舅上周查出肝癌，还没告诉他
复查的结果是胃窦部高级别上皮内瘤变
医生判断我是产后抑郁
她从小有先天性耳聋，要戴助听器
老伴得的是肺腺癌
小宝是过敏性紫癜，住院一星期了
我对象有强直性脊柱炎，天冷就难受
我爷爷患老年痴呆已经六年
我因为重度焦虑休学了半年
我室友有惊恐发作的毛病，别吓他
他是血友病患者，不能磕碰
姐姐的红斑狼疮又复发了
我三叔食管癌晚期，时间不多了
我膝盖半月板撕裂，三月做的手术
我外婆青光眼，左眼基本看不见
我带状疱疹后神经痛，夜里睡不着
他前年得过脑梗，右手不灵活
我是地中海贫血携带者
我甲亢好几年了，一直在吃甲巯咪唑
老公说自己有痛风，不吃海鲜
我弟有阿斯伯格，跟他说话要直接
丈母娘帕金森三期
我闺女是早产儿视网膜病变
本人患有癫痫，不能开车
我得了甲流，请三天假
我爸糖尿病二十多年，足部溃烂
妹妹被判定为双相二型
我男友感染了梅毒，正在打青霉素
大夫讲这是类风湿性关节炎
外公肺上长了个恶性肿瘤
我HIV阳性，别告诉公司
""".strip().splitlines()

REPORTED = """
门诊病历：慢性肾小球肾炎
B超单子：右侧卵巢囊肿 4.2cm
出院诊断 急性心肌梗死
肠镜下看到多发息肉，病理是管状腺瘤
CT 显示左肺下叶磨玻璃结节 8mm
心电图报告：房颤
骨密度报告写的是重度骨质疏松
钼靶结果 BI-RADS 4B
甲状腺彩超 TI-RADS 5 类
宫颈 TCT 提示 HSIL，要做阴道镜
病假条上写的是抑郁状态
核磁报告：脑垂体微腺瘤
体检单上说我有脂肪肝
基因检测报告说我带 BRCA1 突变
羊水穿刺查出 21 三体
NT 值 3.8，医生建议做羊穿
乙肝两对半结果出来是小三阳
孩子的结核菌素试验强阳性
我验出来衣原体阳性
艾滋试纸两条杠
胎儿四维彩超发现唇腭裂
冠脉造影结果是前降支狭窄 80%
肺功能提示中度阻塞性通气障碍
""".strip().splitlines()

MEASURED = """
我空腹血糖 11.3
今早血压 168/105，头晕
尿酸五百八十多，脚趾疼，尿酸 586
我的促甲状腺激素是 9.7
爸爸肌酐升到了 312
PSA 12.4，泌尿科让穿刺
CA125 高达 210
化验单上转氨酶 180
我妈低密度脂蛋白 4.9
我 PHQ-9 得了 21 分
孩子的血铅 180 微克每升
CD4 计数只有 240
癌胚抗原偏高，要再查
我的血糖又超标了
HCG 翻倍不好，HCG 只有 320
病毒载量 4500 拷贝
AMH 0.6，医生说卵巢早衰
智商测评结果 62
""".strip().splitlines()

TREATED = """
我爸刚做完心脏搭桥
妈妈在做第三次化疗
我每周二四六去透析
他装了心脏起搏器
我姨乳房全切了，现在吃来曲唑
长期服用华法林，别推荐西柚
她每天吃帕罗西汀两片
医生给我加了碳酸锂
在打阿达木单抗，三周一针
奶奶一直靠胰岛素控制
我戒断安定失败了，又吃回氯硝西泮
现在每晚吃半片喹硫平才能睡
我上个月做了人流
舅妈做过肾移植，要吃抗排异药
他因为精神分裂住过院
我有精神残疾二级证
""".strip().splitlines()

ENGLISH = """
The scan showed a tumor in my left kidney
The doctor says I have rheumatoid arthritis
My husband is in remission from lymphoma
I'm HIV positive and on treatment
My nephew is on the autism spectrum
I take lithium for my bipolar disorder
She had a miscarriage in April
My grandmother's Alzheimer's is getting worse
My ferritin came back at 6 ng/mL
I've been in dialysis since May
My father's PSA is 14.2
Biopsy results: invasive ductal carcinoma
I'm undergoing chemo for colon cancer
""".strip().splitlines()

TOPICS = """
肿瘤医院门口不好停车
我在骨科轮转，下个月去急诊
糖尿病足的护理培训定在周五
我们公司做乙肝快检试剂
同学在写抑郁症主题的纪录片
他的博士课题是肺癌早筛模型
这部剧的女主角得了白血病
怎么预防骨质疏松？
下周去体检，要空腹
预约了口腔科拔智齿
保险条款里重疾包括恶性肿瘤
癫痫患者能不能考驾照？
医院的挂号系统又崩了
数据库的健康检查失败了
这台机器诊断出硬盘坏道
慢查询的诊断报告已经发群里
代码里查出三个内存泄漏
单元测试结果：12 个失败
灰度发布以后发现有两个接口超时
检查结果显示磁盘占用 93%
系统感染了勒索病毒
高血压的人少吃盐
血糖仪换电池，型号 CR2032
血压计在京东卖 199 元
我想学中医把脉
护士节快乐
心理咨询师证书怎么考
他是个急性子
我有点强迫症，桌面必须整齐
懒癌又犯了
选择困难症，帮我选
孩子打了流感疫苗
医保报销比例是多少
药店的感冒灵打折
世界艾滋病日海报
抗癌药进医保谈判的新闻
我是医药代表，卖胰岛素的
小区要建精神卫生中心
她研究阿尔茨海默的发病机制
体检中心的停车费 10 块
请假去医院陪床
我妈退休前是放射科技师
阳性样本的召回率 0.92
回归测试全部通过
这个疗程的课一共 8 节
牙有点酸，喝冰水才疼
昨天没睡好，头疼
""".strip().splitlines()

TOPICS_EN = """
I'm reading a book about cancer research
The clinic opens at nine
Our app tracks blood pressure readings
The diagnostics report shows high CPU usage
The test came back green after the fix
She is a diabetes educator
What are the symptoms of lupus?
My team is organizing a breast cancer run
The patient portal needs a redesign
How is Parkinson's diagnosed?
I had a dentist appointment today
The virus scanner found nothing
""".strip().splitlines()


@pytest.mark.parametrize("text", DIAGNOSED + REPORTED + MEASURED + TREATED + ENGLISH)
def test_what_a_person_has_is_medical(text: str) -> None:
    assert "medical" in {finding.category for finding in find_sensitive(text)}


@pytest.mark.parametrize("text", TOPICS + TOPICS_EN)
def test_talk_about_health_passes(text: str) -> None:
    assert find_sensitive(text) == ()
