"""Are passwords and codes found however they are told: spelled, described, split, set, in a command?

A tilde breaks up what looks like a secret in this file; it is taken out before the test.
"""

from __future__ import annotations

import pytest

from mnemic.longterm.sensitive import find_sensitive

TOLD = """
电脑开机密码：wo2ai1chifan
手机锁屏改成 0852 了
把平板的锁屏密码换成 739164
支付宝支付密码是 六六九一二三
银行卡取款密码 3 8 0 0 9 1
门禁码 5581#，晚上十点后要按
保险柜左转两圈到 18，再右转到 42，最后左转到 7
行李箱三位密码八一五
密码箱的密码还是四零四
百度网盘提取码：q8vd
分享链接的访问密码 k3fz
快递柜取件码 739201
家里门锁改成 135790 了
指纹锁的备用密码设成了 20481357
公司 Wi-Fi：口令 Maple_tea2024
路由器后台账号 admin，密码 tplink@8899
WiFi 名 HomeNet，密码是全小写 sunnyday2019
邮箱授权码 ptqwxkzhmvbnyrsa 用来配客户端
密码就是我女儿名字的全拼加她生日
锁屏密码是我手机号后六位
老密码倒过来写就是新的
我的支付密码用的是结婚纪念日
网银登录密码是首字母大写的 beijing 加 1998 再加一个感叹号
口令是“长风破浪会有时”
暗号叫「三杯两盏淡酒」
开机密码设的是 qwer 四个字母加 7788
密保问题答案：红旗小学
密保答案是外婆的名字王桂兰
车库门输 6620 就能开
单元门按 #1105* 进来
到了门口按 4071 再按井号
后门的锁拨到 3-1-9 就开了
收到短信验证码 771029，帮我输进去
银行发来的动态口令是 904417
您的校验码为 3391，请勿泄露
二次验证的备用码 8842-1937
助记词：ribbon canyon velvet orbit candle fossil meadow quantum plastic garlic harvest spoon
共享文档密码我设置成 Teamwork#77
会议密码 448120
管理员初始密码 Init@2024x
登录用 zhangwei / Plum_rain88 这一组
后台登录：ops/Grape!vine21
账号 lily_w 密码 0o9i8u7y
数据库口令改为 Coral+reef66
U盘加密的密码是八个一
sim 卡的 pin 是零八一五
密码从一到六顺着按
密码分两段，前半段 pine4，后半段 cone9!
密码是 7-7-1-9 这样按
我的密码是五个零加两个八
压缩包密码还是老样子 xiaoxin886
客厅电视家长锁是 2468
手势密码是从左上划到右下的Z字
""".strip().splitlines()

COMMANDS = (
    """
redis-cli -h 10.0.0.5 -p 6380 -a Fe~rn&wood71 info
mysql -uroot -pLa~ke#side83 shop
PGPASSWORD=Hi~ll0top-55 psql -h db1 -U app
echo 'Mo~ss4green!' | sudo -S systemctl restart nginx
7z x -pRi~ver2stone backup.7z
unzip -P Cl~oud9ridge docs.zip
docker login -u ci -p St~one!bird40 registry.local
mongosh --host m1 -u admin -p Ce~dar_77wind
ldapsearch -D cn=admin -w Ot~ter5bay! -b dc=corp
openssl pkcs12 -in a.p12 -passin pass:He~ron!lake3
smbclient //nas/share -U anna%Qu~artz_91
wget --user=anna --password=Qu~ill_feather9 ftp://files.local/a.tgz
keytool -list -keystore k.jks -storepass Ba~salt7rock
ansible_ssh_pass=Wi~llow_tree6
net use Z: \\\\nas\\data Bi~rch9bark! /user:anna
""".replace("~", "")
    .strip()
    .splitlines()
)

ENGLISH = """
My laptop password is my dog's name followed by 1987
The wifi password is all lowercase: bluegiraffe22
the pin is four four one nine
Gate code is star 4471 pound
login is deploy / Hazel_Canoe61
credentials are anna:Juniper_42x
The answer to my security question is Springfield Elementary
Set the alarm to 5520 before you leave, that's the code
To get in, punch 4482 on the keypad
the vault combination is 22-8-31
seed phrase: ribbon canyon velvet orbit candle fossil meadow quantum plastic garlic harvest spoon
passphrase is "correct tulip engine stapler"
Your one-time passcode: 88213
My voicemail PIN's 7731
""".strip().splitlines()

CLEAN = """
密码忘了怎么办
密码不能包含生日和手机号
别用生日当密码
弱密码比如名字加生日很容易被猜
初始密码是身份证后六位，首次登录请修改
密码长度改成 12 位
把密码输入框的宽度改成 320 像素
密码错误次数上限设成 5
锁屏时间改成 5 分钟
锁屏壁纸换成 4K 的
门锁换成 2024 款的
保险柜多少钱一个
密码箱坏了，轮子掉了
验证码接口返回 500
图形验证码太难认了
验证码 10 分钟内有效
短信验证码每天最多 5 条
口令卡已经停用
暗号是什么来着
提取码忘了发我
密码本放在抽屉里
《密码》这部电影几点放
摩斯密码 SOS 怎么打
遗传密码有 64 种
密码子表
会议密码会后作废
访客密码要找前台领
wifi 密码贴在冰箱上
密码保存在 KeePass 里
密码哈希用 argon2id
密码字段类型 varchar(60)
password 这一栏不能留空
PIN 码连错三次会锁卡
密码是必填项
密码为空时提示“请输入密码”
“密码错误”这个提示太笼统
口令：请用 <你的口令> 代替
密码 = input("请输入密码")
密码是公司统一发的
密码设成复杂一点的
密码改成强密码
支付密码和登录密码不要一样
单元门坏了，按 1 号电梯上来
按 2580 元结算
电梯按 18 楼
左转两公里再右转到 42 号
登录页 / 注册页都要改
账号/密码登录方式
错误码 40013
邮编 310012
优惠码 NEWYEAR25 打八折
激活码过期了
网盘链接失效了
邀请码每人三个
安全问题很重要
密保问题要设三个
redis-cli -h r2.internal -a $REDIS_PASS info
mysql -u app -p orders
docker login -u ci --password-stdin
tar -a -cf backup-2024.tar src
7z x -p"$ARCHIVE_PASS" backup.7z
unzip -P <password> docs.zip
""".strip().splitlines()

CLEAN_EN = """
A password needs twelve letters and a symbol
I changed my password yesterday
My password manager is great
What's the wifi password?
Never use your birthday as a password
The login is broken / slow today
Set the alarm to 6:30
Set the timer to 4500 ms
The PIN is printed on the card
The answer to the question is 42
Punch cards had 80 columns
credentials are stored in Vault
""".strip().splitlines()


@pytest.mark.parametrize("text", TOLD + COMMANDS + ENGLISH)
def test_a_told_password_is_found(text: str) -> None:
    assert {finding.category for finding in find_sensitive(text)} & {
        "password",
        "api_key",
        "token",
    }


@pytest.mark.parametrize("text", CLEAN + CLEAN_EN)
def test_talk_about_passwords_passes(text: str) -> None:
    assert find_sensitive(text) == ()
