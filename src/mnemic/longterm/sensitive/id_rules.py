"""Which national identity numbers are known, how do they look and what makes one valid?

One row a kind of number. ``always``: the form and the check are so telling that no word is needed.
Every other kind needs an identity word nearby, or to be the whole text: one in ten phone numbers passes
a single check digit. ``stdnum`` names the module of python-stdnum that decides (loaded on first use).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from mnemic.longterm.sensitive import checks
from mnemic.longterm.sensitive.lazy import Pattern, lazy

Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class IdRule:
    """A kind of identity number: its form in the folded text and what decides."""

    name: str
    form: Pattern
    check: Check | None = None
    stdnum: str = ""
    always: bool = False
    alone: bool = False


def _rule(
    name: str,
    form: str,
    check: Check | None = None,
    *,
    stdnum: str = "",
    always: bool = False,
    alone: bool = False,
) -> IdRule:
    pattern = lazy(rf"(?<![0-9]){form}(?![A-Za-z0-9])", re.I)
    return IdRule(name, pattern, check, stdnum, always, alone)


def _edge(form: str) -> str:
    """Forms that begin with a letter must not begin inside a word."""
    return rf"(?<![A-Za-z_])(?<![A-Za-z0-9]-){form}"


_SIX = r"[0-9](?:[ \-.·/:]{0,3}\d){5}"
_NUMBER = rf"(?={_SIX}(?:[ \-.·/:+]{{0,3}}[A-Z0-9]){{2}}|\d[A-Z][A-Z0-9]\d)\d"
_WORD = r"[A-Z](?=[A-Z]?[ -]?\d\d[ -]?\d\d|(?=[A-Z0-9]{0,8}[0-9])[A-Z0-9]{8}|[A-Z0-9]{15})"
STARTS = lazy(rf"(?<![0-9])(?:{_NUMBER}|{_edge(_WORD)})", re.I)
"""Where a form can begin: at six digits and two more, or the four of a Medicare beneficiary; at a letter of a
word with four digits soon, of nine letters and digits, or as long as the Italian code, whose digits may all
be letters."""
SIGNS = (
    lazy(rf"{_SIX}[ \-.·/:+(]{{0,3}}[A-Z0-9]", re.I),
    lazy(r"[0-9](?:[A-Z][A-Z0-9]\d|[A-Z0-9]{4}|(?<=[A-Z0-9]{4}\d))", re.I),
    lazy(r"[A-Za-zı]{16}"),
)
"""Of these a text with a form holds one. Of nine letters and digits in a row, a digit has four on one side;
the Italian code may have none (ı is an i when case does not count)."""
_S = r"[ \-.·/]{0,3}"
RULES: tuple[IdRule, ...] = (
    _rule(
        "cn",
        rf"\d{{6}}{_S}\d{{4}}{_S}\d{{4}}{_S}\d{{3}}[ -]?[\dX]",
        checks.cn_resident,
        always=True,
    ),
    _rule("cn old", rf"\d{{6}}{_S}\d{{6}}{_S}\d{{3}}", checks.cn_resident_old),
    _rule("hk", _edge(r"[A-Z]{1,2}\d{6}\([0-9A]\)"), checks.hk_identity, always=True),
    _rule("hk bare", _edge(r"[A-Z]{1,2}\d{6}[0-9A]"), checks.hk_identity),
    _rule("tw", _edge(r"[A-Z][1289]\d{8}"), checks.tw_identity, alone=True),
    _rule("sg", _edge(r"[STFGM]\d{7}[A-Z]"), checks.sg_identity, always=True),
    _rule("sg form", _edge(r"[STFGM]\d{7}[A-Z]"), alone=True),
    _rule("kr", r"\d{6}-[1-8]\d{6}", checks.kr_resident_form, always=True),
    _rule("kr bare", r"\d{6}[1-8]\d{6}", checks.kr_resident, alone=True),
    _rule("jp", rf"\d{{4}}{_S}\d{{4}}{_S}\d{{4}}", stdnum="jp.in_"),
    _rule("in aadhaar", r"[2-9]\d{3}[ \-:]?\d{4}[ \-:]?\d{4}", stdnum="in_.aadhaar", alone=True),
    _rule("in pan", _edge(r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]"), always=True),
    _rule("in pan form", _edge(r"[A-Z]{5}\d{4}[A-Z]"), alone=True),
    _rule("th", rf"\d{_S}\d{{4}}{_S}\d{{5}}{_S}\d\d{_S}\d", checks.th_identity, alone=True),
    _rule("my", r"\d{6}-\d{2}-\d{4}", stdnum="my.nric", always=True),
    _rule("my bare", r"\d{12}", stdnum="my.nric"),
    _rule("id", r"\d{16}", stdnum="id.nik"),
    _rule("pk", r"\d{5}-\d{7}-\d", stdnum="pk.cnic", always=True),
    _rule("us ssn", r"\d{3}-\d{2}-\d{4}", checks.us_security, always=True),
    _rule("us ssn spaced", r"\d{3} \d{2} \d{4}", checks.us_security, alone=True),
    _rule("us ssn named", r"\d{3}[ \-]?\d{2}[ \-]?\d{4}"),
    _rule("us itin", r"9\d{2}-\d{2}-\d{4}", checks.us_taxpayer, always=True),
    _rule("us itin bare", r"9\d{2}-?\d{2}-?\d{4}", checks.us_taxpayer, alone=True),
    _rule(
        "us mbi",
        r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]"
        r"\d-[AC-HJKMNP-RT-Y]{2}\d{2}",
        always=True,
    ),
    _rule(
        "us mbi bare",
        r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y]"
        r"{2}\d{2}",
        alone=True,
    ),
    _rule("ca", r"\d{3}[ -]?\d{3}[ -]?\d{3}", checks.luhn, alone=True),
    _rule("mx", _edge(r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d"), stdnum="mx.curp", always=True),
    _rule("br", r"\d{3}\.\d{3}\.\d{3}-\d{2}", stdnum="br.cpf", always=True),
    _rule("br bare", r"\d{11}", stdnum="br.cpf", alone=True),
    _rule("cl", r"\d{1,2}\.\d{3}\.\d{3}-[\dK]", stdnum="cl.rut", always=True),
    _rule("cl bare", r"\d{7,8}-?[\dK]", stdnum="cl.rut"),
    _rule("ec", r"\d{10}", stdnum="ec.ci"),
    _rule("do", r"\d{3}-?\d{7}-?\d", stdnum="do.cedula"),
    _rule("cu", r"\d{11}", stdnum="cu.ni"),
    _rule(
        "uk nino spaced",
        _edge(
            r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} \d{2} \d{2} ?[A-D]"
        ),
        always=True,
    ),
    _rule(
        "uk nino",
        _edge(
            r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][ -]?\d{2}[ -]?\d{2}[ -]?\d{2}[ -]"
            r"?[A-D]"
        ),
        alone=True,
    ),
    _rule("uk nino sample", _edge(r"QQ ?\d{2} ?\d{2} ?\d{2} ?[A-D]")),
    _rule("uk nhs", r"\d{3}[ -]?\d{3}[ -]?\d{4}", stdnum="gb.nhs", alone=True),
    _rule(
        "uk driver",
        _edge(r"(?=[A-Z]{1,5}9{0,4}\d)[A-Z9]{5}\d{6}[A-Z][A-Z9]\d[A-Z]{2}"),
        checks.uk_driver,
        always=True,
    ),
    _rule("ie", _edge(r"\d{7}[A-W][AHWTX]?"), stdnum="ie.pps"),
    _rule("de tax", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", stdnum="de.idnr", alone=True),
    _rule("de pension", r"\d{2} ?\d{6} ?[A-Z] ?\d{3}", checks.de_pension, always=True),
    _rule("de health", _edge(r"[A-Z]\d{9}"), checks.de_health_insurance, alone=True),
    _rule(
        "de card",
        _edge(r"[CFGHJKLMNPRTVWXYZ][CFGHJKLMNPRTVWXYZ0-9]{8}\d"),
        checks.de_identity_card,
        alone=True,
    ),
    _rule(
        "de card serial",
        _edge(r"[LMNPRTVWXY](?=[A-Z0-9]{0,3}\d)[CFGHJKLMNPRTVWXYZ0-9]{8}"),
        alone=True,
    ),
    _rule("at", r"\d{4} ?\d{6}", stdnum="at.vnr"),
    _rule("ch", r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}", stdnum="ch.ssn", always=True),
    _rule(
        "fr", r"[12] ?\d{2} ?\d{2} ?[0-9][0-9AB] ?\d{3} ?\d{3} ?\d{2}", stdnum="fr.nir", always=True
    ),
    _rule("es nie", _edge(r"[XYZ]-?\d{7}-?[A-Z]"), stdnum="es.nie", always=True),
    _rule("es dni", r"\d{8}-?[A-Z]", checks.es_identity, alone=True),
    _rule("es dni short", r"\d{7}-?[A-Z]", checks.es_identity, alone=True),
    _rule(
        "it",
        _edge(r"[A-Z]{6}[0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]"),
        stdnum="it.codicefiscale",
        always=True,
    ),
    _rule("pt", r"\d{8} ?\d ?[A-Z0-9]{2}\d", stdnum="pt.cc"),
    _rule("nl", r"\d{4}\.?\d{2}\.?\d{3}", stdnum="nl.bsn", alone=True),
    _rule("be", r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", stdnum="be.nn", always=True),
    _rule("be bare", r"\d{11}", stdnum="be.nn", alone=True),
    _rule("se", r"(?:19|20)?\d{6}[-+]\d{4}", stdnum="se.personnummer", always=True),
    _rule("se bare", r"(?:19|20)?\d{10}", stdnum="se.personnummer", alone=True),
    _rule("fi", r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Z]", checks.fi_identity, always=True),
    _rule("no", r"\d{6} ?\d{5}", stdnum="no.fodselsnummer", alone=True),
    _rule("dk", r"\d{6}-?\d{4}", stdnum="dk.cpr"),
    _rule("is", r"\d{6}-?\d{4}", stdnum="is_.kennitala"),
    _rule("ee lt", r"[1-6]\d{10}", stdnum="ee.ik", alone=True),
    _rule("pl", r"\d{11}", stdnum="pl.pesel", alone=True),
    _rule("cz sk", r"\d{6}/\d{3,4}", stdnum="cz.rc", always=True),
    _rule("ro", r"[1-8]\d{12}", stdnum="ro.cnp", alone=True),
    _rule("bg", r"\d{10}", stdnum="bg.egn"),
    _rule("hr", r"\d{11}", stdnum="hr.oib"),
    _rule("si rs", r"\d{13}", stdnum="si.emso"),
    _rule("gr", r"\d{11}", stdnum="gr.amka"),
    _rule("tr", r"[1-9]\d{10}", stdnum="tr.tckimlik", alone=True),
    _rule("il", r"\d{9}", stdnum="il.idnr"),
    _rule("ru inn", r"\d{12}", stdnum="ru.inn"),
    _rule("ua", r"\d{10}", stdnum="ua.rntrc"),
    _rule("za", r"\d{6} ?\d{4} ?\d{3}", checks.za_identity, alone=True),
    _rule("ng", r"[1-9]\d{10}", stdnum="verhoeff", alone=True),
    _rule("au medicare", r"[2-6]\d{3} ?\d{5} ?\d", checks.au_medicare, alone=True),
    _rule("au tax", r"\d{2,3} ?\d{3} ?\d{3}", stdnum="au.tfn", alone=True),
    _rule("nz", r"\d{2,3}-\d{3}-\d{3}", stdnum="nz.ird"),
)
ANY_FORM = reduce(or_, (rule.form for rule in RULES))
"""Matches where the form of a rule does."""
