"""Is a password found although it is a plain word, and is talk about passwords left alone?"""

from __future__ import annotations

import subprocess
import sys
from time import process_time

import pytest

from mnemic.longterm.sensitive import find_sensitive, mask
from mnemic.longterm.sensitive.lazy import lazy

STATED = """
password: sunflower
Password: Sunflower
our wifi password is sunflower
The password for the router is sunflower
the password of the NAS is "sunflower"
the wifi password is purplemonkeydishwasher
the guest wifi password is bluewhale
My Gmail password is banana.
my password's banana
The password is mango, please do not tell anyone
password = "letmein"
password='dragon'
passwd: monkey
passw0rd for the NAS: banana-split
Das WLAN-Passwort ist Kartoffel
Mein Kennwort lautet Sonnenblume
mi contraseña es girasol
mon mot de passe est tournesol
my password is my dog's name, Bruno
the password is my daughter's name, emma
My password hint is the dog's name, Bruno
username: kim password: sunflower
username kim, password: banana
user: pi / password: raspberry
account: deploy, pw: butterfly
账号 admin 密码 admin
账号：kim，密码：sunflower
用户名 ops01 密码 qwerty
我的密码还是原来那个 zxcvbnm
QQ密码还是以前那个 zxcvbnm
保险箱密码左三右五左七
""".strip().splitlines()

GROWN = """
user root, pass Kq8~rT2vN
log in as admin with Kq8~rT2vN
sign in as kim@example.com with to~or99x
ssh root@10.0.0.5 with to~or99x
Mein Passwort ist Kq8~rT2vN
passwd=Sup~3rR1ver!
My Netflix login is kim@example.com / sun~flower99
root / to~or77 are the credentials of the staging box
recovery code: 8f3k-2l~9s-qp4z
My backup codes are 83kf-92~ls and 1k3l-qq4z
""".strip().splitlines()

TALK = """
the password is wrong
The password is too short
The password is stored in the vault
The password is required
The password is in 1Password
My password is Bitwarden
The wifi password is on the fridge
The wifi password is written on the router
The password for the router is missing
The password for the account is mandatory
the password is visible to everyone
My password is older than my dog
My password is a long sentence
The password is awesome
Is the password sunflower?
password: yes
Password: required
Password: at least 12 characters
password = None
password = os.environ["DB"]
password = input()
password = getpass.getpass()
password = hashed
password=password
password = "your_password"
password = "password"
password: "${DB_PASSWORD}"
password: <password>
Password: ********
"password": "string"
password: String, required: true
user.password = hashedPassword
const password = 'secret';
{ email: email, password: password }
Das Passwort ist abgelaufen
le mot de passe est incorrect
the user and pass fields are swapped
it fails if the password is incorrect'
Simulate user lookup and password validation
The default admin password is `admin`.
sign in with Apple as admin with Google
log in as guest with read access
ssh me@host with the key
login is required / optional
recovery code: see the envelope
backup keys are printed
The internal code name of project 12 is Falcon12
The access code name is Falcon12
我的密码管理器是1Password
密码还是以前那样
账号密码登录
账号 kim 密码忘了
左边三步右边五步
""".strip().splitlines()

NUMBERS = (
    ("NI number AB12", "3456C"),
    ("my nino is AB 12 34", " 56 C"),
    ("My national insurance number is QQ12", "3456C"),
    ("身份证后六位 23100X 前面 1101", "05194912"),
    ("我的身份证前六位110105，生日19491", "231，后四位002X"),
)

HEALTH = """
I suffer from chronic migraine
I was treated for anorexia
She was hospitalized for severe depression
I had an abortion last year
I am pregnant
I'm 12 weeks pregnant
我怀孕了
我怀孕了，三个月
老婆怀孕三个月了
""".strip().splitlines()

NO_HEALTH = """
I have ADHD-friendly workflows
We treated the data for outliers
I have an abortion law seminar
I am pregnant with ideas
If I am pregnant, can I fly?
My cat is pregnant
我养的狗得了糖尿病
我没怀孕
我想怀孕
怀孕期间能喝咖啡吗
我们怀疑数据库坏了
身份证后四位是 1234
身份证 3 张，照片 12 张
""".strip().splitlines()


@pytest.mark.parametrize("text", STATED)
def test_a_plain_word_is_a_password_where_a_text_says_so(text: str) -> None:
    assert [found.category for found in find_sensitive(text)] == ["password"]


@pytest.mark.parametrize("text", GROWN)
def test_a_random_value_is_found_beside_a_login(text: str) -> None:
    found = find_sensitive(text.replace("~", ""))
    assert "password" in {each.category for each in found}


@pytest.mark.parametrize("text", TALK)
def test_talk_about_passwords_passes(text: str) -> None:
    assert find_sensitive(text) == ()


@pytest.mark.parametrize("pieces", NUMBERS)
def test_identity_numbers_are_found_named_or_split(pieces: tuple[str, str]) -> None:
    found = find_sensitive("".join(pieces))
    assert {each.category for each in found} == {"national_id"}


@pytest.mark.parametrize("text", HEALTH)
def test_treatment_and_pregnancy_of_a_person_are_found(text: str) -> None:
    assert {each.category for each in find_sensitive(text)} == {"medical"}


@pytest.mark.parametrize("text", NO_HEALTH)
def test_neither_topics_nor_animals_nor_few_digits_count(text: str) -> None:
    assert find_sensitive(text) == ()


def test_only_the_value_is_masked() -> None:
    text = "our wifi password is sunflower, the network is called Meadow"
    masked = mask(text, find_sensitive(text), "kim")
    assert masked == ("our wifi password is user:kim#password_masked, the network is called Meadow")


def test_masked_text_is_clean() -> None:
    masked = mask("password: sunflower", find_sensitive("password: sunflower"), "kim")
    assert find_sensitive(masked) == ()


@pytest.mark.parametrize(
    "piece",
    ["password ", "password for a ", "password is a", "pw: ", "ssh a@b with ", "a / ", "锁左3右",
     "账号a密码", "身份证 1234 ", "recovery code: a1a-", "user a, pass "],
)  # fmt: skip
def test_the_time_grows_with_the_length(piece: str) -> None:
    find_sensitive(piece * 3)
    started = process_time()
    find_sensitive(piece * (20_000 // len(piece)))
    assert process_time() - started < 30


def test_a_lazy_pattern_behaves_like_a_compiled_one() -> None:
    pattern = lazy(r"a(\d)", 0)
    assert [match[1] for match in pattern.finditer("a1 a2")] == ["1", "2"]
    assert pattern.match("xa1") is None
    assert pattern.match("xa1", 1) is not None
    assert pattern.fullmatch("a1b") is None
    assert pattern.findall("a1a2") == ["1", "2"]
    assert pattern.sub("-", "a1b") == "-b"


def test_importing_the_package_compiles_hardly_anything() -> None:
    program = (
        "import re, mnemic\n"
        "plain, made = re.compile, []\n"
        "re.compile = lambda *given: made.append(given) or plain(*given)\n"
        "import mnemic.longterm.sensitive\n"
        "print(len(made))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert int(done.stdout) < 15
