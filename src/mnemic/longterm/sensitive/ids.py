"""Is there a national identity number in this text?

Rules are in id_rules.py. A number that passes its check is a finding at once where the form is telling,
else only beside an identity word or when it is the whole text. Numbers of documents without a check
digit (passports, driving licences) count only right after their own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from itertools import permutations

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.id_rules import ANY_FORM, RULES, SIGNS, STARTS, IdRule
from mnemic.longterm.sensitive.lazy import Pattern, lazy
from mnemic.longterm.sensitive.numbers import after, before, stands_alone

_WORDS = lazy(
    r"身份证|[一二]代证|身分證|身份證|证件号|證件號|居民证|居住证|户口|公民身份|公民号码|社保号|"
    r"社会保障号|社保卡号|"
    r"军官证|国民身分|統一編號|身份号码|个人编号|納稅|纳税人识别|"
    r"national id|identity (?:card|number|code)|id (?:card|number|no\b|code)|\bid ?#|identification|"
    r"personal (?:number|code|id)|citizen|social (?:security|insurance)|\bssn\b|\bitin\b|\bsin\b|\bnas\b|"
    r"tax(?:payer)? (?:id|number|file|code)|\btfn\b|\btin\b|\bnhs\b|medicare|\bmbi\b|national insurance|"
    r"\bnino\b|\bni (?:number|no\b)|\bpps\b|"
    r"aadh?aar|uidai|\bnin\b|\bnric\b|\bfin\b|mykad|\bnik\b|\bktp\b|\bcnic\b|\brsa id|"
    r"refugee id|personnummer|\bpnr\b|hetu|henkil|fødsels|cpr|kennitala|isikukood|asmens|"
    r"pesel|rodné|rodne|\bcnp\b|\begn\b|егн|\boib\b|jmbg|emšo|emso|amka|αμκα|kimlik|tckn|\btc no|"
    r"steuer|\bidnr\b|rentenversicherung|rvnr|kvnr|krankenkasse|egk|personalausweis|ausweis|"
    r"sozialversicherung|svnr|\bahv\b|\bavs\b|sécurité sociale|securite sociale|\bnir\b|insee|\bdni\b|"
    r"\bnie\b|\bnif\b|extranjero|codice fiscale|cartão de cidadão|contribuinte|\bbsn\b|burgerservice|"
    r"rijksregister|registre national|niss|insz|\bcpf\b|\brut\b|\bcurp\b|cédula|cedula|снилс|инн\b|"
    r"паспорт|рнокпп|주민등록|외국인등록|\brrn\b|\bfrn\b|マイナンバー|個人番号|my ?number|"
    r"ประชาชน|\btnin\b|מספר זהות|תעודת זהות|الهوية|\bhkid\b|teudat|identificación|identiteits"
)
_OTHER = lazy(
    r"(?:订单|单号|流水|运单|快递|合同|条码|条形码|时间戳|序列号|发票|户号|客户号|工号|学号|"
    r"信用代码|电话|手机|order|invoice|tracking|serial|timestamp|ticket|barcode|phone|mobile|tel|"
    r"isbn|account)[号码是为:：#=\s\w.\"']{0,10}$"
)
_PHONE = lazy(r"1[3-9]\d{9}$|0\d{9,10}$|5\d{9}$")
_DOCUMENT = lazy(
    r"(?:护照|護照|通行证|回乡证|台胞证|驾驶证|驾照|军官证|居留证|passport|"
    r"driv(?:er'?s?|ing) ?(?:licen[cs]e|permit)|green card|alien (?:registration )?number|voter id|"
    r"travel (?:document|passport)|führerschein(?:nummer)?|reisepass|passeport|pasaporte|여권|patente)"
    r"(?:'s|s)?[ ]?(?:号码|号|证号|档案编?号|编号|numbers?|nr|nummer|number is|no|#|n°)?[.]?"
    r"(?:[ :：是为=#(]|is|was|就){0,6}"
    r"([A-Za-z]{0,3}\d[A-Za-z0-9]{5,17}|[一-鿿]字第? ?\d{6,8}|\d{2,4}(?:-\d{2,6}){2,3}|"
    r"[A-Za-z]\d{3}[A-Za-z]\d{4})"
    r"(?![A-Za-z0-9])",
    re.I,
)  # fmt: skip
_DOCUMENT_BACK = lazy(
    r"(?<![A-Za-z0-9])([A-Z]{1,3}\d{6,9}) (?:es mi|is my|is the|是我的?)[ a-zúñ的]{0,16}"
    r"(?:passport|pasaporte|护照|driv)",
    re.I,
)
_DOCUMENT_HINTS = Hints((
    "护照", "護照", "通行证", "回乡证", "台胞证", "驾驶证", "驾照", "军官证", "居留证",
    "passport", "driv", "green card", "alien", "voter", "travel d", "führerschein", "reisepass",
    "passeport", "pasaporte", "여권", "patente",
))  # fmt: skip
_SPLIT = lazy(
    r"身[份分][证證](?:号码?)?[^\d。;!?\n]{0,16}(?:[前后]\d{1,2}位[^\d。;!?\n]{0,4})?(?P<a>\d{3,15}[Xx]?)(?!\d)"
    r"[^\d。;!?\n]{1,16}(?:\d{1,2}位[^\d。;!?\n]{0,4})?(?P<b>\d{3,15}[Xx]?)(?!\d)"
    r"(?:[^\d。;!?\n]{1,16}(?:\d{1,2}位[^\d。;!?\n]{0,4})?(?P<c>\d{3,12}[Xx]?)(?!\d))?"
)
_CN_FORM = lazy(r"[1-8]\d{5}(?:19|20)\d{9}[\dXx]")
_CODE_LIKE = lazy(r"(?=[A-Za-z]{0,3}\d{2,3}[ \-.:/]?\d{2})|\d{2}")


def find_ids(folded: Folded) -> Iterable[Span]:
    """Return each national identity number, and document numbers named as such."""
    return _each(folded) if folded.number else ()


def _each(folded: Folded) -> Iterator[Span]:
    context = None
    starts = _starts(folded.text)
    for rule in RULES if starts else ():
        for match in _matches(rule.form, folded.text, starts):
            if context is None:
                context = bool(_WORDS.search(folded.lower))
            named = rule.always and not _labelled_otherwise(folded, rule, match.start())
            if not (named or _in_context(folded, rule, *match.span(), context)):
                continue  # a check may load its module: only where its answer matters
            if _passes(rule, match[0]):
                yield Span("national_id", match.start(), match.end())
    yield from _documents(folded)
    yield from _split(folded)


def _starts(text: str) -> list[int]:
    """Return where forms begin."""
    if not any(sign.search(text) for sign in SIGNS):
        return []
    begins = (match.start() for match in STARTS.finditer(text))
    return [start for start in begins if ANY_FORM.match(text, start)]


def _matches(form: Pattern, text: str, starts: list[int]) -> Iterator[re.Match[str]]:
    """Yield what ``finditer`` would, looking only where a form can begin."""
    free = 0
    for start in starts:
        if start >= free and (match := form.match(text, start)):
            yield match
            free = match.end()


def _documents(folded: Folded) -> Iterator[Span]:
    if not _DOCUMENT_HINTS.in_text(folded.lower):
        return
    for pattern in (_DOCUMENT, _DOCUMENT_BACK):
        for match in pattern.finditer(folded.text):
            yield Span("national_id", match.start(1), match.end(1))


def _split(folded: Folded) -> Iterator[Span]:
    """Yield the pieces of a resident number that is told in parts, in any order."""
    if "身份" not in folded.text and "身分" not in folded.text:
        return
    for match in _SPLIT.finditer(folded.text):
        parts = [match[name] for name in ("a", "b", "c") if match[name]]
        if any(_CN_FORM.fullmatch("".join(order)) for order in permutations(parts)):
            yield Span("national_id", match.start("a"), match.end("c" if match["c"] else "b"))


def _in_context(folded: Folded, rule: IdRule, start: int, end: int, words: bool) -> bool:
    if words:
        near = before(folded, start, 48) + " | " + after(folded, end, 28)
        if _WORDS.search(near) and not _OTHER.search(before(folded, start, 16)):
            return rule.name != "us ssn named" or _named_ssn(near)
    if not rule.alone or not stands_alone(folded, start, end):
        return False
    return not _PHONE.match(folded.text[start:end]) or rule.name in ("pl", "kr bare")


def _named_ssn(near: str) -> bool:
    return bool(re.search(r"\bssn\b|social security|\bitin\b", near))


def _labelled_otherwise(folded: Folded, rule: IdRule, start: int) -> bool:
    """A label such as 订单号 outweighs the form, but not an 18-digit number with date and checksum."""
    return rule.name != "cn" and bool(_OTHER.search(before(folded, start, 16)))


def _passes(rule: IdRule, raw: str) -> bool:
    compact = re.sub(r"[ \-.·/:()]", "", raw).upper()
    if compact.isdigit() and len(set(compact)) < 3:
        return False
    if rule.stdnum:
        kept = raw.upper() if rule.name in ("se", "is") else compact
        return _stdnum(rule.stdnum)(kept)
    if rule.check is not None:
        return rule.check(raw.upper() if rule.name == "fi" else compact)
    return True


@lru_cache(maxsize=128)
def _stdnum(name: str) -> Callable[[str], bool]:
    found: Callable[[str], bool] = import_module(f"stdnum.{name}").is_valid
    return found
