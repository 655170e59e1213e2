# ruff: noqa: E501 (one pattern a row is easier to review than wrapped patterns)
"""Which parts of a turn are not the speaker's own words about himself?

``readable`` blanks them out at equal length, so offsets stay valid: code, quoted and pasted text, pages
and files that are read aloud, text to translate or polish, roles that are played.
"""

from __future__ import annotations

import re
from functools import cache

HIDDEN = "\ue000"
LONGEST_READ = 12_000
TAKEN_BACK_WITHIN = 60

_EN_TEXT = (
    r"(?:text|sentences?|paragraphs?|passage|e-?mail|mail|letter|essay|draft|poem|lyrics?|lines?|caption|bio|story|chapter|scene|dialogue|speech|post|tweet|message|review|abstract|quote|"
    r"code|grammar|wording|intro(?:duction)?|statement|monologue|article|translation|notes?|script|phrase|resume|cv|excerpt|snippet|log|page|file|document|config|prompt|transcript|summary|report|pop-?up|banner|advert|ad|footer|header|tooltip|dialog|flyer|leaflet|chatbot)"
)
_EN_STRONG = r"(?:translat\w+|proof-?read\w*|polish|rephrase|paraphrase|reword|rewrite|transcribe|summari[sz]e|copy-?edit|spell-?check|back-?translate|grammar-?check)"
_EN_WEAK = r"(?:fix|check|edit|improve|correct|explain|review|analy[sz]e|continue|complete|format|classify|shorten|critique|grade|simplify|convert|extract|label|tag|annotate|write|draft|compose|create|finish|read|rate|judge|make up|tell me|include|mention|put|say|type|print|return|output|parse|reply with)"
_ZH_STRONG = "(?:翻译|翻成|翻一下|译成|译为|译一下|润色|改写|校对|校稿|续写|扩写|缩写|仿写|纠错|改病句|病句|总结|概括|归纳|提炼|摘要|复述|转述|转成|转换成|写成|改成(?:文言|诗|英)|造句|断句|朗读|抄写)"
_ZH_TEXT = "(?:这|下面|以下|下列|原文|上面|前面)(?:这)?(?:一)?(?:句|段|篇|封|首|些|个|份|条|是|的|内容|文字|文本|话|代码|文章|邮件|作文|日志|对话|文案|简历)"
_ZH_PAGE = "(?:网页|页面|文件|文章|文档|邮件|评论|注释|日志|帖子|聊天记录|说明书|README|readme|公告|新闻|简介|简历|短信|截图|图片|字幕|书|小说|剧本|台词|歌词|歌|诗|主角|角色|人物|男主|女主|旁白|对白|课文|论文|代码|提示词|弹幕|标语|海报|微博|朋友圈|配置|脚本|PDF|pdf|附件|模板)"


@cache
def _blocks() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(pattern, re.IGNORECASE | re.DOTALL)
        for pattern in (
            r"```.*?(?:```|\Z)",
            r"~~~.*?(?:~~~|\Z)",
            r"<([a-z][\w-]{1,30})(?:\s[^<>]{0,200})?>.{0,8000}?</\1\s*>",
            r"<!--.{0,4000}?(?:-->|\Z)",
            r"(?m:^[ \t]*>[^\n]*)",
            r"(?m-i:^[ \t]*(?:#include|import [\w.*{]|from [\w.]+ import|def \w+\(|class \w+[:({ ]|return [\w({\[]|const \w|let \w+ ?[=:;]|var \w+ ?[=:;]|function \w*\(|public \w+ \w+|private \w+ \w+|SELECT |INSERT |\d{4}-\d\d-\d\d[T ]\d\d:|Traceback|at [\w.$]+\(|\{|\}|//|#!|\$ )[^\n]*)",
            r"(?m:^[^\n]*(?:[;{}]|=>|\);?)[ \t]*$)",
            r"(?m:^(?:From|To|Subject|Cc|Date|Sent|发件人|收件人|主题): [^\n]*\n(?:[^\n]+\n?)*)",
        )
    )


@cache
def _rest() -> tuple[re.Pattern[str], ...]:
    """Patterns after whose match the rest of the turn is somebody else's text."""
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"\b{_EN_STRONG}\b[^.:?!\n]{{0,100}}[:：\n]",
            r"\b(?:put|turn|render|change|convert|say|write|express|give me)\b[^.:?!\n]{0,30}\b(?:in|into|to) (?:\w+ )?(?:english|german|french|spanish|italian|chinese|japanese|portuguese|dutch|korean|russian|latin|polish|arabic|hindi|swedish|greek|plain \w+|passive|past tense|one word|formal \w+|python|rust|json|sql|verse)\b[^.:?!\n]{0,20}[:：\n]",
            r"(?m:^(?:now )?(?:in|into|to) (?:english|german|french|spanish|italian|chinese|japanese|portuguese|dutch|korean|russian|latin|welsh|polish|arabic|hindi|swedish|greek)(?:,? please)?[:：])",
            r"\b(?:somebody|someone|he|she|they|a (?:user|guy|woman|man|stranger|reader|commenter)|people|the (?:author|speaker|poster|op|commenter|narrator|quote)|reviewers?)\b (?:\w+ ){0,3}?(?:commented|wrote|writes|says|said|posted|replied|asked|tweeted|texted|claims|claimed)\b[^.:?!\n]{0,20}:",
            r"\b(?:imitate|mimic|copy|match|repeat|recite|continue|follow|quote)\b[^.:?!\n]{0,30}\b(?:tone|style|voice|sentence|phrase|pattern|words|after me|this)\b[^.:?!\n]{0,20}[:：\n]",
            r"(?:有人|网友|某人|网上|博主|楼主|作者|读者|他|她|群里|评论区|弹幕)[^。？?\n，：:]{0,10}(?:写|说|发|留言|评论|问|回复|回)(?:了|道|着|的是)?(?:一?句|一?条|这样)?[：:]",
            r"\b(?:turn|make|change|convert|rewrite|put|negate|shorten|expand|transform)\b (?:this|that|the following|these|it)\b[^.:?!\n]{0,40}[:：\n]",
            rf"\b{_EN_WEAK}\b[^.:?!\n]{{0,60}}\b{_EN_TEXT}\b[^.:?!\n]{{0,60}}[:：\n]",
            rf"\b(?:here'?s?(?: is| are)?|below is|this is|the following(?: is)?|attached is)\b[^.:?!\n]{{0,50}}\b{_EN_TEXT}\b[^.:?!\n]{{0,60}}[:：\n]",
            rf"\b(?:this|the|that|a|his|her|their|my|one|an) (?:\w+ ){{0,2}}(?:{_EN_TEXT}|readme|comment|website|web ?site|web ?page|bot|site|wall|screenshot|sign|note|book|novel|song|character|narrator|hero(?:ine)?|protagonist|contract|label|issue|ticket|docs?|pdf)s?\b[^.:?!\n]{{0,40}}\b(?:says?|said|reads?|states?|goes|tells?|wrote|writes|contains?|has)\b[^.:?!\n]{{0,20}}[:：,]",
            r"(?m:^(?:text|input|prompt|context|passage|document|content|example|original|source|article|transcript|email)s?[ \t]*:)",
            rf"{_ZH_STRONG}[^。：:？?\n]{{0,50}}[：:\n]",
            rf"(?:帮我|请|麻烦|看看|看下|检查|修改|改改|改一下|评价|点评|分析|解释|判断|朗读|排版|读|评)[^。：:？?\n]{{0,30}}?{_ZH_TEXT}[^。：:？?\n]{{0,30}}[：:\n]",
            rf"{_ZH_TEXT}[^。：:？?\n]{{0,20}}[：:\n]",
            rf"{_ZH_PAGE}[^。？?\n，]{{0,14}}(?:写着|写道|写了|写的是|里写|说|提到|提示|唱|是这样|显示|有一行|有一句|有句|出现|备注|注明|标着|标注)[^。？?\n：:]{{0,14}}[：:，,]",
            r"写(?:一)?(?:篇|首|段|封|个|句|份)[^。？?\n：:]{0,30}[：:]",
            r"(?:开头|结尾|内容|标题|主题|首句|台词|原文|文本|正文|题目|句子|例句)(?:是|为|如下)?[：:]",
        )
    )


@cache
def _roles() -> re.Pattern[str]:
    """Words after which a turn plays a role or a thought through, unless it is for a session."""
    return re.compile(
        r"\b(?:suppose|supposing|imagine|pretend|hypothetically|let'?s (?:role-?play|pretend|imagine|suppose|assume)|assume (?:that )?(?:I|we)|role-?play|act as|you are now|play the (?:role|part) of|in character|in an alternate|for the sake of argument)\b"
        r"|(?:假设|设想|想象一下|想象|假定|假装|扮演|角色扮演|你现在是|你将扮演|从现在开始你是|来演|演一个|代入|情景模拟|模拟面试)",
        re.IGNORECASE,
    )


def _of_session(view: str, at: int) -> bool:
    """Tell whether what stands shortly before a position binds it to this conversation."""
    before = re.split(r"[.!?。！？\n]", view[max(0, at - 80) : at])[-1]
    return re.search(r"\b(?:chat|session|conversation|thread)\b|会话|对话|聊", before) is not None


@cache
def _inline() -> re.Pattern[str]:
    return re.compile(
        r"`[^`\n]{1,300}`|“[^“”]{1,2000}”|‘[^‘’]{1,2000}’(?![a-z])|「[^「」]{1,2000}」|『[^『』]{1,2000}』"
        r"|(?<![\w\"])\"[^\"\n]{1,2000}\"|(?<![\w'])'[^'\n]{1,300}'(?!\w)"
    )


@cache
def _name_like() -> re.Pattern[str]:
    spoken = r"(?:我|你|记住|以后|必须|\bI\b|\bI'|\bmy\b|\bmust\b|\balways\b|\bremember\b|\bwe\b|\byou\b|[，。！？,!?])"
    return re.compile(
        rf"(?!.*{spoken})(?:\S{{1,16}}|\S{{1,16}}(?: \S{{1,16}}){{1,2}})", re.IGNORECASE
    )


@cache
def _backwards() -> re.Pattern[str]:
    back = r"(?:this|that|it|the above|the (?:previous )?(?:sentence|text|line|paragraph)s?(?: above)?)"
    return re.compile(
        rf"\b{_EN_STRONG}\s+{back}\b|(?:把|将|帮我把)?(?:上面|前面|上述|以上|这|刚才)(?:的|这)?(?:一)?(?:句|段|篇|些|首)?(?:话|文字|内容)?[^。，,\n]{{0,6}}?{_ZH_STRONG}|{_ZH_STRONG}(?:一下)?(?:上面|前面|以上|这句|这段)",
        re.IGNORECASE,
    )


@cache
def _command() -> re.Pattern[str]:
    """A sentence that is nothing but an order to work on the words that it brings."""
    polite = r"(?:(?:please|can you|could you|would you|kindly|hey|hi|now|help me|i need you to|i want you to)[,\s]+){0,3}"
    zh = r"(?:(?:请|麻烦|帮我|帮忙|你|能不能|可以|把|将|给我|，)\s*){0,4}"
    return re.compile(rf"{polite}{_EN_STRONG}\b|{zh}[^，。：:]{{0,12}}?{_ZH_STRONG}", re.IGNORECASE)


def is_command(sentence: str) -> bool:
    """Tell whether a sentence orders to translate, polish or sum up the words it holds."""
    return _command().match(sentence) is not None


def is_joke(text: str) -> bool:
    """Tell whether the speaker takes the whole turn back as a joke."""
    return (
        re.search(
            r"\b(?:just kidding|only kidding|i'?m kidding|jk|just joking|i'?m joking|only joking|not really lol|sarcasm|pulling your leg|kidding!)\b|(?:^|\s)/s(?:$|\s)|"
            r"逗你(?:玩|的)|开(?:个|了个)?玩笑(?!的人)|骗你的|瞎说的|胡说的|闹着玩|说笑的|皮一下|吹牛的",
            text,
            re.IGNORECASE,
        )
        is not None
    )


def takes_back(text: str) -> bool:
    """Tell whether a turn opens with the words that make a joke of the turn before it."""
    return is_joke(text[:TAKEN_BACK_WITHIN])


def readable(text: str) -> str:
    """Return the text with everything blanked that may not be read as a statement; equal length.

    Blocks become line ends (they part sentences), inline quotations become one private character a
    character. Beyond 12,000 characters a turn is a paste: its middle is blanked.
    """
    view = text.replace("’", "'").replace("\ue000", " ")
    if len(view) > LONGEST_READ:
        half = LONGEST_READ // 2
        view = view[:half] + "\n" * (len(view) - 2 * half) + view[-half:]
    for pattern in _blocks():
        view = pattern.sub(lambda found: "\n" * len(found[0]), view)
    view = _inline().sub(_hide_quote, view)
    return _without_foreign_rest(view)


def _hide_quote(found: re.Match[str]) -> str:
    inner = found[0][1:-1]
    return found[0] if _name_like().fullmatch(inner) else HIDDEN * len(found[0])


def _without_foreign_rest(view: str) -> str:
    starts = [match.end() for pattern in _rest() if (match := pattern.search(view))]
    starts += [m.end() for m in _roles().finditer(view) if not _of_session(view, m.start())][:1]
    if starts:
        cut = min(starts)
        view = view[:cut] + "\n" * (len(view) - cut)
    back = _backwards().search(view)
    if back and len(view[back.end() :].strip()) < 60:
        view = "\n" * back.start() + view[back.start() :]
    return view
