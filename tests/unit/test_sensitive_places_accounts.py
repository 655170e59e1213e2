"""Are exact positions, bank accounts and body data found beside numbers that only resemble them?

A tilde keeps long numbers apart in this file; it is taken out before the test.
"""

from __future__ import annotations

import pytest

from mnemic.longterm.sensitive import find_sensitive

HEX = "5ad0c17e9b42" * 6

PLACES = """
我爸妈家：39.991207,116.330415
奶奶家 lat=30.6571 lng=104.0665
home_lon=113.26436 home_lat=23.12911
WORK_LATITUDE=31.197646, WORK_LONGITUDE=121.437230
出租屋在 (30.274085, 120.155070) 旁边
接我的地方 22.54312 114.05786
发你我现在的点 34.265472/108.954239
东经一百二十一度二十八分十二秒，北纬三十一度十三分四十八秒
北纬三十点二七四零八五度，东经一百二十点一五五零七度
纬度三零点二七四零八五，经度一二零点一五五零七零
30°16'27"N 120°9'18"E 是我家阳台
北纬30度16分27秒 东经120度9分18秒
北纬 30°16.451′，东经 120°09.304′
N30.27408, E120.15507 这栋楼
30.27408N 120.15507E 我租在这
https://www.google.com/maps/@31.2304161,121.4737012,17z 我在这
https://www.google.com/maps/place/x/data=!3d31.2304161!4d121.4737012
https://maps.apple.com/?ll=31.23041,121.47370
https://api.map.baidu.com/marker?location=39.916979,116.410452&title=家
https://apis.map.qq.com/uri/v1/marker?marker=coord:39.89763,116.41283
https://www.openstreetmap.org/?mlat=52.51628&mlon=13.37771#map=18
https://uri.amap.com/navigation?to=117.198231,39.121847,endpoint
geo:31.2304,121.4737;u=12
GPS: 31.23041/121.47370
{"x": 121.473701, "y": 31.230416, "label": "宿舍"}
{"coordinates": [121.473701, 31.230416]}
POINT(121.473701 31.230416)
我住的地方 plus code 是 8Q336FJC+2V
what3words 是 ///filled.count.soap
我家 geohash 是 wtw3sjq6q8d
集合点：31.230416，121.473701
My cabin is at 44.42805, -110.58847
We live at 51.50135 N, 0.14189 W
latitude 40.71278 and longitude -74.00594
""".strip().splitlines()

PLACES_CLEAN = """
我家在朝阳区望京，地铁 14 号线
故宫在北京市东城区景山前街4号
学校在北纬三十度附近
深圳大约北纬22.5度、东经114度
东经一百二十度是北京时间的基准
准确率 0.98765, 召回 0.91234
两次实验的误差是 12.34567 和 45.67891
loss 从 2.30259, 降到 1.09861
汇率 7.12345, 7.23456
圆周率约 3.14159，自然常数约 2.71828
屏幕坐标 (1024, 768)
坐标轴单位改成毫米
鼠标位置 x=120.5 y=33.2
椭圆中心在 (12.5, 30.25)
转弯角度 30 度 15 分
温度 36 度 5
版本 31.2304.1
机票 MU5137，周三飞成都
酒店在外滩，走路五分钟到
天府广场的经纬度你知道吗
地图链接打不开了
https://maps.apple.com/?q=天安门
c3d: 31.2304 ms
The model reached 92.12345, 93.54321 on two runs
""".strip().splitlines()

ACCOUNTS = (
    """
退休金发到邮储账号 60550~1012200345671
村镇银行账号 71035~0000987612 里还有钱
民生银行账户 6226 ~0011 2233 4455 66
货款打对公账号 1100 ~6089 7018 0100 3456 7
我的工行存折 12020~20209900012345
账号 3301 ~0401 6000 8888 123，开户行杭州银行
开户行：徽商银行，账号：10205~01021000123456
户名王五，账号 43674~20012345678901
60138~20800012345678 是我中行的账号
汇丰账户 808-123456-833，户名是我
公司一般户 57191~2345610301 在招行
把稿费打到账户 02000~04109200012345
保证金退回 33050~171800809000456（建行）
银行账号是 一二零二零二零二零九九零零零一二三四五
账号 622848-0012-3456-7891-23
IBAN: NL~91 ABNA 0417 1643 00
IBAN 是 ES~91 2100 ~0418 4502 0005 1332
my account number is 40817810099 at First National Bank
sort code 20-00-00 account 55779911
routing 021000021, checking account 9900123456
""".replace("~", "")
    .strip()
    .splitlines()
)

ACCOUNTS_CLEAN = """
商户号 1900012345，找财务要证书
保单号 6620230012345678，续保用
医保号 G3300112233 要激活
社保个人编号 3300112233
公积金账号 201033445566 查余额
燃气户号 9900123456
水费账号 2200113344
宽带账号 057112345678
会员号 8800112233
QQ 账号 1234567890
游戏账号 100200300400
拉卡拉商户号 8221000123
银行客服电话 95588
联行号 102331002027
网点在建设银行滨江支行，电话 0571-87654321
开户行名称和行号要填对
转账 50000 元到对公账户
账户余额 1234567.89
订单 202405201234567890 已退款到银行卡
快递单号 773012345678901
账号注销要七天
贷款合同号 3301202400123456
SWIFT 代码是 ICBKCNBJ
发票代码 033002100111，号码 12345678
""".strip().splitlines()

BODIES = [
    "我的指纹模板 " + HEX,
    "人脸向量：[0.121, -0.334, 0.556, 0.778, -0.912, 0.345]",
    "声纹特征值=" + HEX,
    "虹膜编码 " + HEX,
    "掌静脉模板（hex）" + HEX,
    "faceEmbedding: [0.12, -0.33, 0.55, 0.77, -0.91, 0.34, 0.2]",
    "步态特征 0.12, 0.33, -0.55, 0.77, -0.91, 0.34",
    "我的基因型 rs429358 (C;T)",
]

BODIES_CLEAN = [
    "指纹解锁不灵敏",
    "人脸识别门禁下周安装",
    "虹膜识别的论文综述",
    "SSH 主机指纹 " + HEX[:32],
    "证书指纹 " + HEX[:40],
    "声纹库升级到 2.3.1",
    "句向量：[0.121, -0.334, 0.556, 0.778, -0.912, 0.345]",
    "基因检测套餐 999 元",
]


def categories(text: str) -> set[str]:
    return {finding.category for finding in find_sensitive(text)}


@pytest.mark.parametrize("text", PLACES)
def test_an_exact_position_is_found(text: str) -> None:
    assert "exact_location" in categories(text)


@pytest.mark.parametrize("text", ACCOUNTS)
def test_an_account_number_is_found(text: str) -> None:
    assert categories(text) & {"bank_account", "payment_card"}


@pytest.mark.parametrize("text", BODIES)
def test_data_of_a_body_is_found(text: str) -> None:
    assert "biometric" in categories(text)


@pytest.mark.parametrize("text", PLACES_CLEAN + ACCOUNTS_CLEAN + BODIES_CLEAN)
def test_numbers_that_only_resemble_them_pass(text: str) -> None:
    assert find_sensitive(text) == ()
