"""Which attributes that have one value at a time does a text fill, and whose?

"I work at Northwind" and 我跳槽到云帆了 share hardly a word, yet both fill user/employer: equal keys
tell that two texts are worth judging however little they resemble each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.judge.asking import (
    ASKED_WORDS,
    asks,
    asks_about_somebody,
    asks_age,
    asks_home,
    asks_job,
    asks_when,
    asks_who,
    asks_workplace,
)
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.reading import Reading, read
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.seeking import Sought
from mnemic.longterm.judge.sentences import LONG
from mnemic.longterm.judge.subjects import ME
from mnemic.longterm.judge.tokens import Token
from mnemic.longterm.judge.workplaces import sides_of_work

__all__ = ["slots"]

_MOST = 6
_PERSONAL = {
    "retired": ("job", "employer"),
    "employed": ("job", "employer"),
    "freelancer": ("job", "employer"),
    "founder": ("job", "employer"),
    "student": ("school", "job"),
    "study": ("school",),
    "married": ("marital status",),
    "veg": ("diet",),
    "smoke": ("smoking",),
    "pregnant": ("pregnancy",),
    "hospital": ("hospital",),
    "leave_time": ("leave",),
    "age": ("age",),
    "born": ("birthday",),
    "tall": ("height",),
    "weigh": ("weight",),
    "commute": ("commute",),
    "wake": ("wake time",),
    "sleep": ("bedtime",),
    "hometown": ("hometown",),
    "nationality": ("nationality",),
    "religion": ("religion",),
    "blood_type": ("blood type",),
    "shoe_size": ("shoe size",),
    "phone_number": ("phone number",),
    "report_to": ("boss",),
    "pay": ("pay",),
    "locker": ("locker",),
    "park": ("parking",),
    "seat": ("seat",),
    "sight": ("eyesight",),
    "timezone": ("time zone",),
}
_STATES = frozenset(_PERSONAL)
_ROLES = frozenset({"boss", "landlord", "mentor", "partner", "wife", "husband", "girlfriend"})
_ROLES |= {"boyfriend", "doctor_person", "teacher"}
_UNNAMED = frozenset({"he", "she", "they"})
_OWNED = {"mobile": "phone", "ios": "phone", "laptop": "laptop", "car": "car", "drive": "car"}
_OWNED |= {"computer": "computer", "camera": "camera", "motorbike": "motorbike"}
_MEASURED = {"listen": "port", "version": "version", "budget": "budget", "timeout": "timeout"}
_MEASURED |= {key: key for key in ("retry", "cost", "memory", "disk", "interval", "index", "cpu")}
_MEASURED |= {"temperature_thing": "temperature", "brightness": "brightness", "cache": "cache"}
_MEASURES = frozenset(_MEASURED)
_TOLD = _MEASURES | {"lead", "called"}
_STACK = frozenset({"database", "queue", "framework", "testtool", "cloud", "ci", "vcs", "pkgtool"})
_STACK |= {"proxy", "os", "license", "plang"}
_VALUED = _MEASURED.keys() | _OWNED.keys()
_THINGS = frozenset({"", "animal", "leisure", "noun", "room", "device", "env", "side", "platform"})
_THINGS |= {"workplace", "dish"}
_EVENTS = frozenset({"meet", "deploy", "test", "review", "start", "leave_at", "arrive", "end_at"})
_DATED = _EVENTS | {"date"}
_TEMPORAL = frozenset({"date", "weekday", "time"})
_PLACES = frozenset({"city", "spot", "workplace", ""})


_VERSIONED = Sought(("v", "V"), re.compile(r"v(?<=\bv)(?:ersion \d|\d)", re.I))
_KIND_WORDS = frozenset(
    {"ci", "database_thing", "queue_thing", "system", "tool", "framework", "team"}
)


def slots(text: str) -> frozenset[str]:
    """Return keys ``subject/attribute`` (at most 6) of the single-valued attributes that a text fills.

    Keys are equal across languages and wordings: "user/employer", "mother/residence", "heron/port". Empty
    for texts that fill none, for accounts of the past and for texts over 300 characters.
    """
    if len(text) > LONG:
        return frozenset()
    reading = read(text)
    if "past" in reading.flags and not reading.flags & {"now", "change", "end"}:
        return frozenset()
    asked = asks(reading.text)
    found = list(dict.fromkeys((*_of_people(reading, asked), *_of_things(reading, asked, text))))
    return frozenset(found[:_MOST])


def _of_people(reading: Reading, asked: bool) -> Iterator[str]:
    owner = "user" if reading.subject == ME else reading.subject.replace("/", " ")
    if reading.subject in _UNNAMED:
        return
    if asked and not asks_about_somebody(reading.text, reading.subject == ME):
        return
    for attribute in (*_states(reading, asked), *_favourites(reading), *_role(reading)):
        holder = "user" if attribute in _ROLES else owner
        yield f"{holder}/{attribute}"
    if reading.subject == ME:
        yield from (f"user/{thing}" for thing in _owned(reading))
        yield from (f"user/{wish}" for wish in _manners(reading))


def _states(reading: Reading, asked: bool) -> Iterator[str]:
    keys = reading.keys
    if not keys.isdisjoint(_STATES):
        for token in reading.tokens:
            if token.key in _PERSONAL and _is_whose(reading, token):
                yield from _PERSONAL[token.key]
    if any(mark.kind == "age" for mark in reading.marks) or (
        asked and asks_age(reading.text) and not _named_thing(reading)
    ):
        yield "age"
    if "live" in keys and _has_home(reading):
        yield "residence"
    if "work" in keys and (
        sides_of_work(reading) & {"employer", "away"} or asks_workplace(reading.text)
    ):
        yield "employer"
    jobs = "job" in reading.sections
    if jobs or ("work" in keys and "end" in reading.flags) or asks_job(reading.text):
        yield "job"
    if jobs and "work" not in keys and any(map(_is_workplace, reading.tokens)):
        yield "employer"
    if "called" in keys and not _named_thing(reading) and not _subject_of(reading):
        yield reading.subject if reading.subject in _ROLES else "name"


def _has_home(reading: Reading) -> bool:
    """Whether "live" is said of a home: no software, no living that is earned, and a place or a move."""
    if not reading.sections.isdisjoint(_STACK):
        return False
    if "for a living" in reading.text.lower():
        return False
    placed = "hometown" in reading.keys or not reading.sections.isdisjoint(_PLACES)
    return placed or "change" in reading.flags or asks_home(reading.text)


def _is_whose(reading: Reading, token: Token) -> bool:
    """Whether a state is said of a person, not of a thing (the shop is open, the parcel weighs)."""
    if token.section not in ("exclusive", "noun", "linking"):
        return True
    things = [
        t
        for t in reading.tokens
        if not t.tail and t.section in _THINGS and t is not token and t.text not in ASKED_WORDS
    ]
    return not things


def _is_workplace(token: Token) -> bool:
    return token.section == "workplace" or (token.tail and not token.known)


def _favourites(reading: Reading) -> Iterator[str]:
    if "favourite" not in reading.keys:
        return
    keys = [token.key for token in reading.tokens]
    after = reading.tokens[keys.index("favourite") + 1 :]
    for token in [t for t in after if t.text not in ASKED_WORDS][:1]:
        yield f"favourite:{_kind(token)}"


def _kind(token: Token) -> str:
    """Return what a favourite is a favourite of: colour for "colour" and for "green"."""
    kinds = {"drink": "beverage", "eat": "dish", "drink_kind": "beverage", "read": "hobby"}
    kinds |= {"dish_kind": "dish", "food_kind": "dish", "language_kind": "language"}
    values = word_set("value_sections")
    return kinds.get(token.key, token.section if token.section in values else token.key)


def _role(reading: Reading) -> Iterator[str]:
    """Return my manager in "my manager is Kim"."""
    if reading.subject not in _ROLES:
        return
    named = [t for t in reading.tokens if not t.known and (t.name or not t.text.isascii())]
    others = [t for t in reading.tokens if t.known and t.section not in ("job", "me", "linking")]
    given = named or asks_who(reading.text)
    stated = reading.flags & {"states", "change"} or asks(reading.text)
    if given and not others and stated:
        yield reading.subject


def _owned(reading: Reading) -> Iterator[str]:
    keys = reading.keys
    if keys.isdisjoint(_OWNED):
        return
    lists = lexicon()
    asked = asks(reading.text) and bool(keys & {"have", "open"})
    using = asked or keys & {"choose", "drive"} or reading.flags & {"states", "change"}
    many = any(lists.tagged(key, "many") for key in keys - {"buy"} - ({"have"} if asked else set()))
    plain = {"old", "open"} if asked else {"old"}
    coloured = any(t.section in ("colour", "axis") and t.key not in plain for t in reading.tokens)
    if using and not many and not coloured:
        yield from (_OWNED[key] for key in sorted(keys & _OWNED.keys()))


def _manners(reading: Reading) -> Iterator[str]:
    """Return how answers should be: their language, length and tone."""
    if "reply" not in reading.keys:
        return
    for token in reading.tokens:
        if token.section == "language" or (token.key.startswith("language") and asks(reading.text)):
            yield "reply language"
        elif token.key in ("long", "formal"):
            yield f"reply {token.key}"


def _of_things(reading: Reading, asked: bool, text: str) -> Iterator[str]:
    version = "version" not in reading.keys and _VERSIONED.is_in(text)
    dated = _names_day(reading)
    described = not (reading.keys.isdisjoint(_TOLD) and reading.sections.isdisjoint(_STACK))
    if not (version or dated or described):
        return
    subject = _subject_of(reading)
    holder = subject or "user"
    measured = _is_measured(reading, asked and bool(subject))
    for token in reading.tokens:
        if measured and token.key in _MEASURED:
            yield f"{holder}/{_MEASURED[token.key]}"
        elif token.section in _STACK and token.sign > 0 and _runs_on(reading):
            yield f"{holder}/{token.section}"
        elif token.key == "lead" and subject:
            yield f"{holder}/lead"
        elif token.key == "called" and (thing := _named_thing(reading) or subject):
            yield f"{thing}/name"
    if version:
        yield f"{holder}/version"
    if dated and (subject or not asked) and _is_dated(reading, subject):
        yield f"{holder}/date"


def _is_measured(reading: Reading, asked: bool) -> bool:
    """Whether a text gives (or asks for, or changes) the amount of something that has one."""
    if reading.keys.isdisjoint(_MEASURES):
        return False
    if asked or "change" in reading.flags:
        return True
    return any(mark.kind not in _TEMPORAL and not mark.is_item for mark in reading.marks)


def _runs_on(reading: Reading) -> bool:
    stated = reading.flags & {"states", "change"}
    return bool(reading.keys & {"choose", "make", "set"} or stated) and "like" not in reading.keys


def _is_dated(reading: Reading, subject: str) -> bool:
    """Whether it is a thing (not what somebody did) that has a day or hour."""
    event = not reading.keys.isdisjoint(_DATED)
    if not (event or (subject and reading.flags & {"states", "change"})):
        return False
    return reading.flags.isdisjoint({"done", "perfect"}) and ME not in reading.people


def _names_day(reading: Reading) -> bool:
    """Whether a day or hour is given or asked for."""
    return any(mark.kind in _TEMPORAL for mark in reading.marks) or asks_when(reading.text)


def _subject_of(reading: Reading) -> str:
    """Return the thing that is described: its nouns and names in one order, with their numbers."""
    # The port of heron is 80, heron runs on port 80: with a number the value, no word is.
    valued = not reading.keys.isdisjoint(_MEASURES)
    words = {
        token.key
        for token in reading.tokens
        if token.key not in _VALUED and _describes(token, valued)
    }
    words |= {
        f"{int(mark.value[0] or 0)}" for mark in reading.marks if mark.is_item and mark.value[0]
    }
    return " ".join(sorted(words)) if len(words) <= 4 else ""


def _named_thing(reading: Reading) -> str:
    """Return the thing of one's own that has a name: the cat in "I have a cat called Milo"."""
    kinds = _THINGS - {""}
    return " ".join(sorted({t.key for t in reading.tokens if t.known and t.section in kinds}))


def _describes(token: Token, valued: bool) -> bool:
    if token.key in _EVENTS:
        return True
    if token.text in ASKED_WORDS:
        return False
    if token.section not in _THINGS or token.key in _KIND_WORDS:
        return False
    return valued or not token.tail
