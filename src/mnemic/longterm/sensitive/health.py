"""Does this text hold a diagnosis or a test result of a person?

A disease name alone is a topic. It becomes a finding with a diagnosing verb, with a person who has it,
with a positive test, with a laboratory value in its unit, or with a prescribed medicine. Questions,
conditions ("if"), prevention, articles, jobs and departments are topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.health_words import (
    CONDITIONS_EN,
    CONDITIONS_ZH,
    DRUGS,
    LAB_VALUES,
    TESTS,
)

_PERSON_ZH = (
    r"(?:我|我们|本人|他|她|爸|妈|爷爷|奶奶|外公|外婆|姥姥|姥爷|父亲|母亲|儿子|女儿|孩子|宝宝|老公|"
    r"老婆|丈夫|妻子|"
    r"哥哥?|姐姐?|弟弟?|妹妹?|叔叔?|姑姑?|舅舅?|阿姨|岳父|岳母|公公|婆婆|男朋友|女朋友|男友|女友|同事|"
    r"朋友|室友|"
    r"老板|邻居|患者|病人|客户|用户|小[一-鿿]|老[一-鿿])"
)
_SICK = (
    CONDITIONS_ZH
    + r"(?!科|医|专家|研究|门诊|病房|患者|病人|疫苗|药|险|筛查|知识|饮食|预防|防治|领域|学会|中心|日|"
    r"的(?:书|文章|课|知识|论文|新闻|症状|治疗|原因|预防))"
)
_GAP = r"[^。；;!?！？\n]"
_ZH_PATTERNS = (
    rf"(?:确诊|确诊为|诊断为|诊断出|诊断是|被诊断|诊断结果|诊断书|诊断证明|诊断[:：]|查出来?|检出|"
    rf"检查出|筛查出|患上|患有|患了|罹患|得了|得的是|感染了?|"
    rf"复发){_GAP}{{0,14}}?{_SICK}",
    rf"{_SICK}{_GAP}{{0,10}}?(?:诊断书|诊断证明|确诊|病史|晚期|[一二三四1-4iv]+期|复发|转移|化疗|放疗|"
    rf"手术|病了|好几年了|多年了|很多年)",
    rf"{_PERSON_ZH}(?:自己|家|家里)?(?:[一-鿿]{{0,5}}?)(?:有|患|(?<![觉记懂显变])得|是)(?:了|过|着|"
    rf"的是|的)?(?:先天性|遗传性|家族性|"
    rf"慢性|急性|重度|中度|轻度|严重的?|多年的?|老|点|很久的?|[12一二](?: ?[型级] ?)| )*{_SICK}",
    rf"{_PERSON_ZH}(?:也|就|都)?是(?:一名|一位|个|名)?{CONDITIONS_ZH}(?:患者|病人|携带者|感染者)",
    rf"{_PERSON_ZH}(?:前年|去年|今年|刚刚?|已经|又|上个?月|昨天)?{_SICK}了",
    rf"(?:mri|ct|b超|彩超|x光|核磁(?:共振)?|胃镜|肠镜|心电图|造影|医生|大夫|报告) ?(?:检查|结果|片子|"
    rf"单|上)?(?:显示|提示|:|说|写着?|看出|"
    rf"发现)(?:是|有|为|我|他|她|了|[一-鿿]{{0,8}}?){_SICK}",
    rf"{TESTS}{_GAP}{{0,14}}?(?:呈|为|是|结果)?(?:阳性|恶性|高风险|高危|两条杠)",
    rf"(?:化验|检查|检测|体检|病理|活检|筛查)(?:报告|结果|单)?{_GAP}{{0,16}}?(?:阳性|恶性|{_SICK})",
    rf"{LAB_VALUES}(?:是|为|高达|到了?|测出来?|结果|:|：|大概|才|都|升到|降到|"
    rf"\s){{0,3}}\d{{1,6}}(?:\.\d{{1,3}})?(?:/\d{{2,3}})? ?(?:mmol|mg|μmol|umol|u/l|iu|mmhg|毫米汞柱|%|ng|"
    rf"g/l|拷贝|copies)",
    rf"(?:医生|大夫|医院|{_PERSON_ZH})(?:[一-鿿]{{0,6}}?)(?:开了|开的|在吃|在服用|服用|吃着|一直吃|"
    rf"每天吃|要吃|打|"
    rf"注射){_GAP}{{0,6}}?{DRUGS}",
)
_WHO = (
    r"(?:i|we|he|she|they|(?:my|his|her|our|their) (?:[a-z]+ ){0,2}?(?:mom|mum|mother|dad|father|son|"
    r"daughter|"
    r"kid|child|baby|wife|husband|partner|spouse|brother|sister|aunt|uncle|grandm[a-z]+|grandf[a-z]+|grandpa|"
    r"cousin|boyfriend|girlfriend|friend|boss|colleague|coworker|roommate|patient)|(?:the )?patient)"
)
_DEGREE = (
    r"(?:(?:a |an |the )?(?:history of |case of |severe |mild |moderate |chronic |acute |"
    r"early[- ](?:onset|stage) |"
    r"late[- ]stage |advanced |terminal |metastatic |type [12i]+ |stage [0-4iv]+[a-c]? |congenital |"
    r"newly diagnosed |"
    r"treatment-resistant |bad |really bad |been living with |an autoimmune disease called )){0,3}"
)
_EN_PATTERNS = (
    rf"\bdiagnosed (?:(?:me|him|her|us|them|my [a-z]+) )?(?:recently |just |last [a-z]+ |"
    rf"in [a-z0-9 ]{{3,16}} |yesterday |today )?(?:with|as having|as) {_DEGREE}(?!an? (?:problem|"
    rf"issue|bug|error|fault)\b){CONDITIONS_EN}",
    rf"\bdiagnosis(?: (?:was|is|of|came back as)|:)+ {_DEGREE}{CONDITIONS_EN}",
    rf"\b{_WHO}(?:'ve| have|'s| has| had)?(?: just| also| already| both)?(?: been)? (?:got |have |"
    rf"has |had |suffers? from |suffering from |live with |lives with |living with |"
    rf"was found to have |battl(?:es|ing|ed) |am battling |is battling |been battling |developed |"
    rf"contracted ){_DEGREE}{CONDITIONS_EN}\b",
    r"\b(?:i am|i'm|he is|he's|she is|she's|they are) (?:hiv[- ]positive|bipolar|diabetic|epileptic|"
    r"autistic|schizophrenic|asthmatic|an? (?:diabetic|epileptic|cancer survivor))\b",
    rf"\b{_WHO} (?:is|was) (?:hiv[- ]positive|bipolar|diabetic|epileptic|autistic|schizophrenic|asthmatic)\b",
    rf"\btest(?:ed|s)? positive for {CONDITIONS_EN}",
    rf"\b{TESTS}(?: test| screening| result)?s?(?: result)?s? (?:came back |was |is |were |are |"
    rf"turned out )?(?:hiv[- ])?(?:positive|malignant|abnormal)\b",
    rf"\b{LAB_VALUES}(?: level| reading| count| result)?s? (?:is|was|of|at|came back at|came back|"
    rf"reads|:) ?(?:now |around |about )?\d{{1,6}}(?:\.\d{{1,2}})?(?:/\d{{2,3}})?(?: ?(?:%|mmol|mg|ng|ng|"
    rf"mmhg|copies|u/l)|[.,]|$| and| over)",
    rf"\b(?:prescribed (?:me |him |her |my [a-z]+ )?|{_WHO}(?:'m| am|'s| is| are| was|'ve been|"
    rf" have been| has been)?(?: currently| now| also)? (?:on |taking |takes? |put on )|"
    rf"started (?:me |him |her )?(?:on |taking ))(?:\d{{1,4}} ?mg (?:of )?|a low dose of |"
    rf"daily )?{DRUGS}\b",
)
_ZH = re.compile("|".join(f"(?:{pattern})" for pattern in _ZH_PATTERNS))
_EN = re.compile("|".join(f"(?:{pattern})" for pattern in _EN_PATTERNS))
_ZH_HINTS = re.compile(
    r"诊断|确诊|查出|检出|患|罹|得了|得的|感染|复发|报告|体检|化验|型|患者|病史|得过|中风|显示|提示|"
    r"发现|[说写]|晚期|期|手术|化疗|放疗|阳性|恶性|"
    r"有|是|服用|在吃|开了|注射|结果|ng/|mmol|mg|%|mmhg"
)
_EN_HINTS = (
    "diagnos",
    "positive",
    "malignant",
    "abnormal",
    "prescribed",
    "i have",
    "i've",
    "has ",
    "had ",
    "suffer",
    "living with",
    "live with",
    "lives with",
    "i'm ",
    "i am ",
    "he's",
    "she's",
    "he is",
    "she is",
    " is ",
    " was ",
    "battl",
    "developed",
    "contracted",
    " mg",
    "taking",
    "take ",
    "takes",
    "blood ",
    "a1c",
    "cholesterol",
    " on ",
    "found to have",
    "viral load",
    "creatinine",
)
_TOPIC = re.compile(
    r"如果|假如|要是|万一|预防|避免|科普|文章|论文|小说|剧本|电影|角色|课程|研究|怎么办|是不是|会不会|"
    r"有没有|担心|怀疑|害怕|"
    r"症状有|有哪些|怎么治|什么是|人群|讲座|新闻|没有?得|没患|没有|不是|并非|排除|未见|代码|程序|系统|"
    r"静态|软件|数据集|模型|捐|"
    r"\bif\b|prevent|avoid|risk of|article|research|study|novel|character|movie|dataset|model|"
    r"fundrais|charity|"
    r"awareness|\bnot\b|n't\b|\bno\b|ruled out|negative for|worried|afraid|fear|wonder|whether|might|could|"
    r"people (?:with|who)|patients (?:with|who)|those with|someone with|anyone|bug|code|software|"
    r"system|network"
)


def find_medical(folded: Folded) -> Iterator[Span]:
    """Yield each statement that a person has a disease, a test result or a prescription."""
    lower = folded.lower
    if _ZH_HINTS.search(lower) and not lower.isascii():
        yield from _statements(_ZH, lower)
    if any(hint in lower for hint in _EN_HINTS):
        yield from _statements(_EN, lower)


def _statements(pattern: re.Pattern[str], lower: str) -> Iterator[Span]:
    for match in pattern.finditer(lower):
        if not _TOPIC.search(_clause(lower, match.start(), match.end())):
            yield Span("medical", match.start(), match.end())


def _clause(lower: str, start: int, end: int) -> str:
    """Return the clause around a match: a topic word after a full stop says nothing about it."""
    begin = max(lower.rfind(mark, max(0, start - 40), start) for mark in "。.!?！？；;\n")
    begin = max(begin + 1, start - 40)
    stop = min(
        (at for mark in "。!?！？；;\n，," if (at := lower.find(mark, end)) >= 0), default=end
    )
    return lower[begin : min(stop + 1, end + 12)]
