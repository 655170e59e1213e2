"""Does an English text say what a person has, was tested for or is treated with?

A disease name alone is a topic. It becomes a finding with a diagnosing verb, a person who has it, a
positive test, a laboratory value, or a prescribed medicine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemic.longterm.sensitive.health_en_words import (
    BEGINNINGS,
    CONDITIONS,
    DRUGS,
    LABS,
    PIECES,
    TESTS,
)
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import lazy

_WHO = (
    r"(?:i|we|he|she|they|(?:my|his|her|our|their) (?:[a-z]+ ){0,2}?(?:mom|mum|mother|dad|father|son|"
    r"daughter|"
    r"kid|child|baby|wife|husband|partner|spouse|brother|sister|aunt|uncle|grandm[a-z]+|"
    r"grandf[a-z]+|grandpa|"
    r"cousin|nephew|niece|grandson|granddaughter|fianc[eé]e?|parents?|in-laws?|neighbou?r|"
    r"boyfriend|girlfriend|friend|boss|colleague|coworker|roommate|patient)|(?:the )?patient)"
)
_DEGREE = (
    r"(?:(?:a |an |the )?(?:history of |case of |severe |mild |moderate |chronic |acute |"
    r"early[- ](?:onset|stage) |"
    r"late[- ]stage |advanced |terminal |metastatic |type [12i]+ |stage [0-4iv]+[a-c]? |congenital |"
    r"newly diagnosed |"
    r"treatment-resistant |bad |really bad |been living with |an autoimmune disease called )){0,3}"
)
# Each of these stands at the beginning of a word.
_PATTERNS = (
    rf"diagnosed (?:(?:me|him|her|us|them|my [a-z]+) )?(?:recently |just |last [a-z]+ |"
    rf"in [a-z0-9 ]{{3,16}} |yesterday |today )?(?:with|as having|as) {_DEGREE}(?!an? (?:problem|"
    rf"issue|bug|error|fault)\b){CONDITIONS}",
    rf"diagnosis(?: (?:was|is|of|came back as)|:)+ {_DEGREE}{CONDITIONS}",
    rf"{_WHO}(?:'ve| have|'s| has| had)?(?: just| also| already| both)?(?: been)? (?:got |"
    rf"have |on the (?=autis)|suffered (?:an? )?|had (?:an? )?|"
    rf"has |had |suffers? from |suffering from |live with |lives with |living with |"
    rf"was found to have |battl(?:es|ing|ed) |am battling |is battling |been battling |developed |"
    rf"contracted ){_DEGREE}{CONDITIONS}\b(?!-[a-z])",
    r"(?:i am|i'm|he is|he's|she is|she's|they are) (?:hiv[- ]positive|bipolar|diabetic|epileptic|"
    r"autistic|schizophrenic|asthmatic|an? (?:diabetic|epileptic|cancer survivor))\b",
    rf"{_WHO} (?:is|was) (?:hiv[- ]positive|bipolar|diabetic|epileptic|autistic|schizophrenic|"
    rf"asthmatic)\b",
    rf"test(?:ed|s)? positive for {CONDITIONS}",
    rf"{TESTS}(?: test| screening| result)?s?(?: result)?s? (?:came back |was |is |were |are |"
    rf"turned out )?(?:hiv[- ])?(?:positive|malignant|abnormal)\b",
    rf"{LABS}(?: level| reading| count| result)?s? (?:is|was|of|at|came back at|came back|"
    rf"reads|:) ?(?:now |around |about )?\d{{1,6}}(?:\.\d{{1,2}})?(?:/\d{{2,3}})?(?: ?(?:%|mmol|mg|ng|ng|"
    rf"mmhg|copies|u/l)|[.,]|$| and| over)",
    rf"(?:prescribed (?:me |him |her |my [a-z]+ )?|{_WHO}(?:'m| am|'s| is| are| was|'ve been|"
    rf" have been| has been)?(?: currently| now| also)? (?:on |taking |takes? |put on )|"
    rf"started (?:me |him |her )?(?:on |taking ))(?:\d{{1,4}} ?mg (?:of )?|a low dose of |"
    rf"daily )?{DRUGS}\b",
    rf"(?:doctors?|dr\.? [a-z]+|scan|mri|ct|x-ray|ultrasound|biopsy|results?|report|test|labs?|pathology)"
    rf"(?: results?| report)?(?: (?:says?|said|thinks|told me|confirmed|showed|shows|revealed|found|"
    rf"indicates?|suggests?)(?: that)?(?: (?:{_WHO}) (?:have|has|had))?(?: an?)?|:) {_DEGREE}{CONDITIONS}",
    rf"{_WHO}(?:'m| am|'s| is| are)(?: now| currently)? (?:in remission from|recovering from|dying of|"
    rf"being treated for|undergoing (?:treatment|chemo(?:therapy)?|surgery) for|on the autism spectrum|"
    rf"hospitali[sz]ed (?:for|with)) ?(?:{_DEGREE}{CONDITIONS})?",
    rf"{_WHO}(?:'m| am|'ve| have|'s| is| has| was| were| got| are)(?: being| been)? (?:treated|"
    rf"medicated|hospitali[sz]ed|operated on|in (?:therapy|treatment|rehab)) for {_DEGREE}{CONDITIONS}\b",
    rf"{_WHO}(?:'m| am|'s| is| are| was| got)(?: now| currently| finally)?"
    r"(?: [a-z0-9-]+ (?:weeks|months))? pregnant\b(?! with (?:idea|meaning|possib|hope))",
    rf"(?:my|his|her|our) (?:[a-z]+(?:'s)? ){{0,2}}?{CONDITIONS} (?:is|was|has|came|"
    rf"got)\b(?: getting worse|"
    rf" back| under control| relapsed| progressed| spread| flaring)",
    rf"(?:my|his|her|our) (?:[a-z]+(?:'s)? ){{0,2}}?{LABS}(?: level| reading| count| score)?s?"
    rf"(?:'s| is| was| came back at| came back as| hit|:) ?\d{{1,6}}(?:\.\d+)?",
    rf"{_WHO}(?:'ve| have|'s| has|'m| am| is)(?: been)? (?:in|on|undergoing|doing|getting|"
    rf"having|started) "
    rf"(?:chemo(?:therapy)?|dialysis|radiation therapy)\b",
    rf"(?:i|he|she|my [a-z]+) takes? {DRUGS}\b",
)
_EN = lazy(rf"\b(?:{'|'.join(_PATTERNS)})")
_HINTS = Hints(
    (
        "diagnos",
        "positive",
        "malignant",
        "abnormal",
        "prescribed",
        "i have",
        "i've",
        "has ",
        "had ",
        "spectrum",
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
        "came back",
        "remission",
        "results:",
        "undergoing",
        "takes ",
        "getting worse",
        "says i",
        "told me i",
        "showed ",
    )
)
_BEGINNING = lazy(r"\b[a-z][a-z0-9]{4}")
_PIECES = Hints(
    (
        *PIECES,
        "positive",
        "malignant",
        "abnormal",
        "remission",
        "recovering",
        "dying of",
        "treated for",
        "undergoing",
        "hospitali",
        "pregnant",
        "radiation",
    )
)
_NAMES = _PIECES | Hints(BEGINNINGS)
"""What one look finds wherever ``names_health`` is true, and in a few texts besides."""
_TOPIC = lazy(
    r"\bif\b|prevent|avoid|risk of|article|research|study|novel|character|movie|dataset|model|"
    r"fundrais|charity|awareness|\bnot\b|n't\b|\bno\b|ruled out|negative for|worried|afraid|fear|wonder|"
    r"whether|might|could|people (?:with|who)|patients (?:with|who)|those with|someone with|"
    r"anyone|bug|code|"
    r"software|system|network|\btarget\b|educator|\bapp\b"
)


def english_statements(lower: str) -> Iterable[tuple[int, int]]:
    """Return the range of each statement about somebody's health in a lower-case text."""
    likely = _NAMES.in_text(lower) and _HINTS.in_text(lower) and names_health(lower)
    return _statements(lower) if likely else ()


def _statements(lower: str) -> Iterator[tuple[int, int]]:
    for match in _EN.finditer(lower):
        if not _TOPIC.search(_clause(lower, match.start(), match.end())):
            yield match.span()


def names_health(lower: str) -> bool:
    """Tell whether a text holds what every pattern needs besides its frame; few texts of everyday do.

    That is a condition, a medicine, a laboratory value, or what stands for one: a positive test, a treatment.
    """
    return not BEGINNINGS.isdisjoint(_BEGINNING.findall(lower)) or _PIECES.in_text(lower)


def _clause(lower: str, start: int, end: int) -> str:
    """Return the clause around a match: a topic word after a full stop says nothing about it."""
    begin = max(lower.rfind(mark, max(0, start - 40), start) for mark in ".!?;\n")
    begin = max(begin + 1, start - 40)
    stops = [at for mark in "!?;\n," if (at := lower.find(mark, end)) >= 0]
    return lower[begin : min(min(stops, default=end) + 1, end + 12)]
