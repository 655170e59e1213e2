"""Does this text try to command a model instead of telling it something?

Prompt-injection phrasing in Chinese and English: dropping earlier instructions or rules, taking another
role without limits, forged system messages, asking for the system prompt or keys, hiding from the user.
Wishes about form ("answer in bullet points", 以后回答简短一点) and "ignore" with an everyday object pass.
Disguises (full-width, invisible or look-alike characters) are taken off first.
"""

from __future__ import annotations

import re

from mnemic.longterm.sensitive.fold import Folded, fold
from mnemic.longterm.sensitive.hints import Hints

__all__ = ["instruction_like", "reads_as_order"]

_DROP_EN = (
    r"(?:ignore|disregard|forget|override|overrule|bypass|discard|dismiss|skip|neglect|violate|break|"
    r"drop|erase|"
    r"set aside|pay no attention to|do(?: not|n't) (?:follow|obey|listen to)|stop (?:following|"
    r"obeying)|no longer follow)"
)
_ORDERS_EN = (
    r"(?:instructions?(?! (?:for|of|about|on|in) (?:the |my |a )?(?!you|this|chat|system))|prompts?|"
    r"directions?|directives?|guidelines|guardrails|safety (?:rules|filters?|policies|"
    r"measures|guidelines)|system (?:messages?|prompts?|rules|instructions?)|programming|training|"
    r"constraints|"
    r"restrictions|content polic(?:y|ies)|commands?)"
)
_EARLIER_EN = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|initial|original|existing|former|past|"
    r"system|developer|"
    r"your|any|all|every|other|safety|given|hidden|the)"
)
_SECRETS_EN = (
    r"(?:(?:the |your )?system prompt|hidden (?:prompt|instructions?)|initial (?:prompt|"
    r"instructions?)|your (?:instructions|"
    r"prompt|guidelines|rules)|developer message|api[ _-]?keys?|(?:all|every|any|the|users?'?s?|"
    r"stored|your|each) "
    r"(?:[a-z]{1,12} ){0,2}(?:keys|passwords?|credentials|secrets|tokens)\b|your environment variables|"
    r"(?:all|other|every) (?:[a-z' ]{0,16})(?:memories|memory|conversations?|chat history|user data))"
)
# Each of these stands at the beginning of a word.
_EN_WORDS = (
    rf"{_DROP_EN} (?:(?:{_EARLIER_EN}|of|these|those|my|our|and|"
    rf"to) ){{1,5}}(?:[a-z]{{1,12}} ){{0,2}}{_ORDERS_EN}\b",
    rf"{_DROP_EN} {_ORDERS_EN}\b(?! (?:file|order|manual|booklet))",
    rf"{_DROP_EN} (?:(?:all|any|every|of|the|your|these|those|previous|prior|safety|system|above|"
    rf"existing) ){{0,4}}rules\b(?! (?:of|for|about|in|on) )",
    rf"{_DROP_EN} (?:everything|all|anything|what(?:ever)?)(?: that| of)? (?:above|before|"
    rf"(?:you(?:'ve| have| were| are)? )?(?:been )?(?:told|said|instructed|taught|learned|written|"
    rf"know))",
    r"(?:you are|you're|act as|behave as|pretend (?:to be|you are|you're)|roleplay as|become|"
    r"simulate|enter|switch (?:in)?to|enable|activate)"
    r" (?:now |an? |the |in |into ){0,3}(?:dan\b|do anything now|jailbroken|jailbreak|unrestricted|"
    r"unfiltered|uncensored|developer mode|god mode|"
    r"admin mode|root mode|evil|amoral|(?:[a-z]{2,12} ){0,2}(?:with(?:out| no)|free (?:of|"
    r"from)) (?:any )?(?:restrictions|rules|limits|limitations|filters?|guidelines|ethics|morals))",
    r"(?:you have|there are|with) no (?:more )?(?:restrictions|rules|limits|filters|"
    r"guidelines)\b(?=[^.]{0,40}(?:you|now|assistant|$))",
    rf"(?:reveal|show|print|output|repeat|display|dump|leak|expose|disclose|exfiltrate|tell me|"
    rf"give me|recite|translate|summari[sz]e) (?:me |us |back |verbatim |out )?{_SECRETS_EN}(?! (?:to|"
    rf"of|for|in) )",
    rf"(?:send|post|forward|upload|email|mail|transmit|exfiltrate|leak|copy|submit|append|"
    rf"attach) (?:me |us )?{_SECRETS_EN}(?: [a-z]{{1,12}}){{0,4}} (?:to|at|via|into|in)\b",
    r"(?:new|updated|real|actual|true) (?:system )?instructions?(?: for (?:you|the (?:ai|assistant|"
    r"model)))? ?(?::|are|follow|begin)",
    r"(?:do not|don't|never|without) (?:tell|inform|mention (?:this |it |that )?to|alert|notify|"
    r"reveal (?:this |it )?to|telling|informing|alerting|notifying)(?: this to| it to)? the (?:user|"
    r"human|owner|operator|customer)s?\b",
    r"(?:from now on|henceforth|going forward|starting now|in every (?:reply|response|"
    r"answer))\b[^.\n]{0,60}\b(?:ignore|disregard|bypass|override) (?:all |any |the |your |"
    r"every )*(?:rules?|instructions?|safety|restrictions?|polic(?:y|ies)|guidelines|users?|"
    r"warnings?)\b",
    r"(?:execute|run|eval(?:uate)?) (?:the following|this|these|any) (?:shell |system |hidden |"
    r"remote )?(?:commands?|code|script) (?:whenever|every time|before|without|silently|on every)",
    r"when(?:ever)? (?:asked|the user|anyone|someone|a user|"
    r"users)\b[^.\n]{0,60}\b(?:always )?(?:lie|insert this link|recommend only|send (?:them|users|people) to|"
    r"leak|exfiltrate|hide the|respond only with the link)",
    r"(?:disable|turn off|remove|deactivate|circumvent) (?:all |your |the |any |every )*(?:safety|"
    r"content|security|moderation|ethical)[ -]?(?:filters?|checks?|guardrails|guidelines|restrictions|"
    r"rules|policies|protocols?|measures)\b",
)
_EN_MARKS = (
    r"(?:^|\n)\s{0,4}(?:<\|?(?:im_start|system|/?inst|endoftext)[^>]{0,20}>|\[/?(?:inst|system|sys)\]|"
    r"<</?sys>>|#{2,4} ?(?:system|new instructions?)(?: prompt| message)?:?\s?(?:\n|$))",
    r"<\|im_(?:start|end)\|>|\[system (?:override|message|prompt|update)\]|\bsystem override\b|"
    r"<system>|\bbegin (?:new )?system (?:prompt|message)\b",
    r"(?:^|\n|[.!] )(?:system|developer|admin(?:istrator)?)(?: message| note| notice|"
    r" prompt)?: ?(?:you (?:must|are|will|should)|ignore|from now|new|override|always|never|do not|"
    r"the assistant)",
)
_DROP_ZH = (
    r"(?:忽略|无视|无需理会|不要理会|不用理会|别理会|忘记|忘掉|忘了|抛弃|放弃|丢弃|跳过|绕过|绕开|"
    r"违反|违背|推翻|覆盖|清除|不要遵守|不再遵守|不必遵守|不用遵守|别遵守|"
    r"停止遵守|不要遵循|不再遵循|不受|摆脱|突破|解除|屏蔽|關閉|关闭)(?!限制级)"
)
_EARLIER_ZH = (
    r"(?:之前|以前|先前|前面|上面|上述|以上|此前|原来|原先|原有|已有|既有|系统|开发者|你|您|你们|所有|"
    r"全部|任何|一切|其他|安全|内置|预设|初始|这些|那些|当前|默认|"
    r"的|给|你的|过|说|设定|收到|得到|被|告诉|和|与|一切的)"
)
_ORDERS_ZH = (
    r"(?:指令|指示|命令|提示词?|系统提示|设定|规则|规定|规范|限制|约束|要求|准则|守则|安全策略|"
    r"安全措施|安全限制|过滤|审查|内容政策|训练|对话)"
)
_SECRETS_ZH = (
    r"(?:系统提示词?|系统指令|隐藏(?:的)?(?:指令|提示词?)|初始(?:指令|提示词?)|内部(?:指令|提示词?|"
    r"规则)|提示词|开发者消息|(?:所有|全部|每个|任何|一切|"
    r"用户的?|其他用户的?|存储的|你的)[一-鿿]{0,6}(?:密钥|密码|口令|令牌|凭证|凭据|token|api ?key|key|"
    r"秘密|记忆|聊天记录|隐私|环境变量))"
)
_ZH = (
    rf"{_DROP_ZH}(?:掉|了)?{_EARLIER_ZH}{{1,6}}[一-鿿]{{0,3}}?{_ORDERS_ZH}",
    rf"{_DROP_ZH}(?:掉|了)?(?:规则|限制|安全规则|指令|约束|命令|准则|内容审查)(?!的?(?:引擎|文件|表|"
    rf"条件|大小|长度|速度|频率))",
    r"(?:忽略|忘记|忘掉|无视)(?:掉|了)?(?:之前|前面|上面|上述|以上|此前)(?:的)?(?:一切|所有|全部|内容|"
    r"所有内容|对话|信息)",
    r"(?:你现在是|从现在起你是|从现在开始你是|扮演|假装(?:你)?是|切换(?:到|成|为)|"
    r"(?<!手机)(?<!电脑)(?<!设备)(?:进入|启用|开启|激活)|"
    r"变成)[一-鿿a-z ]{0,12}?(?:没有(?:任何)?(?:限制|约束|规则|道德)|不受(?:任何)?(?:限制|约束|规则)|"
    r"无限制|越狱|开发者模式|上帝模式|调试模式|"
    r"管理员模式|dan\b)",
    rf"(?:输出|打印|显示|重复|复述|泄露|透露|告诉我|说出|给出|展示|公布|翻译|返回|列出|导出|"
    rf"交出)(?:一下|出|来|给我|你)?(?:你的|你|完整的?|全部的?|原始的?|"
    rf"所有的?){{0,3}}{_SECRETS_ZH}",
    rf"(?:把|将){_SECRETS_ZH}[一-鿿a-z0-9,，、 ]{{0,10}}?(?:发|传|上传|发送|转发|提交|泄露|告诉|复制|"
    rf"写|交|输出|打印|显示)",
    r"(?:不要|别|不许|不得|禁止|无需|不用)(?:让|告诉|告知|通知|提醒|向)(?:任何)?(?:用户|使用者|主人|"
    r"管理员)(?:知道|发现|透露|提及)?",
    r"(?:新的|最新|真正的?)(?:系统)?(?:指令|命令|系统提示)(?:如下|是|为|:)",
    r"(?:^|\n|。)(?:系统|开发者|管理员)(?:消息|指令|提示|通知)?: ?(?:你(?:必须|现在|要|应)|忽略|"
    r"从现在|新|请忽略|无视)",
    r"(?:从现在(?:起|开始)|今后|以后|此后|记住)[^。\n]{0,24}(?:忽略|无视|绕过|不再遵守|不用遵守|"
    r"违反)[^。\n]{0,8}(?:规则|指令|限制|规定|安全|政策|"
    r"约束|警告)",
    r"(?:以后|从现在(?:起|开始)|今后|每次|无论)[^。\n]{0,30}(?:都|就)?[^。\n]{0,12}(?:密钥|密码|口令|"
    r"令牌|记忆|对话|聊天|隐私|数据|token|"
    r"key|内容)[^。\n]{0,12}(?:发送到|发到|上传到|转发到|传到|发给)[^。\n]{0,6}(?:https?:|"
    r"[a-z0-9-]+\.(?:com|cn|invalid|"
    r"net|org|io|example|test)|这个地址|该地址|下面的地址)",
    r"(?:执行|运行)(?:以下|下面|这段|这些)(?:的)?(?:隐藏|系统|shell)?(?:命令|代码|脚本)(?:且|并|"
    r"而)?(?:不要|无需|每次|别)",
)
_ENGLISH = re.compile(rf"\b(?:{'|'.join(_EN_WORDS)})")
_MARKS = re.compile("|".join(_EN_MARKS))
_MARK_HINTS = Hints(("<", "[", "##", "system", "developer", "admin"))
_CHINESE = re.compile("|".join(_ZH))
_OBJECTS_WORDS = """
指令 指示 命令 提示 设定 规则 规定 规范 限制 约束 要求 准则 守则 安全 过滤 审查 内容 政策 训练 对话 一切 所有
全部 信息 道德 越狱 模式 dan 开发者 密钥 密码 口令 令牌 凭证 凭据 token key 秘密 记忆 聊天 隐私 环境变量 数据
系统 用户 使用者 主人 管理员 警告 代码 脚本
"""
_OBJECTS_ZH = Hints(_OBJECTS_WORDS.split())
"""What the orders in Chinese are about: each of them names one."""
_LATIN_WORD = re.compile(r"[a-z]{3}")
_HINTS = Hints(
    (
        "ignore",
        "disregard",
        "forget",
        "overrid",
        "overrul",
        "bypass",
        "discard",
        "dismiss",
        "skip",
        "neglect",
        "violate",
        "break",
        "drop",
        "erase",
        "set aside",
        "attention",
        "follow",
        "obey",
        "listen",
        "you are",
        "you're",
        "act as",
        "behave",
        "pretend",
        "roleplay",
        "become",
        "simulate",
        "enter",
        "switch",
        "enable",
        "activate",
        "restrictions",
        "rules",
        "reveal",
        "show",
        "print",
        "output",
        "repeat",
        "display",
        "dump",
        "leak",
        "expose",
        "disclose",
        "exfiltrate",
        "tell me",
        "give me",
        "recite",
        "send",
        "post",
        "forward",
        "upload",
        "mail",
        "transmit",
        "copy",
        "submit",
        "append",
        "attach",
        "<|",
        "[inst",
        "system",
        "sys>",
        "instruction",
        "the user",
        "the human",
        "execute",
        "run ",
        "disable",
        "turn off",
        "remove",
        "circumvent",
        "no limits",
        "no filters",
        "developer",
        "admin",
        "return",
        "translate",
        "summar",
        "whenever",
        "when ",
    )
)
_ORDERS = _HINTS | Hints(
    ("limits", "filters", "guidelines", "the owner", "the operator", "the customer", "eval")
)
"""Each English order holds one of these; those in a text that is all ASCII, one of the fewer ``_HINTS``."""
_SPACED = re.compile(r"[ \t]{2,}")
_APART = re.compile(r"[ .\-_*][A-Za-z][ .\-_*][A-Za-z][ .\-_*]")
_LETTERED = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ .\-_*]){5,60}[A-Za-z](?![A-Za-z])")
_JOINED_ZH = re.compile(r"[ \t·._*\-](?<=[一-鿿].)[ \t·._*\-]{0,2}(?=[一-鿿])")


def instruction_like(text: str) -> bool:
    """Tell whether ``text`` reads as an order to a model (Chinese or English), disguised or not."""
    return reads_as_order(fold(text))


def reads_as_order(folded: Folded) -> bool:
    """The same of a text whose disguises are off."""
    lower = folded.lower
    if lower.isascii() and not _HINTS.in_text(lower):
        return _is_lettered(lower) and _spelled_out(lower)
    plain = _SPACED.sub(" ", lower)
    plain = plain if plain.isascii() else _JOINED_ZH.sub("", plain)
    return _is_order(plain) or (_is_lettered(plain) and _spelled_out(plain))


def _is_order(plain: str) -> bool:
    """Every English pattern holds three letters in a row, every Chinese one a Chinese character."""
    if _LATIN_WORD.search(plain) and (_is_english_order(plain) or _is_marked(plain)):
        return True
    return not plain.isascii() and _OBJECTS_ZH.in_text(plain) and bool(_CHINESE.search(plain))


def _is_english_order(plain: str) -> bool:
    return _ORDERS.in_text(plain) and _ENGLISH.search(plain) is not None


def _is_marked(plain: str) -> bool:
    return _MARK_HINTS.in_text(plain) and bool(_MARKS.search(plain))


def _is_lettered(plain: str) -> bool:
    return bool(_APART.search(plain) and _LETTERED.search(plain))


def _spelled_out(lower: str) -> bool:
    """Read ``i g n o r e  p r e v i o u s`` as the words it spells."""
    joined = _LETTERED.sub(lambda run: re.sub(r"[ .\-_*]", "", run[0]), lower)
    return _is_order(_SPACED.sub(" ", joined)) or bool(
        re.search(
            r"(?:ignore|disregard|forget)(?:all)?(?:the)?(?:previous|prior|above)(?:instructions|rules)",
            joined,
        )
    )
