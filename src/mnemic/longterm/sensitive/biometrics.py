"""Is there biometric data in this text: a template, a feature vector, a genetic sequence?

The word for the feature must stand near the data; naming the feature alone is harmless, and so are
fingerprints of keys, files, certificates and browsers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import lazy
from mnemic.longterm.sensitive.numbers import before
from mnemic.longterm.sensitive.shapes import entropy, is_blank_form

_WORDS = lazy(
    r"指纹|指紋|掌纹|掌静脉|静脉|声纹|聲紋|虹膜|视网膜|人脸|人臉|面部|脸部|面容|步态|指静脉|耳廓|生物特征|"
    r"fingerprint|voice ?print|palm ?(?:print|vein)|iris ?(?:code|scan|template|data)|iriscode|retina|"
    r"fac(?:e|ial)[ _-]?(?:id|embedding|vector|template|encoding|descriptor|features?|print|data)|"
    r"biometric|finger ?vein|minutiae|voice ?(?:embedding|template)|speaker embedding|gait|"
    r"dna|基因|genom|genotype"
)
_HINTS = Hints((
    "print", "palm", "iris", "retina", "fac", "biometric", "finger", "minutiae", "voice", "speaker", "gait",
    "dna", "geno", "纹", "紋", "静脉", "虹膜", "视网膜", "脸", "臉", "面部", "面容", "步态", "耳廓", "生物",
    "基因",
))  # fmt: skip
_NOT_A_BODY = lazy(
    r"浏览器|设备指纹|公钥|私钥|证书|密钥|文件|镜像|browser|device|ssh|\bkey\b|\bcert|\btls\b|gpg|pgp|rsa|"
    r"ed25519|sha-?(?:1|256|512)|md5|rpm|digest|canvas|http|host|commit|content|asset|webpack|build|"
    r"error|issue|sentry|摘要|哈希|hash"
)
_BLOB = lazy(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,4096}={0,2}(?![A-Za-z0-9+/_-])")
_VECTOR = lazy(r"-?\d{1,3}\.\d{1,12}(?:[\s,，;]{1,3}-?\d{1,3}\.\d{1,12}){5,2048}")
_SEQUENCE = lazy(r"(?<![A-Za-z])[ACGTacgt]{20,4096}(?![A-Za-z])")
_VARIANT = lazy(r"(?<![A-Za-z0-9])rs\d{3,10} ?\(?[ACGT][;/ ]?[ACGT]\)?(?![A-Za-z])")
_GENES = lazy(r"dna|基因|genom|genotype|snp|23andme")
_REACH = 48
_STRETCH = 20
"""Characters without a blank that all data have, those aside in which there is a ``_PIECE``."""
_PIECE = lazy(r"[.r](?:(?<=[0-9]\.)[0-9]|(?<=r)s[0-9])")


def find_biometrics(folded: Folded) -> Iterable[Span]:
    """Return each stretch of biometric data."""
    if not (folded.longest >= _STRETCH or (folded.digit and _PIECE.search(folded.text))):
        return ()
    lower = folded.lower
    return _each(folded) if _HINTS.in_text(lower) and _WORDS.search(lower) else ()


def _each(folded: Folded) -> Iterator[Span]:
    for pattern in (_BLOB, _VECTOR):
        for match in pattern.finditer(folded.text):
            if _about_a_body(folded, match.start()) and _is_data(match[0]):
                yield Span("biometric", match.start(), match.end())
    for pattern in (_SEQUENCE, _VARIANT):
        for match in pattern.finditer(folded.text):
            if _GENES.search(before(folded, match.start(), _REACH)):
                yield Span("biometric", match.start(), match.end())


def _about_a_body(folded: Folded, start: int) -> bool:
    near = before(folded, start, _REACH)
    return bool(_WORDS.search(near)) and not _NOT_A_BODY.search(near)


def _is_data(value: str) -> bool:
    if "." in value:
        return True
    digits = sum(char.isdigit() for char in value)
    return (
        digits >= (1 if len(value) >= 40 else 2)
        and entropy(value) >= 3.0
        and not is_blank_form(value)
    )
