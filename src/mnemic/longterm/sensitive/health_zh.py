"""Does a Chinese text say what a person has, was tested for or is treated with?

A disease word counts once its sentence holds a diagnosis, a medical paper, a course of illness or a
person who has it. Tests need their result, laboratory values a number, medicines somebody who takes
them. Questions, conditions, prevention, articles, jobs, institutions and software are topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import add

from mnemic.longterm.sensitive.health_zh_words import (
    BODY,
    DISEASES,
    DRUGS,
    ENDINGS,
    LABS,
    LOOSE_ENDINGS,
    TESTS,
    TREATMENTS,
)
from mnemic.longterm.sensitive.hints import Hints, openings
from mnemic.longterm.sensitive.lazy import lazy

Range = tuple[int, int]

_PERSON = lazy(
    r"我(?![国市省校司院科们]|厂)|我们家|(?<![其吉])[他她](?!们)|咱|俺|本人|爸|妈|爹|爷|奶奶|姥|外公|外婆|"
    r"公公|婆婆|岳[父母]|[祖父母]亲|祖[父母]|舅|姨|姑|叔|伯|婶|哥|姐|弟|妹|嫂|儿子|女儿|闺女|儿媳|女婿|"
    r"孩子|小孩|娃|宝宝|小宝|大宝|二宝|孙[子女]|侄|外甥|丈夫|老公|老婆|妻子|媳妇|老伴|对象|[男女]友|"
    r"[男女]朋友|丈母娘|老丈人|室友|同事|同学|同桌|学生|徒弟|租客|房东|师[父傅兄弟姐妹母]|队友|"
    r"前任|前[夫妻]|亲戚|太太|先生|爱人|未婚[夫妻]|学[长姐弟妹]|"
    r"主管|教练|助理|保姆|奶|表[亲]|朋友|闺蜜|老板|领导|邻居|病人|患者|老师|家属|胎儿|"
    r"[王李张刘陈杨赵周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶"
    r"余潘杜戴钟汪任姜范"
    r"姚谭廖邹熊陆郝孔崔邱秦顾侯邵孟段钱汤尹黎贺赖龚][一-鿿]{1,2}(?=有|是|得|患|查出|确诊)|"
    r"(?<![a-z])[小老][一-鿿](?=有|是|得|患|查|确|因|住|的)"
)
_DIAGNOSED = lazy(
    r"确诊|诊断|[查检验测筛照拍]出|(?<!疾)患(?!者)|罹|得了|得过|得的是|染上|感染[了上过]|复发|"
    r"判[定断]|被判|认定为|鉴定为|评定|考虑|疑似|高度怀疑|提示|显示|报告|小结|病历|病假条|诊断书|证明|化验|"
    r"单子|体检|影像|片子|[bB]超|彩超|超声|(?<![a-z])(?:ct|mri|pet)(?![a-z])|核磁|[胃肠喉]镜|宫腔镜|"
    r"阴道镜|心电图|钼靶|造影|病理|活检|穿刺|产检|羊穿|肺功能|脑电图|复查|筛查|查体|发现|"
    r"(?:医生|大夫|医院|主任|专家)[一-鿿]{0,6}(?:说|讲|判|怀疑|认为|告诉|诊|写|讲)|主诉|既往|死于|"
    r"记录|病程|医嘱|[住入出]院|就诊|门诊|去世.{0,4}因|因.{0,8}(?:去世|住院|休学|停职|离职|退役|"
    r"手术)|长了个?|得.{0,2}的病"
)
_COURSE = lazy(
    r"[ ]?(?:患者?)?[一-鿿]{0,4}?(?:晚期|早期|中期|末期|[一二三四1-4ivⅰ-ⅳ]{1,3} ?[abc]?期|"
    r"[一-鿿]?转移|复发|"
    r"病史|术后|(?:已经|有)?(?:[一二三四五六七八九十两\d]|好几|多|很多|几)+(?:来|多)?个?[年月](?!级)|"
    r"第[一二三四五六七八九十\d]+年|多年|发作|又?犯了|手术|住院|住[过了]|休[学假]|停职|辞职|"
    r"退役|化疗|放疗|开刀|携带者|后遗症|后神经|"
    r"确诊|恶化|加重|一直没好|没治好|在治|[一二两三四]型|[一二三四1-4]级|缓解期|去世|走的)|"
    r"了?(?:$|,)|了(?:$|[,:。])"
)
_OWNED_AFTER = lazy(
    r"[^。;!?\n,]{0,4},(?:我|[他她]|爸|妈|家里|家族)[一-鿿]{0,4}(?:有|得|是|患|天生|遗传|带)(?!点|没|吗)"
)
_OPEN = lazy(
    r"(?:被?确诊(?!病例|人数|率|标准|后|要|需|之|数|的|前|不|依据|流程)(?:为|是|了|患有?|得了|"
    r"出)*|(?:被|医[生院])?诊断(?:为|出|患有?|成|是)+|"
    r"(?:诊断书|诊断证明|病历|病理报告|出院小结|出院诊断|入院诊断|临床诊断|病假条|检验报告|残疾证)"
    r"(?:上|里|单|本)*(?:写|是|:|显示|提示)(?:着|的|我|有)*(?:是|:)?) ?(?P<what>[一-鿿a-z0-9]{2,24})"
)
_SURE = lazy(r"确诊|诊断书|诊断证明|病历|病理报告|出院|入院|病假条|临床|残疾证")
_LONG = lazy(
    r"[ ]?(?:患者?)?[一-鿿]{0,3}?(?:晚期|末期|[一二三四1-4ivⅰ-ⅳ]{1,3} ?[abc]?期|[骨脑肝肺]转移|"
    r"转移了|病史|术后|"
    r"又复发|复发了|携带者|后遗症)"
)
_NOT_AFTER = lazy(
    r"科|(?:专科)?医院|医(?!生)|专家|研究|门诊|病房|疫苗|药(?!物?治疗)|险|筛查(?!出|结果|报告|"
    r"阳|高)|知识|饮食|预防|"
    r"防治|领域|学会|中心|日(?!益)|周|宣传|讲座|义诊|协会|基金|诊疗|指南|模型|数据|试剂|快检|足的|"
    r"患者(?:能|可以|怎|应|吃|的|群|数|教育|服务)|病人(?:能|可以|怎|应|的)|"
    r"的(?:书|文章|课|知识|论文|新闻|症状|治疗|原因|预防|病因|机制|发病|新药|诊断|人|影响|传播|"
    r"区别|早期|检)|"
    r"人群|高发|发病|死亡率|概率|主题|早筛|电影|纪录|相关|护理|培训|康复中心|病毒株|毒株|怎么|"
    r"如何|吗|是什么|是不是"
)
_NOT_BEFORE = lazy(
    r"(?:预防|防治|抵御|研究|关于|有关|科普|害怕|担心|小心|避免|不是|没有?|未见|未发现|排除了?|并非|是不是|"
    r"有没有|会不会|针对|导致|引起|引发|诱发|增加|降低|减少|好像|什么是|觉得|认为|了解|介绍|讨论|"
    r"包括|包含|区分|识别|帮助|(?<![因诊断定评认称确])为|(?<![医生他她夫])给)[一-鿿]{0,5}$|"
    r"(?:[抗防怕像]|(?<!抗)无)[一-鿿]?$|有[点些]$"
)
_TOPIC = lazy(
    r"如果|假如|要是|万一|预防|避免|科普|文章|论文|小说|剧|电影|角色|主角|课题|课程|研究|怎么治|"
    r"怎么预防|怎么办|"
    r"是不是|会不会|有没有得|有哪些|什么是|人群|讲座|新闻|纪录片|节目|海报|代码|程序|系统|静态|"
    r"软件|数据集|模型|"
    r"捐|募|接口|用例|磁盘|硬盘|内存|服务器|集群|数据库|日志|网络|电脑|勒索|编译|构建|试剂|"
    r"医药代表|药代|卖|进货|药店|经销|保险条款|条款|能不能|可不可以|容易得|高发|培训|轮转|实习|"
    r"值班|专业|导师|"
    r"狗狗|猫咪|宠物|我家[猫狗]|养的[猫狗]|果树|植物|故障|网线|漏洞|根因|开玩笑|比喻|笑话|游戏里|朋友圈文|网上说|听说.{0,6}能|可能会得|避孕"
)
_MENTAL_JOKES = lazy(r"强迫症|拖延症|选择困难|脸盲|路痴")
_PREGNANT = lazy(
    r"(?:我|[他她]|老婆|妻子|太太|媳妇|女儿|姐|妹|嫂子?|女朋?友|女友|儿媳|同事|闺蜜)[一-鿿]{0,4}?(?<![没备不])怀"
    r"(?:孕(?!期的?[书课]|知识|app)|上了|了[一二两双]|二胎|三胎|双胞胎)"
)
_GENERIC = lazy(
    r"写|看|学|研究|讲|听|卖|怕|觉得|认为|支持|想|问|搜|读|推荐|聊|关注|了解|介绍|设计|做的|负责|开发|"
    r"治疗|照顾|护理|服务|采访|翻译|拍|整理|分享|公司|项目|工作|上班|的(?:药|书|课)"
)
_LAB = lazy(
    rf"(?P<lab>{LABS})(?![计仪表压]|试纸|监测|测量仪)(?P<gap>[^\d。;!?\n]{{0,12}}?)"
    r"(?P<number>\d{1,6}(?:\.\d{1,3})?(?:[/-]\d{2,3})?)(?P<unit>[ ]?[一-鿿a-z%/]{0,6})"
)
_LAB_WORD = lazy(
    rf"{LABS}(?:值|水平|指标)?(?:又|有点|一直|都|还|很|非常|特别|明显|轻度|稍微|比较|略|控制得?|好像|已经)*"
    r"(?:偏高|偏低|超标|升高|异常|不正常|不达标|爆表|失控|过[高低]|高了|低了|"
    r"[两二三四2-4]个加号|不好)(?!的人|人群|会|怎|吗)"
)
_NOT_A_LEVEL = lazy(r"[ ]?(?:元|块|折|号|楼|种|篇|分钟|版|台|款|章|页|条|次|人|节|路|件)")
_NORM = lazy(
    r"正常[值范]|参考|范围|标准|应该|目标|控制在|不超过|低于多少|多少|是指|文章|论文|数据集|卖|"
    r"京东|价|算法|"
    r"接口|产品|如果|超过"
)
_TESTED = lazy(
    rf"(?<![a-z]){TESTS}(?![a-z])[^。;!?\n]{{0,14}}?(?:[弱强]?阳性?(?!样本|率|预测|对照|数据|"
    rf"召回|症状|台)|恶性|高风险|高危|临界风险|"
    r"两条杠|两道杠|[(（]\+{1,4}[)）]|[一两二三四1-4]个加号|没通过|不乐观)|"
    r"(?:结节|钼靶|乳腺|甲状腺|彩超|b超)[^\d。;!?\n]{0,8}(?:4 ?[abc]|[3-6] ?[类级])(?![a-z])|"
    r"糖[耐筛](?:量)?[一-鿿]{0,6}(?:没过|没通过|异常|不过)|"
    r"(?<![没无])[一-鿿]{2,8}(?<!没有)(?<!现)(?:病史|家族史)(?![学料书])|"
    r"(?<![\d.])4[5-7], ?x{1,3}y{0,2}(?![a-z\d])|"
    r"(?<![a-z])(?:brca[12]?|egfr|apoe|hla-b27|jak2|ldlr|gjb2)[^。;!?\n]{0,6}(?:突变|携带|杂合|纯合|缺失)|"
    r"狭窄 ?(?:约|达|超过)?\d{2}%|"
    r"(?:ti|bi)-?rads ?(?:分类|分级)?[ :]?[3-6]|(?<![a-z])(?:hsil|lsil|cin ?[123i]{1,3}|ascus|"
    r"asc-us)(?![a-z])|"
    r"(?:精神|智力|视力|听力|肢体|言语|多重)?残疾[一二三四1-4]级|残疾证"
)
_DRUG = lazy(DRUGS)
_TAKES = lazy(
    r"(?:[吃服用打挂戒停换加减靠含吸注擦带备]|每[天日晚周]|[一二两三半\d]+[片粒针支颗]|注射|"
    r"开了|开的|开过|给.{0,3}开|处方|依赖|维持)[^。;!?\n]{0,8}$"
)
_DOSED = lazy(
    r"[ ]?(?:每[天日晚周]|一[天日]|早晚|\d+(?:\.\d+)? ?(?:mg|毫克|单位|片|粒)|"
    r"[一二两三四半]+[片粒针支]|吃|打|控制|维持|减量|"
    r"加量|停了|换成|治)"
)
_TREATMENT = lazy(TREATMENTS)
_UNDERGOES = lazy(
    r"(?:做|装|放|植入|切|在|去|接受|需要|要|次|完|正|刚|每周|开始|结束|靠)[^。;!?\n]{0,10}$"
)
_UNDERGONE = lazy(r"术?(?:[了过后中]|第|[一二两三四五六七八九十\d]+[年月次])")
_ASCII_WORDS = r"adhd|hiv|ptsd|ocd|covid|copd|sle|aids|ibd|pcos|als|bpd|asd|sma|ibs|cp|mds|hpv|gerd"
_ASCII = lazy(rf"(?<![a-z])(?:{_ASCII_WORDS})(?![a-z])")
_LETTERS = lazy(r"[a-z]{2}")
_ENDING_WORDS = (
    r"癌|瘤|囊肿|结石|息肉|炎|综合[征症]|栓塞|脑梗|缺血|纤维化|疱疹|湿疹|荨麻疹|癣|褥疮|贫血|"
    r"三体|瘫|障碍|发作|衰竭|"
    r"不全|结节|早衰|骨裂|骨折|血栓|感染|症|重疾|未闭|中毒性|肿块|占位"
)
_ENDING_HINT = lazy(_ENDING_WORDS)
_RESULT_WORDS = (
    r"血|尿|糖|压|胆|脂|肌|转氨酶|谷[丙草]|激素|抗[原体]|病毒|泌乳|睾酮|雌二醇|孕酮|蛋白|白细胞|"
    r"中性粒|二聚体|骨密度|"
    r"t值|c肽|射血|智商|精子|肺功能|空腹|餐后|视力|听阈|卵泡|胰岛|游离|呼吸暂停|幽门|碳1|"
    r"tsh|a1c|psa|cd4|amh|hcg|fsh|ca-?\d|cea|afp|nt ?[\d值]|egfr|bnp|ldl|ahi|phq|gad|scl-|hamd|"
    r"sds|sas|rads|alt|ast|dna|inr|ft[34]"
)
_RESULT_HINT = lazy(_RESULT_WORDS)
_TESTED_WORDS = (
    r"阳|恶性|高风险|高危|临界|两条杠|两道杠|\(\+|（\+|加号|没过|没通过|不乐观|异常|不过|hsil|"
    r"lsil|cin|ascus|asc-us|残疾|"
    r"结节|钼靶|乳腺|甲状腺|彩超|b超|病史|家族史|xy|xx|突变|携带|杂合|纯合|缺失|狭窄|rads"
)
_TESTED_HINT = lazy(_TESTED_WORDS)
_OPEN_WORDS = r"诊断|确诊|病"
_OPEN_HINT = lazy(_OPEN_WORDS)
_CHILD = "怀"
_SIGNS = (
    *(_ENDING_WORDS, LOOSE_ENDINGS, _ASCII_WORDS, _OPEN_WORDS, _RESULT_WORDS, _TESTED_WORDS),
    *(DRUGS, TREATMENTS, _CHILD),
)
_HINTS = Hints(DISEASES) | Hints(start for words in _SIGNS for start in openings(words))
"""Of these a text holds one that anything else here is to be looked for in."""
_STOPS = "。;!?！？；\n"
_REACH = 60
_ENDING = lazy(ENDINGS)
_LOOSE = lazy(LOOSE_ENDINGS)
_BODY = lazy(BODY)
_HAN = lazy(r"[一-鿿]")


@lru_cache(maxsize=1)
def _index() -> dict[str, tuple[str, ...]]:
    """Group the disease words by their first two characters, longest first."""
    grouped: dict[str, tuple[str, ...]] = {}
    for word in sorted(DISEASES, key=len, reverse=True):
        grouped[word[:2]] = (*grouped.get(word[:2], ()), word)
    return grouped


def chinese_statements(lower: str) -> Iterable[Range]:
    """Return the range of each statement about somebody's health in a lower-case text."""
    return _statements(lower) if not lower.isascii() and _HINTS.in_text(lower) else ()


def _statements(lower: str) -> Iterator[Range]:
    for start, end in _diseases(lower):
        if _is_somebodys(lower, _sentence(lower, start, end), start, end):
            yield start, end
    for match in _OPEN.finditer(lower) if _OPEN_HINT.search(lower) else ():
        if _told_by_doctor(lower, match):
            yield match.span()
    yield from _results(lower)
    yield from _treatments(lower)


def _diseases(text: str) -> Iterator[Range]:
    index = _index()
    known = not index.keys().isdisjoint(map(add, text, text[1:]))
    for at in range(len(text) - 1) if known else ():
        for word in index.get(text[at : at + 2], ()):
            if text.startswith(word, at):
                yield at, at + len(word)
                break
    for match in _ENDING.finditer(text) if _ENDING_HINT.search(text) else ():
        yield max(0, match.start() - 1), match.end()
    for match in _LOOSE.finditer(text):
        begin = max(0, match.start() - 10)
        if _BODY.search(text, begin, match.start()):
            yield match.start(), match.end()
    for match in _ASCII.finditer(text) if _LETTERS.search(text) else ():
        yield match.span()


def _sentence(text: str, start: int, end: int) -> Range:
    """Return the sentence around a range, at most ``_REACH`` characters to either side."""
    back, ahead = max(0, start - _REACH), min(len(text), end + _REACH)
    first = max(text.rfind(mark, back, start) for mark in _STOPS) + 1
    stops = [at for mark in _STOPS if (at := text.find(mark, end, ahead)) >= 0]
    return max(first, back), min(stops, default=ahead)


def _is_somebodys(text: str, sentence: Range, start: int, end: int) -> bool:
    first, last = sentence
    begin = max(first, text.rfind(",", first, start) + 1)
    stop = text.find(",", end, last)
    clause = text[begin : stop if stop >= 0 else last]
    ahead, following = text[max(first, start - 26) : start], text[end : min(last, end + 18)]
    near = text[max(begin, start - 16) : start]
    if _NOT_AFTER.match(following) or _NOT_BEFORE.search(near) or _TOPIC.search(clause):
        return False
    if _TOPIC.search(text[first:begin]) and not _PERSON.search(clause):
        return False
    if _asks(text, last, clause):
        return False
    if _MENTAL_JOKES.search(text, max(0, start - 3), end) and not _DIAGNOSED.search(ahead):
        return False
    if _DIAGNOSED.search(ahead) or _LONG.match(following) or _OWNED_AFTER.match(following):
        return True
    return _has_it(text, first, start, following)


def _told_by_doctor(text: str, match: re.Match[str]) -> bool:
    """Accept an unknown name of a disease too, where only a disease can stand."""
    clause = _clause(text, *match.span())
    if _TOPIC.search(clause) or re.match(r"什么|哪|怎|不|没|失败|异常|工具", match["what"]):
        return False
    return bool(
        _SURE.search(match[0]) or _PERSON.search(text, max(0, match.start() - 16), match.end())
    )


def _asks(text: str, last: int, clause: str) -> bool:
    return text[last : last + 1] in ("?", "？") and bool(
        re.search(r"吗|能不能|怎么|什么|哪|如何|会不会|是不是", clause)
    )


def _has_it(text: str, first: int, start: int, following: str) -> bool:
    """Accept a person shortly before who has the disease, is it, or suffers its course."""
    persons = list(_PERSON.finditer(text, max(first, start - 24), start))
    if not persons:
        return False
    gap = text[persons[-1].end() : start]
    if _GENERIC.search(gap):
        return False
    linked = re.search(
        r"有|是|因|得|患|生|带|犯|闹|落|死|治|属|叫|长|[先天遗传慢急重轻中度性]$|左|右|双", gap
    )
    return bool(linked) or len(gap) <= 4 or bool(_COURSE.match(following))


def _results(text: str) -> Iterator[Range]:
    measured = bool(_RESULT_HINT.search(text))
    for match in _LAB.finditer(text) if measured else ():
        clause = _clause(text, *match.span())
        if not (_NOT_A_LEVEL.match(match["unit"]) or _NORM.search(clause)):
            yield match.span()
    for match in _LAB_WORD.finditer(text) if measured else ():
        if not _TOPIC.search(_clause(text, *match.span())):
            yield match.span()
    for match in _TESTED.finditer(text) if _TESTED_HINT.search(text) else ():
        if not _TOPIC.search(_clause(text, *match.span())):
            yield match.span()


def _treatments(text: str) -> Iterator[Range]:
    for match in _DRUG.finditer(text):
        start, end = match.span()
        taken = _TAKES.search(text[max(0, start - 14) : start]) or _DOSED.match(text, end)
        if taken and not _NORM.search(_clause(text, start, end)) and not _generic(text, start, end):
            yield start, end
    for match in _PREGNANT.finditer(text) if _CHILD in text else ():
        if not (_generic(text, *match.span()) or re.search("没|不|想|备|准备|打算", match[0])):
            yield match.span()
    for match in _TREATMENT.finditer(text):
        start, end = match.span()
        ahead = text[max(0, start - 20) : start]
        undergone = _UNDERGOES.search(ahead) or _UNDERGONE.match(text, end)
        if undergone and _PERSON.search(ahead) and not _generic(text, start, end):
            yield start, end


def _generic(text: str, start: int, end: int) -> bool:
    return bool(_TOPIC.search(_clause(text, start, end)) or _NOT_AFTER.match(text, end))


def _clause(text: str, start: int, end: int) -> str:
    """Return the match with what surrounds it up to a comma or the end of the sentence."""
    begin = max(text.rfind(mark, max(0, start - 40), start) for mark in "。!?;\n,")
    begin = max(begin + 1, start - 40)
    stops = [at for mark in "。!?;\n," if (at := text.find(mark, end, end + 16)) >= 0]
    return text[begin : min(stops, default=end + 16)]
