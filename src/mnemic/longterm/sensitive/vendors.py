"""Which strings are credentials by their very shape, whatever stands around them?

One row a family: the literal that must occur before the pattern is tried, the category and the pattern.
Shapes follow the vendors' own documentation. Values that are plainly masked or example text pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern, lazy
from mnemic.longterm.sensitive.shapes import entropy, is_blank_form
from mnemic.text import holds_any

_B = r"(?<![A-Za-z0-9])"
_E = r"(?![A-Za-z0-9_-])"


def _family(hints: str, category: str, form: str) -> tuple[tuple[str, ...], str, Pattern]:
    return tuple(hints.split()), category, lazy(form)


_FAMILIES = (
    _family("KIA SIA BIA CCA", "api_key", rf"{_B}A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{12,20}}{_E}"),
    _family(
        "ABSK bedrock-api",
        "api_key",
        rf"{_B}(?:ABSK[A-Za-z0-9+/]{{60,}}={{0,2}}|bedrock-api-key-[A-Za-z0-9+/=]{{16,}})",
    ),
    _family("AIza", "api_key", rf"{_B}AIza[\w-]{{30,40}}{_E}"),
    _family("ya29. GOCSPX-", "token", rf"{_B}(?:ya29\.[\w-]{{20,}}|GOCSPX-[\w-]{{20,}})"),
    _family(
        "LTAI AKID AKLT",
        "api_key",
        rf"{_B}(?:LTAI[A-Za-z0-9]{{12,24}}|AKID[A-Za-z0-9]{{13,40}}|AKLT[A-Za-z0-9]{{20,60}}){_E}",
    ),
    _family(
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        "token",
        rf"{_B}(?:gh[pousr]_[A-Za-z0-9]{{30,255}}|github_pat_[A-Za-z0-9_]{{22,255}}){_E}",
    ),
    _family(
        "glpat- glcbt- gldt- glrt glptt- glft- glsoat- glimt- glagent- glffct- gloas- glwt- GR1348941",
        "token",
        rf"{_B}(?:gl(?:pat|cbt|dt|rt|rtr|ptt|ft|soat|imt|agent|ffct|oas|wt)-[A-Za-z0-9_.-]{{18,300}}|"
        rf"GR1348941[\w-]{{20,50}})(?![\w-])",
    ),
    _family(
        "xox xapp-",
        "token",
        rf"{_B}(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{14,260}}|xapp-\d-[A-Za-z0-9-]{{20,160}}){_E}",
    ),
    _family(
        "hooks.slack discord",
        "token",
        r"(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_-]{30,100}|"
        r"discord(?:app)?\.com/api/webhooks/\d{15,20}/[\w-]{50,80})",
    ),
    _family(
        "oapi.dingtalk open.feishu qyapi.weixin",
        "token",
        r"(?:oapi\.dingtalk\.com/robot/send\?access_token=|open\.feishu\.cn/open-apis/bot/v2/hook/|"
        r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=)[A-Za-z0-9-]{20,80}",
    ),
    _family(
        "sk- sess-",
        "api_key",
        rf"{_B}(?:sk-(?:proj|svcacct|admin|None|or-v1|lf)-[\w-]{{20,260}}|sk-[A-Za-z0-9]{{20,64}}|"
        rf"sess-[A-Za-z0-9]{{30,60}}){_E}",
    ),
    _family("sk-ant-", "api_key", rf"{_B}sk-ant-[a-z0-9]{{3,12}}-[\w-]{{40,140}}{_E}"),
    _family("hf_ api_org_", "token", rf"(?<![A-Za-z0-9])(?:hf_|api_org_)[A-Za-z0-9]{{30,40}}{_E}"),
    _family(
        "gsk_ xai- pplx- r8_ tvly- nvapi- fw_ jina_ csk- tgp_",
        "api_key",
        rf"{_B}(?:gsk_[A-Za-z0-9]{{40,64}}|xai-[A-Za-z0-9]{{40,100}}|pplx-[A-Za-z0-9]{{32,64}}|"
        rf"r8_[A-Za-z0-9]{{30,44}}|tvly-[\w-]{{20,60}}|nvapi-[\w-]{{40,80}}|fw_[A-Za-z0-9]{{20,40}}|"
        rf"jina_[A-Za-z0-9]{{40,80}}|csk-[a-z0-9]{{30,60}}|tgp_v1_[\w-]{{30,60}}){_E}",
    ),
    _family(
        "npm_ pypi- rubygems_ oy2 crates cio",
        "token",
        rf"{_B}(?:npm_[A-Za-z0-9]{{30,40}}|pypi-AgE[\w-]{{40,}}|rubygems_[a-f0-9]{{40,60}}|"
        rf"oy2[a-z0-9]{{43}}|cio[A-Za-z0-9]{{32}}){_E}",
    ),
    _family(
        "dckr_ ATATT ATCTT ATBB",
        "token",
        rf"{_B}(?:dckr_[a-z]{{2,4}}_[\w-]{{20,60}}|AT(?:ATT3|CTT3|BB)[\w=-]{{20,260}})",
    ),
    _family(
        "SG. key- SK AC",
        "api_key",
        rf"{_B}(?:SG\.[\w-]{{16,32}}\.[\w-]{{36,64}}|(?:SK|AC)[0-9a-f]{{32}}|key-[0-9a-f]{{32}}){_E}",
    ),
    _family("-us", "api_key", rf"{_B}[0-9a-f]{{32}}-us\d{{1,2}}{_E}"),
    _family(
        "_live_ _test_ whsec_",
        "api_key",
        rf"{_B}(?:(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{{10,160}}|whsec_[A-Za-z0-9+/=]{{20,80}})",
    ),
    _family(
        "shpat_ shpss_ shpca_ shppa_ shptka_",
        "token",
        rf"{_B}shp(?:at|ss|ca|pa|tka)_[A-Fa-f0-9]{{20,64}}{_E}",
    ),
    _family(
        "sq0 EAA",
        "token",
        rf"{_B}(?:sq0[a-z]{{3}}-[\w-]{{22,60}}|EAA[A-Za-z0-9+/=-]{{57,220}}){_E}",
    ),
    _family(":A", "token", rf"(?<![0-9])\d{{8,12}}:AA?[\w-]{{30,38}}{_E}"),
    _family(
        ".",
        "token",
        r"(?<![A-Za-z0-9.])[MNOA][A-Za-z0-9_-]{22,28}\.[\w-]{6}\.[\w-]{25,42}(?![A-Za-z0-9.])",
    ),
    _family(
        "eyJ ewog",
        "token",
        rf"{_B}(?:eyJ|ewog)[A-Za-z0-9_-]{{12,}}={{0,2}}\.(?:eyJ|"
        rf"ewo)?[A-Za-z0-9_-]{{12,}}={{0,2}}(?:\.[A-Za-z0-9_-]*={{0,2}})?",
    ),
    _family(
        "Q~",
        "api_key",
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
    ),
    _family(
        "AccountKey SharedAccess sig=",
        "api_key",
        r"(?:(?:AccountKey|SharedAccessKey)\s?=\s?[A-Za-z0-9+/]{40,90}={0,2}|[?&]sig=[A-Za-z0-9%+/]{40,90})",
    ),
    _family(
        "ops_ A3-",
        "token",
        rf"{_B}(?:ops_eyJ[A-Za-z0-9+/=_-]{{100,}}|A3-[A-Z0-9]{{6}}-[A-Z0-9]{{6,11}}(?:-[A-Z0-9]{{5}})"
        rf"{{3,4}}){_E}",
    ),
    _family(
        "glc_ glsa_ eyJrIjoi",
        "token",
        rf"{_B}(?:glc_[A-Za-z0-9+/]{{32,400}}={{0,2}}|glsa_[A-Za-z0-9]{{30,40}}_[A-Fa-f0-9]{{8}}|"
        rf"eyJrIjoi[A-Za-z0-9]{{60,400}}={{0,2}})",
    ),
    _family(
        "hvs. hvb. hvr. s.",
        "token",
        rf"(?<![A-Za-z0-9.])(?:hv[sbr]\.[\w-]{{24,300}}|s\.(?=[A-Za-z]*\d)(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]"
        rf"{{24}}){_E}",
    ),
    _family(
        "HRKU- dop_ doo_ dor_ fo1_ FlyV1 fm",
        "token",
        rf"{_B}(?:HRKU-[\w-]{{30,80}}|do[opr]_v1_[a-f0-9]{{60,70}}|fo1_[\w-]{{40,50}}|"
        rf"fm[12][ar]?_[A-Za-z0-9+/=,_-]{{60,}}|FlyV1 \S{{40,}})",
    ),
    _family(
        "sgp_ slk_ dapi dp. pul- sbp_ pscale_ lin_api figd_ ntn_ secret_ PMAK- NRAK- sntry",
        "token",
        rf"{_B}(?:sgp_(?:[a-zA-Z0-9]{{16}}_|local_)?[A-Fa-f0-9]{{40}}|dapi[0-9a-f]{{32}}(?:-\d)?|"
        rf"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{{30,60}}|pul-[a-f0-9]{{40}}|sbp_[a-f0-9]{{40}}|"
        rf"pscale_(?:tkn|oauth|pw)_[\w.=-]{{30,64}}|lin_api_[A-Za-z0-9]{{40}}|figd_[\w-]{{36,50}}|"
        rf"ntn_\d{{9,12}}[A-Za-z0-9]{{32,40}}|secret_[A-Za-z0-9]{{40,46}}|"
        rf"PMAK-[a-f0-9]{{24}}-[a-f0-9]{{34}}|NRAK-[A-Z0-9]{{27}}|sntry[us]_[A-Za-z0-9+/=_]{{40,}}){_E}",
    ),
    _family("atlasv1", "token", rf"{_B}[A-Za-z0-9]{{14}}\.atlasv1\.[\w=-]{{60,70}}"),
    _family(
        "AKC AP",
        "token",
        rf"(?<![\w])(?:AKC[A-Za-z0-9]{{10,80}}|AP[\dA-F][A-Za-z0-9]{{10,80}}){_E}",
    ),
    _family(
        "sumo SUMO",
        "api_key",
        r"(?:SUMO|sumo)\w{0,24}\s{0,2}[:=]\s{0,2}[\"']?su[A-Za-z0-9]{12}(?![A-Za-z0-9])",
    ),
    _family("|", "token", rf"(?<![0-9])\d{{13,17}}\|[\w-]{{24,30}}{_E}"),
    _family(
        "PRIVATE KEY",
        "api_key",
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s:,\\-]"
        r"{0,9000}?-----END [A-Z0-9 ]{3,40}-----)?",
    ),
    _family(
        "PuTTY AGE-SECRET-KEY-",
        "api_key",
        r"(?:PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1[A-Z0-9]{50,64})",
    ),
    _family(
        "BUNDLE_",
        "password",
        r"BUNDLE_[A-Z0-9_]{4,60}\s?=\s?[\"']?[A-Za-z0-9_-]{4,60}:[A-Za-z0-9_-]{4,60}",
    ),
    _family("sq", "token", rf"{_B}sq[upa]_[a-f0-9]{{40}}{_E}"),
    _family("sha256~", "token", rf"{_B}sha256~[\w-]{{43}}{_E}"),
    _family("Auth _authToken", "token", r"_auth(?:Token)?\s?=\s?[\"']?[A-Za-z0-9+/=_-]{20,200}"),
)


_HINTS = Hints(hint for hints, _, _ in _FAMILIES for hint in hints)
_SHORTEST = 13
"""Characters without a blank between them that each form has, those that ``_BROKEN`` begins aside."""
_BROKEN = ("-----BEGIN", "BUNDLE_")
_RUN = lazy(r"[!-~]{8}")


def find_vendor_tokens(folded: Folded) -> Iterable[Span]:
    """Return each string that has the shape of a known family of credentials."""
    text = folded.text
    long = folded.longest >= _SHORTEST or holds_any(_BROKEN, text)
    return _each(text) if long and _RUN.search(text) and _HINTS.in_text(text) else ()


def _each(text: str) -> Iterator[Span]:
    for hints, category, form in _FAMILIES:
        if holds_any(hints, text):
            for match in form.finditer(text):
                if not _example(match[0]):
                    yield Span(category, match.start(), match.end())


def _example(value: str) -> bool:
    """Tell masked and example values: vendors' documentation uses EXAMPLE, forms use xxxx."""
    if value.startswith(("-----BEGIN", "PuTTY")):
        return False
    if "EXAMPLE" in value or is_blank_form(value[-40:]) or value.lower().count("xxxxxxxx"):
        return True
    body = value[4:]
    return entropy(body) < 2.2 and not value.startswith(
        ("AKIA", "ASIA", "ABIA", "ACCA", "AK", "AP")
    )
