"""Does the filter find what must not be stored, and leave everything else alone?"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.longterm.sensitive import CATEGORIES, DEFAULT_CATEGORIES, Finding, find_sensitive, mask
from mnemic.longterm.sensitive.checks import luhn

VISA = "4" + "1" * 15
GROUPS = " ".join(["4111", "1111", "1111", "1111"])


def with_luhn(digits: str) -> str:
    """Complete a card number, so that none is written down here."""
    return next(digits + last for last in "0123456789" if luhn(digits + last))


def resident_number(seventeen: str) -> str:
    """Complete a number of a Chinese identity card (GB 11643)."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(seventeen, weights, strict=True))
    return seventeen + "10X98765432"[total % 11]


ID = resident_number("320105" + "19080717" + "021")
UNIONPAY = with_luhn("62220211223344556" + "7")
HEX = "9f8b3c2d1e0f4a5b" + "6c7d8e9f0a1b2c3d"
RANDOM = "Zk29dLqXv7TnRwYc" + "8HsJf1Pg6Ua3EmB"


def categories(text: str) -> set[str]:
    return {finding.category for finding in find_sensitive(text)}


SENSITIVE = [
    ("password", "我的网银登录密码是Xy8823!kk"),
    ("password", "家里保险柜密码改成 19-07-33 了"),
    ("password", "支付密码设成了 780912"),
    ("password", "取款密码是三个七三个一"),
    ("password", "家门密码九五二七"),
    ("password", "提取码: x7k2"),
    ("password", "行李箱密码锁 307，记一下"),
    ("password", "单元门密码*4478#"),
    ("password", "一次性密码 OTP 602117"),
    ("password", "邮箱密码从 abc12345 换成了 Zed!8830x"),
    ("password", "把密码换成 Moon!light77 吧"),
    ("password", "默认密码是 Abc@1234"),
    ("password", "手机 SIM 卡 PIN 是 2580"),
    ("password", "My email password is Blue$Whale42"),
    ("password", "The garage code is 7291#"),
    ("password", "our alarm code: 4402"),
    ("password", "Use tiger77lily as the password for the NAS"),
    ("password", "Your verification code is 482913"),
    ("password", "postgres://app:" + "Zk29vvLq" + "@db.internal:5432/prod"),
    ("password", "DB_PASS=" + "Zx91mmq0 ./run.sh"),
    ("api_key", "微信支付 APIv3 密钥是 " + RANDOM),
    ("api_key", "高德 key 是 " + HEX),
    ("api_key", "飞书 app_secret: " + RANDOM),
    ("api_key", "OPENAI_API_KEY=" + "s" + "k-" + RANDOM),
    ("api_key", "The API key is 7d9f0c1e" + "2b3a4958"),
    ("token", "登录态 token=" + RANDOM),
    ("token", "访问令牌是 v2." + RANDOM),
    ("token", "sid=" + RANDOM + " 这个 cookie 别丢"),
    ("token", "Authorization: token " + HEX + "12345678"),
    ("payment_card", "农行卡" + with_luhn("622848001234567") + "，工资卡"),
    ("payment_card", f"还款卡号 {UNIONPAY[:4]} {UNIONPAY[4:8]} {UNIONPAY[8:]}"),
    ("payment_card", "绑定的是 " + with_luhn("521304568899123")),
    ("payment_card", "Amex " + with_luhn("37824631000" + "123")),
    ("payment_card", "４１１１１１１１１１１１１１１１"),
    ("payment_card", "四" + "一" * 15 + "是我的卡号"),
    ("payment_card", "CVV是737"),
    ("national_id", "我妈的身份证号码为" + ID + "请登记"),
    ("national_id", f"{ID[:6]}-{ID[6:14]}-{ID[14:]}"),
    ("national_id", f"身份证 {ID[:6]}·{ID[6:14]}·{ID[14:]}"),
    ("national_id", "他的护照号是E" + "12345678"),
    ("national_id", "My SSN is 219-09-" + "9998"),
    ("national_id", "My NHS number is 943 476 " + "5919"),
    ("bank_account", "IBAN GB82 WEST 1234 5698 7654 32"),
    ("bank_account", "汇款到中国银行账户 4563 5100 1234 567"),
    ("bank_account", "工商银行杭州分行 1202020209900012345 户名 李四"),
    ("bank_account", "bank account number 000123456789, routing 021000021"),
    ("biometric", "我的人脸 embedding：0.121, -0.334, 0.556, 0.778, -0.912, 0.345, 0.101"),
    ("biometric", "指静脉特征数据 " + HEX),
    ("biometric", "我的DNA序列 ACGTTGCAACGTAGCTAGCTAGGATCCA"),
    ("exact_location", "我家在 31.23041, 121.47370"),
    ("exact_location", "40°42'46\"N 74°00'21\"W is where I live"),
    ("exact_location", "经度是120.155070，纬度是30.274084"),
    ("exact_location", "家的 plus code 是 8Q336FJC+2V"),
    ("medical", "我去年确诊了甲状腺癌"),
    ("medical", "我有高血压，少放盐"),
    ("medical", "我妈得了阿尔茨海默病"),
    ("medical", "新冠检测阳性"),
    ("medical", "空腹血糖 8.9 mmol/L"),
    ("medical", "医生给我开了百忧解"),
    ("medical", "I was diagnosed with bipolar disorder in 2019"),
    ("medical", "My mom has stage 3 breast cancer"),
    ("medical", "The biopsy came back malignant"),
    ("medical", "My A1C is 8.2"),
    ("medical", "爷爷是尿毒症，每周透析"),
    ("medical", "胃镜结果：慢性萎缩性胃炎"),
    ("medical", "我被诊断患有创伤后应激障碍"),
    ("medical", "my sister has lupus"),
    ("medical", "I'm on antidepressants"),
    ("exact_location", "老家房子在 28.228209,112.938814"),
    ("bank_account", "退款打到我中行账号 4556" + "12345678"),
    ("password", "登录短信验证码为 551 028"),
    ("password", "the safe combination is 14-32-07"),
    ("biometric", "面部特征 [0.11, -0.22, 0.33, -0.44, 0.55, 0.66]"),
]


@pytest.mark.parametrize(("category", "text"), SENSITIVE)
def test_a_secret_in_its_many_forms_is_found(category: str, text: str) -> None:
    assert category in categories(text)


CLEAN = [
    "密码至少8位，包含大小写字母",
    "密码每 90 天要换一次",
    "密码输入错误 3 次会锁定",
    "密码用 bcrypt 加密存储",
    "验证码 60 秒后可以重发",
    "我喜欢用 1Password 管理密码",
    "We went passwordless login last year",
    "password must be at least 12 characters",
    "password = getpass.getpass()",
    'api_key = "YOUR_API_KEY"',
    'password="changeme"',
    "app.secret_key = 'supersecretkey'",
    'SECRET_KEY = os.getenv("SECRET_KEY")',
    "const password = req.body.password;",
    "postgresql://user:password@localhost:5432/mydb",
    "Authorization: Bearer <token>",
    "password=********",
    "max_tokens=4096, temperature=0.7",
    "sort(key=len)",
    "订单号 202406180012345678",
    "快递单号 YT8812345678901",
    "我的手机号是13912345678，有事打给我",
    "My phone is 415-555-0132",
    "时间戳 1718089263418",
    "ISBN 978-7-111-40701-0",
    "EAN 4006381333931",
    "版本 10.0.19045.3693",
    "统一社会信用代码 91330106MA2B1234XY",
    "会议号 842-123-456 开会",
    "**** **** **** 1234",
    "SIM 卡号 89860012345678901234",
    "会员卡号 6688 9900 1122 3344",
    "圆周率 3.1415926535897932",
    "电费户号3301000012347，交费的时候要填",
    "账户里有 250000 元",
    "我在三甲医院神经内科上班",
    "她在研究糖尿病的新药",
    "我对花生过敏",
    "我觉得抑郁症很可怕",
    "如果确诊癌症该怎么办",
    "崩溃日志的诊断结果：内存泄漏",
    "体检一切正常",
    "I'm allergic to peanuts",
    "I'm writing an article about diabetes",
    "The server was diagnosed with a memory leak",
    "He works at a cancer research center",
    "人脸识别准确率 99.2%",
    "浏览器指纹 " + HEX,
    "文本 embedding [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]",
    "上海在北纬31度",
    "均值 31.2304 和 121.4737",
    "我住在西湖区文三路 90 号",
    "zip code is 94105",
    "the secret to success is hard work",
    "优惠码 SUMMER2024",
    "ssh -p 2222 user@host.example",
    "PIN 12 接地",
    "身份验证失败，密码框不显示",
    "账号被封 7 天",
    "抽奖号码 12 34 56 78 90 11",
    "屏幕坐标 1024.5, 768.25",
    "糖尿病日宣传活动",
    "阳性样本占 30%",
    "My dad is an oncologist",
    "country code is +86",
]


@pytest.mark.parametrize("text", CLEAN)
def test_talk_that_only_resembles_a_secret_passes(text: str) -> None:
    assert find_sensitive(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "4111\u200b1111 1111 1111",
        "pass\u200dword: Qz7-lantern",
        "AK\ufeffIA" + "ZZ6HLSCYJO6N6M3N",
        "密\u200b码是Xy88\u206023!kk",
    ],
)
def test_pf_047_zero_width_inside_a_secret(text: str) -> None:
    hidden = "\u200b\u200d\ufeff\u2060"
    bare = "".join(char for char in text if char not in hidden)
    assert categories(text) == categories(bare) != set()


def test_pf_048_combining_mark_inside_a_card_number() -> None:
    assert categories("4\u0303" + VISA[1:]) == {"payment_card"}


@pytest.mark.parametrize("name", ["reset_token: ", "csrf_token=", "device_token = ", "token: "])
def test_pf_049_field_names_joined_by_underscores(name: str) -> None:
    assert categories(name + HEX) == {"token"}


@pytest.mark.parametrize(
    "secret",
    [
        "gh" + "p_" + RANDOM + "a1b2c",
        "xo" + "xb-123456789012-" + RANDOM[:24],
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    ],
)
def test_pf_050_source_hosting_tokens_without_a_keyword(secret: str) -> None:
    findings = find_sensitive("备忘 " + secret)
    assert findings
    assert secret not in repr(findings)


def test_pf_051_newer_card_ranges() -> None:
    assert categories("2221" + "0" * 11 + "9") == {"payment_card"}
    assert categories(with_luhn("622202" + "112233445566")) == {"payment_card"}


def test_pf_052_a_wrong_check_digit_beside_card_words() -> None:
    number = "-".join(["1234", "5678"] * 2)
    assert categories("My credit card is " + number) == {"payment_card"}
    assert find_sensitive("Batch " + number) == ()


def test_pf_053_identifiers_that_contain_token() -> None:
    assert (
        find_sensitive("We use a token_bucket_rate_limiter and a tokenizationStrategy enum.") == ()
    )


def test_pf_054_hashes_and_bare_uuids() -> None:
    assert find_sensitive("Fixed in commit " + HEX + "0a1b2c3d") == ()
    assert find_sensitive("The run is 550e8400e29b41d4" + "a716446655440000.") == ()


def test_pf_055_wide_spaces_between_groups() -> None:
    wide = GROUPS.replace(" ", "\u3000")
    assert categories("卡号：" + wide) == {"payment_card"}
    assert categories("四组人数：" + wide) == {"payment_card"}  # decision D11: the checksum holds
    assert find_sensitive("四组人数：" + wide[:-1] + "2") == ()
    assert find_sensitive("①" + wide[:9] + "②" + wide[10:-1] + "3") == ()


@pytest.mark.parametrize(
    "piece",
    [
        "ab",
        "a@a.",
        "1-",
        "1 ",
        "token_",
        "12345678-",
        "密码是",
        "password ",
        "确诊 ",
        "4111 ",
        "\u200b",
        "结节",
        "我爸癌,",
        "密码是一、",
        "左转1",
        "登录a/",
        "经度1.2345 ",
        "助记词 a ",
    ],
)
def test_pf_056_crafted_repeats_stay_fast(piece: str) -> None:
    began = time.process_time()
    find_sensitive(piece * (2000 // len(piece)))
    assert time.process_time() - began < 10.0


def test_a_very_long_text_is_read_in_linear_time() -> None:
    began = time.process_time()
    find_sensitive("1.2345, 密码是 token_ 4111 " * 4000)
    assert time.process_time() - began < 10.0


def test_emails_and_phones_are_found_only_on_request() -> None:
    text = "写信给 lin@example.com，或打 138" + "00138000"
    assert find_sensitive(text) == ()
    found = {each.category for each in find_sensitive(text, frozenset({"email", "phone"}))}
    assert found == {"email", "phone"}
    assert {"email", "phone"} == CATEGORIES - DEFAULT_CATEGORIES


def test_only_the_categories_asked_for_are_reported() -> None:
    text = "卡号 " + VISA + "，密码是 Xy8823!kk"
    assert {f.category for f in find_sensitive(text, frozenset({"password"}))} == {"password"}


def test_offsets_point_into_the_text_as_given() -> None:
    text = "我的\u200b卡４1\u030311" + " 1111 1111 1111，谢谢"
    (finding,) = find_sensitive(text)
    assert text[finding.start : finding.end] == "４1\u030311 1111 1111 1111"


def test_mask_replaces_the_value_and_nothing_else() -> None:
    text = "身份证" + ID + "请登记，密码是Xy8823!kk。"
    masked = mask(text, find_sensitive(text), "u/1")
    assert masked == "身份证user:u%2F1#national_id_masked请登记，密码是user:u%2F1#password_masked。"
    assert find_sensitive(masked) == ()


def test_mask_counts_overlapping_findings_once() -> None:
    findings = (Finding("token", 2, 6), Finding("api_key", 4, 8))
    assert mask("ab123456cd", findings, "u") == "abuser:u#token_maskedcd"


@given(st.text(max_size=200))
def test_findings_are_ordered_and_inside_the_text(text: str) -> None:
    position = 0
    for finding in find_sensitive(text, CATEGORIES):
        assert position <= finding.start < finding.end <= len(text)
        position = finding.end


@given(st.text(alphabet="\u200b\u200d\u2060\ufeff\u0301", max_size=3), st.integers(1, 15))
def test_hidden_characters_never_change_the_verdict(noise: str, at: int) -> None:
    assert categories("卡号" + VISA[:at] + noise + VISA[at:]) == {"payment_card"}
