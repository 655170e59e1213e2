"""Which passwords and codes are told without being written: spelled, described, quoted, pressed, turned?

"行李箱密码锁是零零七", "邮箱密码是大写的 … 加 …", "保险柜左转两圈到 18", "锁屏改成 0852", "the pin is four
four one nine", recovery phrases, answers to security questions. Rules about passwords pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern, lazy

_NAME = (
    r"(?:密码锁|密码箱|临时密码|密码|密碼|口令|暗号|通行码|验证码|校验码|动态码|短信码|门禁码|"
    r"开[门柜锁箱机]码|门码|解锁码|取[件货]码|备用码|确认码|pin码|"
    r"(?<![a-z])pin|保险[柜箱]|行李箱)"
)
_IS = (
    r"(?:就是|还是|仍是|都是|应该是|是|为|:|=|用的?是?|设的?是|[设改换调](?:置)?[成为]了?|叫|记成)"
)
_NUMERAL = r"[零〇一二两三四五六七八九幺洞拐勾]"
_COUNTED = r"(?! ?(?:位|次|个|分|天|秒|小|字|年|月|遍|元|块|条|种|周|度|级|类|代|样|道|层|套|把|台|家|人|门))"
_SPELLED = lazy(
    rf"{_NAME}[一-鿿 ]{{0,8}}?,? ?(?P<link>{_IS}|\s|按|拨|(?=从[一1])|(?<=[位箱锁柜]密码)|"
    rf"(?<=[位箱锁柜])|(?<=[数位字]),)[ :\"]{{0,2}}"
    rf"(?P<value>(?:[一二两三四五六七八九十\d]个[零〇一二三四五六七八九\d][,加再和跟、 然后]"
    rf"{{0,3}}){{1,4}}|"
    rf"\d{{2,4}}(?: \d{{2,4}}){{1,3}}(?![\d.])|{_NUMERAL}(?:[、,\- ]?{_NUMERAL}){{2,11}}|"
    rf"\d(?:[\-、, ]\d){{2,9}}(?![\d.])|"
    rf"从[一二1][到至][四五六七八九\d])(?P<after>{_COUNTED})",
    re.I,
)
_HOW = (
    r"(?:全拼|简拼|拼音|首字母|缩写|生日|大写|小写|倒过来|反过来|倒序|倒着|正着|顺着|"
    r"[前后][两三四五六八2-8]位|"
    r"尾号|手机号|身份证|车牌|门牌|学号|工号|纪念日|名字|出生|年份|感叹号|井号|星号|问号|下划线|艾特|"
    r"加上?(?: ?[!-~]|一?个)|个字母|电话|[a-z] ?[字形型]|对角线|转弯)"
)
_DESCRIBED = lazy(
    rf"(?:密码|口令|暗号|手势|图案|(?<![a-z])pin码?)(?P<middle>[一-鿿 ]{{0,8}}?){_IS}"
    rf"(?P<value>[^。;!?\n]{{0,24}}?{_HOW}[^。;!?,\n]{{0,16}})|"
    r"密码(?P<value2>[倒反]过来(?:写|念|输|读)?(?:就是|是)[^。;!?,\n]{1,12})",
    re.I,
)
_POLICY = lazy(
    r"不[能要得可应准是会许建]|别用?|不用|应[该当]|必须|请|建议|默认|初始|重置|太|容易|弱|简单|"
    r"如果|提示|规则|包[含括]|组成|"
    r"至少|需要|要求|统一|什么|怎么|多少|吗|区分|长度|强度|安全|位数|支持|格式|校验|字段|框|"
    r"文案|按钮|一致|错|"
    r"显示|忘|找回|大小写字母|敏感|有人|很多人|用户|禁止|避免|发到|发送|发给|绑定|或者|登录方式|不同|一样|管理器|管家"
)
_WEAK = lazy(r"[^。;!?\n]{0,8}(?:弱|不安全|不行|被猜|易|不好|不要|不能|风险|吗|禁止)")
_PHRASE = lazy(
    rf"(?:密码|口令|暗号|密语|密令|接头语)(?P<middle>[一-鿿 ]{{0,6}}?){_IS} ?[\"「『《']"
    rf"(?P<value>[^\"」』》'\n]{{2,24}})"
    r"[\"」』》']|(?:暗号|接头语|切口|口令)[是为]? ?: ?(?P<value2>[一-鿿]{3,16})(?=$|[。,!(（\n])"
)
_NO_PHRASE = lazy(
    r"密码|口令|请|错误|正确|必须|失败|成功|输入|提示|为空|登录|验证|字符|不|<|由|见|问|找|同上|"
    r"暂|待|管理员|稍后|无|\*"
)
_OBJECT = (
    r"(?:锁屏|手机锁|屏幕锁|屏保|门锁|智能锁|指纹锁|密码锁|密码箱|保险[柜箱]|行李箱|车库门?|"
    r"大门|入户门|防盗门|[前后]门|"
    r"单元门|门禁|储物柜|更衣柜|信箱|家长锁|sim ?卡|开机|支付宝|网银|警报|报警器|路由器|wi-?fi)"
)
_SET = lazy(
    rf"{_OBJECT}(?P<middle>[一-鿿 ]{{0,8}}?)(?:[设改换调拨定变](?:置)?|重置)(?:[成为到回]|的是)了? ?"
    r"(?P<value>[#*]{0,2}\d{4,10}[#*]{0,2}|\d-\d-\d(?:-\d){0,5}|"
    r"(?=[!-~]{0,40}\d)(?=[!-~]{0,40}[A-Za-z])[!-+\--~]{6,40})"
    r"(?![\d.:])(?! ?(?:款|年|版|元|块|号|分|秒|天|次|毫|赫|像|小时|k|hz|px|ms|x\d))",
    re.I,
)
_THEN = lazy(
    rf"(?:{_NAME}|(?:短信|登[录陆]|验证|锁|[柜箱卡])[一-鿿]{{0,4}}的?[四五六七八4-8] "
    rf"?位(?:数字?|码)?)(?P<gap>[^。;!?\n:\"'<(]{{0,18}}?),? ?(?:新的|旧的|老的|现在|原来的|它|"
    rf"后来)?(?:就|改|换)?(?:是|为|成) ?"
    r"(?P<value>(?<![A-Za-z0-9])[#*]?\d{4,8}[#*]?(?![\d.])|"
    r"(?=[!-~]{0,40}\d)(?=[!-~]{0,40}[A-Za-z])[A-Za-z0-9][!-+\--~]{5,40})"
    rf"{_COUNTED}(?! ?(?:像素|px|or|and|bit|号|款|米|毫|元))",
    re.I,
)
_CODE = lazy(r"[=(){}\[\]<>]|://|sha|md5|aes|bcrypt|argon|utf", re.I)
_LOCK_IS = lazy(
    r"(?:锁|保险[柜箱]|行李箱|密码箱|储物柜|更衣柜)(?:的?密?码)?(?:就|"
    r"还)?[是为:] ?(?P<value>[#*]?\d{3,8}[#*]?)"
    rf"(?![\d.:])(?! ?[a-z%元块]){_COUNTED}(?! ?(?:款|号|公斤|升|毫|厘|寸))",
    re.I,
)
_NOT_SET = lazy(r"时间|壁纸|型号|频|音量|价|宽|高|亮|时长|间隔|端口|信道|日期|铃")
_PRESS = lazy(
    r"(?:门|锁|柜|闸|车库|单元|箱)[^\d。;!?\n]{0,14}?(?:按|输入?|摁|拨到?|敲|键入)(?:个|一下|上|"
    r"密码|的是)? ?"
    r"(?P<value>[#*]{0,2}\d{4,10}[#*]{0,2}|\d(?:-\d){2,7})(?![\d.])(?= ?(?:就|即|能|可|进|开|再|"
    r"然后|,|。|!|$|\n|井|键))"
)
_TURN = lazy(
    r"(?P<value>(?:左|右|顺时针|逆时针)(?:边)?[转拧旋拨]?[^\d。;!?\n]{0,8}\d{1,2}(?!\d)[^。;!?\n]{0,14}?"
    r"(?:左|右|顺时针|逆时针)(?:边)?[转拧旋拨]?[^\d。;!?\n]{0,8}\d{1,2}(?![\d.]))"
)
_ANSWER = lazy(
    r"(?:(?:密保|安全问题|找回问题|密码问题)[^。;!?\n]{0,14}?答案|密保)(?:我?(?:填|写|"
    r"设)的?)?(?:是|为|:)+ ?"
    r"(?P<value>[^\s。;!?,\n]{2,24})|"
    r"\banswer to (?:my|the|our|his|her) (?:security|secret|recovery) question[a-z' ,]{0,40}? (?:is|was|:) "
    r"(?P<value2>[^.;!?\n]{2,40})",
    re.I,
)
_NO_ANSWER = lazy(r"什么|多少|哪|谁|吗|不|要|很|必填|空|错|the same|not |case|required|what")
_SEED = lazy(
    r"(?:助记词|恢复短语|恢复词|种子短语|种子词|私钥短语|seed (?:phrase|words?)|"
    r"recovery (?:phrase|words?)|mnemonic"
    r"(?: phrase)?|backup phrase)[^a-z一-鿿]{0,3}(?:是|为|is|are|:)?[ :\"]{0,3}"
    r"(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}|[一-鿿](?:[ 、,][一-鿿]){11,23})",
    re.I,
)
_APP_PASSWORD = lazy(
    r"(?:授权码|应用(?:专用)?密码|专用密码|客户端密码|app(?:-specific)? password)[^!-~\n]{0,6}(?: is|:)? ?"
    r"(?P<value>[a-z]{16}|[a-z]{4}(?:[ -][a-z]{4}){3})(?![a-z])",
    re.I,
)
_DIGIT_EN = (
    r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|star|pound|hash)"
)
_SECRET_EN = (
    r"(?:pass ?(?:word|code|phrase)|\bpin(?: (?:code|number))?|(?:door|gate|alarm|garage|safe|"
    r"entry|access|lock|"
    r"security|keypad|building) code|combination)"
)
_EN_SPELLED = lazy(
    rf"{_SECRET_EN}[a-z' ]{{0,30}}?(?:'s|is|was|:|=|to|becomes) {{0,2}}"
    rf"(?P<value>(?:{_DIGIT_EN}|\d{{3,8}})(?:[ ,-]{{1,2}}(?:{_DIGIT_EN}|\d{{3,8}})){{1,9}})\b",
    re.I,
)
_EN_DESCRIBED = lazy(
    rf"(?:\bmy|\bour|\bthe|\bher|\bhis) [a-z'-]{{0,14}} ?{_SECRET_EN}[a-z' ]{{0,24}}?(?:'s|is|was|:|=) ?"
    r"(?P<value>(?:just |still |always )?(?:my|our|her|his|the) [a-z' ]{2,40}?(?:followed by|"
    r"plus|backwards?|reversed|"
    r"in reverse|spelled|in all caps|and then)[^.!?\n]{0,30}|"
    r"(?:just |still )?(?:my|our|her|his) (?:[a-z]+'s )?(?:birthday|anniversary|birth ?date|"
    r"birth year|maiden name|"
    r"zip code|phone number|license plate|middle name)|"
    r"(?:in )?(?:all )?(?:lower ?case|upper ?case|caps)[:, ]{1,2}[!-~]{4,40})",
    re.I,
)
_EN_POLICY = lazy(r"never|\bnot\b|n't|should|must|weak|\byour\b|policy|example|same as|what", re.I)
_EN_PHRASE = lazy(
    r"(?:pass ?(?:word|phrase)|recovery phrase)(?: for [a-z' -]{1,24}?)?(?: is|:|"
    r"=) ?[\"'`](?P<value>[A-Za-z0-9]+"
    r"(?: [A-Za-z0-9]+){2,12})[\"'`]",
    re.I,
)
_EN_PRESS = lazy(
    r"\b(?:punch|press|enter|dial|type|key)(?: in)? (?P<value>[#*]{0,2}\d{4,8}[#*]{0,2})\b[^.!?\n]{0,24}?"
    r"(?:keypad|door|gate|lock|panel|entrance|get in|alarm)|"
    r"\b(?:set|change|reset)[a-z]* the (?:alarm|lock|keypad|safe|door|gate|garage)(?: code)? to "
    r"(?P<value2>\d{4,8})\b(?=[^.!?\n]{0,60}\bcode\b)",
    re.I,
)
_ZH_WORDS = """
密 暗 口令 码 锁 门 柜 箱 手势 图案 助记 恢复 种子 开机 路由器 网银 支付宝 报警 短信 验证 卡
"""
_ZH_HINTS = Hints(_ZH_WORDS.split(), wide=("pin", "sim", "wifi", "wi-fi"))
_EN_HINTS = Hints(("pass", "pin", "code", "combination"))
_SEED_HINTS = Hints(("phrase", "mnemonic", " word", "助记", "恢复", "种子"))
_ANSWER_HINTS = Hints(("答案", "密保", "question"))
_PRESS_HINTS = Hints(("key", "punch", "code", "press"))
HINTS = _ZH_HINTS | _EN_HINTS | _SEED_HINTS | _ANSWER_HINTS | _PRESS_HINTS


def find_described(folded: Folded) -> Iterator[Span]:
    """Yield each password or code that is told in words."""
    lower = folded.lower
    if _ZH_HINTS.in_text(lower):
        yield from _chinese(folded)
    if _EN_HINTS.in_text(lower):
        yield from _english(folded)
    if _SEED_HINTS.in_text(lower):
        yield from _plain(_SEED, folded.text)
    if _ANSWER_HINTS.in_text(lower):
        for match in _ANSWER.finditer(folded.text):
            if not _NO_ANSWER.search(_value(match)):
                yield _span(match)
    if folded.digit and _PRESS_HINTS.in_text(lower):
        yield from _plain(_EN_PRESS, folded.text)


def _chinese(folded: Folded) -> Iterator[Span]:
    text = folded.text
    for match in _SPELLED.finditer(text):
        explicit = (
            match["link"].strip()
            or len(re.sub(r"\W", "", match["value"])) > 3
            or re.search("[箱锁柜]", match[0])
        )
        if explicit and not re.search(r"输?错|忘|至少|超过|连续|每", match[0][:12]):
            yield _span(match)
    for match in _DESCRIBED.finditer(text):
        around = text[max(0, match.start() - 8) : match.end()]
        if not (_POLICY.search(around) or _WEAK.match(text, match.end())):
            yield _span(match)
    for match in _PHRASE.finditer(text):
        if not (_NO_PHRASE.search(_value(match)) or _POLICY.search(match["middle"] or "")):
            yield _span(match)
    for match in _SET.finditer(text):
        if not _NOT_SET.search(match["middle"]):
            yield _span(match)
    for match in _THEN.finditer(text):
        ruled = _POLICY.search(match["gap"]) or _NOT_SET.search(match["gap"])
        if not (ruled or _CODE.search(match["value"])):
            yield _span(match)
    yield from _plain(_LOCK_IS, text)
    yield from _plain(_PRESS, text)
    yield from _plain(_APP_PASSWORD, text)
    if re.search(r"柜|锁|箱|密码|转盘", text):
        for match in _TURN.finditer(text):
            if not re.search(r"公里|千米|\d ?米|路|街|楼", match[0]):
                yield _span(match)


def _english(folded: Folded) -> Iterator[Span]:
    text = folded.text
    yield from _plain(_EN_SPELLED, text)
    yield from _plain(_EN_PHRASE, text)
    yield from _plain(_APP_PASSWORD, text)
    for match in _EN_DESCRIBED.finditer(text):
        if not _EN_POLICY.search(text[max(0, match.start() - 20) : match.end()]):
            yield _span(match)


def _plain(pattern: Pattern, text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        yield _span(match)


def _group(match: re.Match[str]) -> str:
    return "value2" if "value2" in match.re.groupindex and match["value2"] else "value"


def _value(match: re.Match[str]) -> str:
    return match[_group(match)] or ""


def _span(match: re.Match[str]) -> Span:
    return Span("password", *match.span(_group(match)))
