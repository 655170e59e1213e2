"""Is this number valid under its own checksum or structure?

Each function takes a compact string (no separators) and answers yes or no; the rule's source is named.
``python-stdnum`` answers for most countries (see ids.py); the ones here it has not, or has too strict.
"""

from __future__ import annotations

from datetime import date

_CN_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CN_PROVINCES_WORDS = """
11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83
91
"""
_CN_PROVINCES = frozenset(_CN_PROVINCES_WORDS.split())


def luhn(digits: str) -> bool:
    """ISO/IEC 7812-1 annex B; a row of one and the same digit is never a number."""
    if len(set(digits)) < 2:
        return False
    total = 0
    for place, char in enumerate(reversed(digits)):
        value = ord(char) - 48
        total += value if place % 2 == 0 else (value * 2 - 9 if value > 4 else value * 2)
    return total % 10 == 0


def real_date(year: int, month: int, day: int) -> bool:
    """Tell whether the three numbers are a day of the calendar."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def short_date(digits: str, order: str = "ymd") -> bool:
    """Tell whether six digits are a date of this or the last century, in the order given."""
    parts = {name: int(digits[i * 2 : i * 2 + 2]) for i, name in enumerate(order)}
    return any(real_date(century + parts["y"], parts["m"], parts["d"]) for century in (1900, 2000))


def cn_resident(number: str) -> bool:
    """GB 11643-1999, 18 characters: province, real birth date from 1850 on, ISO 7064 mod 11-2."""
    if number[:2] not in _CN_PROVINCES or not 1850 <= int(number[6:10]) <= 2100:
        return False
    if not real_date(int(number[6:10]), int(number[10:12]), int(number[12:14])):
        return False
    total = sum(int(d) * w for d, w in zip(number[:17], _CN_WEIGHTS, strict=True))
    return "10X98765432"[total % 11] == number[17].upper()


def cn_resident_old(number: str) -> bool:
    """GB 11643-1989, 15 digits: province and a date of the twentieth century (no checksum)."""
    born = number[6:12]
    return number[:2] in _CN_PROVINCES and real_date(
        1900 + int(born[:2]), int(born[2:4]), int(born[4:6])
    )


def hk_identity(number: str) -> bool:
    """Hong Kong identity card: one or two letters, six digits, check character mod 11."""
    letters = [36] if number[1].isdigit() else []
    values = letters + [ord(c) - 55 if c.isalpha() else int(c) for c in number]
    return sum(v * w for v, w in zip(values, range(9, 0, -1), strict=False)) % 11 == 0


def tw_identity(number: str) -> bool:
    """Taiwan identity card: a letter, sex digit, seven digits, check digit mod 10."""
    code = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0]) + 10
    values = [code // 10, code % 10, *map(int, number[1:])]
    return (
        sum(v * w for v, w in zip(values, (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1), strict=True)) % 10 == 0
    )


def sg_identity(number: str) -> bool:
    """Singapore NRIC and FIN: S, T, F, G or M, seven digits, check letter."""
    total = sum(int(d) * w for d, w in zip(number[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    first, last = number[0], number[8]
    total += {"T": 4, "G": 4, "M": 3}.get(first, 0)
    if first == "M":
        return "KLJNPQRTUWX"[10 - total % 11] == last
    return ("JZIHGFEDCBA" if first in "ST" else "XWUTRQPNMLK")[total % 11] == last


def kr_resident(number: str) -> bool:
    """Korean resident or foreigner number, 13 digits: birth date, century digit, check digit."""
    if not kr_resident_form(number):
        return False
    weights = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
    rest = (11 - sum(int(d) * w for d, w in zip(number, weights, strict=False)) % 11) % 10
    return int(number[12]) in (rest, (rest + 2) % 10)


def kr_resident_form(number: str) -> bool:
    """The form alone: numbers given out since October 2020 carry no check digit."""
    return number[6] in "12345678" and short_date(number[:6])


def _icao(text: str) -> int:
    values = (int(c, 36) * (7, 3, 1)[i % 3] for i, c in enumerate(text))
    return sum(values) % 10


def de_identity_card(number: str) -> bool:
    """German identity card: nine characters and an ICAO 9303 check digit."""
    return _icao(number[:9]) == int(number[9])


def de_health_insurance(number: str) -> bool:
    """German KVNR (SGB V, section 290): letter, eight digits, modified Luhn."""
    digits = f"{ord(number[0]) - 64:02d}{number[1:9]}"
    return _alternating(digits) % 10 == int(number[9])


def de_pension(number: str) -> bool:
    """German RVNR (SGB VI, VKVV): area, birth date, letter, serial, check digit mod 10."""
    digits = f"{number[:8]}{ord(number[8]) - 64:02d}{number[9:11]}"
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(sum(divmod(int(d) * w, 10)) for d, w in zip(digits, weights, strict=True))
    return total % 10 == int(number[11]) and 1 <= int(number[4:6]) <= 12


def _alternating(digits: str) -> int:
    return sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(digits))


def au_medicare(number: str) -> bool:
    """Australian Medicare card: first digit 2 to 6, weighted check digit, issue number."""
    weights = (1, 3, 7, 9, 1, 3, 7, 9)
    total = sum(int(d) * w for d, w in zip(number[:8], weights, strict=True))
    return number[0] in "23456" and total % 10 == int(number[8]) and number[9] != "0"


def us_security(number: str) -> bool:
    """Social Security Administration: area, group and serial never all zero; 666 and 9xx unused."""
    area, group, serial = number[:3], number[3:5], number[5:]
    known = number in ("078051120", "219099999", "123456789")
    return (
        area not in ("000", "666")
        and area < "900"
        and group != "00"
        and serial != "0000"
        and not known
    )


def us_taxpayer(number: str) -> bool:
    """IRS: an ITIN begins with 9 and has 50-65, 70-88, 90-92 or 94-99 in the middle."""
    group = int(number[3:5])
    return number[0] == "9" and group >= 50 and group not in (66, 67, 68, 69, 89, 93)


def es_identity(number: str) -> bool:
    """Spanish DNI, also without its leading zero: the control letter is the number mod 23."""
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number[:-1]) % 23] == number[-1]


def fi_identity(number: str) -> bool:
    """Finnish personal identity code, temporary ones included: date, century sign, mod 31."""
    body = int(number[:6] + number[7:10])
    valid = "0123456789ABCDEFHJKLMNPRSTUVWXY"[body % 31] == number[10]
    return valid and short_date(number[:6], "dmy")


def za_identity(number: str) -> bool:
    """South African identity number: birth date, citizen digit 0 to 2 (refugee), Luhn."""
    return number[10] in "012" and short_date(number[:6]) and luhn(number)


def th_identity(number: str) -> bool:
    """Thai citizen number: kind 1 to 8, a province code, check digit mod 11."""
    province = int(number[1:3])
    gaps = (28, 29, 59, 68, 69, 78, 79, 87, 88, 89)
    total = sum(int(d) * w for d, w in zip(number[:12], range(13, 1, -1), strict=True))
    known = 10 <= province <= 96 and province not in gaps
    return number[0] in "12345678" and known and (11 - total % 11) % 10 == int(number[12])


def uk_driver(number: str) -> bool:
    """DVLA driver number: the birth date is in characters 6 to 11, month plus 50 for women."""
    month, day = int(number[6:8]) % 50, int(number[8:10])
    return 1 <= month <= 12 and 1 <= day <= 31


def iban(compact: str) -> bool:
    """ISO 13616: two letters, two check digits, 15 to 34 characters, mod 97 is 1."""
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1
