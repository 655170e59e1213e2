"""May a byte be sent to this URL at all?

The rule of the design, section 8 "Residency": nothing leaves for a host that the operator did not
list. An empty list allows nothing, loopback included. Hosts are compared after folding (letter
case, IDNA, one trailing dot, IPv6 spelling); numbers that only some resolvers read as an address
(``2130706433``, ``0177.0.0.1``) are never taken for one: they pass only when listed as spelt.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

import idna

from mnemic.errors import ConfigurationError, HostNotAllowed

_LABELS = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_NUMBER_LAST = re.compile(r"(^|\.)([0-9]+|0x[0-9a-f]*)$")
_ENTRY = re.compile(r"(?P<host>\[[^\[\]]+\]|[^:\[\]/@]+)(:(?P<port>[0-9]{1,5}))?")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str
    port: int | None
    below: bool

    def matches(self, host: str, port: int) -> bool:
        if self.port is not None and self.port != port:
            return False
        if self.below:
            return host.endswith("." + self.host) and not is_numeric(host)
        return host == self.host


def require_allowed(url: str, allowed: Collection[str]) -> str:
    """Return the folded host of an http or https URL (IPv6 in brackets), if it is allowed.

    ``allowed`` holds ``api.example.com`` (any port), ``api.example.com:8443`` (this port only) or
    ``*.example.com`` (every name below it, at any depth, and not ``example.com`` itself). Plain
    http is for loopback only, and loopback must be listed too. Raises HostNotAllowed
    (``host_not_allowed``), and ConfigurationError (``allowed_hosts_invalid``) when an entry of
    ``allowed`` is none of the three forms.
    """
    entries = [_entry(text) for text in _texts(allowed)]
    scheme, host, port = _target(url)
    if scheme == "http" and not is_loopback(host):
        _refuse("Plain http is for loopback only: use https for this endpoint.")
    if not any(entry.matches(host, port) for entry in entries):
        _refuse(f"The host {host} is not allowed: add it to MNEMIC_ALLOWED_HOSTS.", host=host)
    return host


def require_hosts(allowed: Collection[str]) -> None:
    """Raise ConfigurationError (``allowed_hosts_invalid``) when an entry of ``allowed`` is no host."""
    for text in _texts(allowed):
        _entry(text)


def require_public(host: str, addresses: Sequence[str], allowed: Collection[str]) -> None:
    """Refuse a host whose addresses are not all of the public internet, unless they are listed.

    For URLs that a user gives: a name that an operator allows with a pattern may lead into the operator's
    own network, today or at the next look-up. An address passes when ``allowed`` names it literally; so do
    the hosts that ``require_allowed`` lets through as an address or as localhost, which say what they are.
    Raises HostNotAllowed (``address_not_public``).
    """
    if is_loopback(host) or _address(host) is not None:
        return
    listed = {_address(_entry(text).host) for text in _texts(allowed)} - {None}
    for text in addresses:
        address = _address(text)
        if address is None or not (is_public(address) or address in listed):
            raise HostNotAllowed(
                "address_not_public",
                f"The host {host} leads to an address that is not public: an operator must list the"
                " address itself in MNEMIC_ALLOWED_HOSTS.",
                host=host,
            )


def is_public(address: IPAddress) -> bool:
    """Tell whether an address is one of the public internet, also when IPv6 only wraps an IPv4 address."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast


def is_loopback(host: str) -> bool:
    """Tell whether a folded host is ``localhost``, 127.0.0.0/8 in four parts, or ``[::1]``."""
    if host in ("localhost", "[::1]"):
        return True
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False


def is_numeric(host: str) -> bool:
    """Tell whether a folded host is an address or something that a resolver could read as one."""
    return host.startswith("[") or _NUMBER_LAST.search(host) is not None


def fold_host(host: str) -> str:
    """Return the one spelling of a host; raises ValueError if it is no host name and no address."""
    if host.startswith("["):
        return f"[{ipaddress.IPv6Address(host.removeprefix('[').removesuffix(']'))}]"
    # As the HTTP client encodes it: any other reading would compare one name and call another.
    name = host.lower() if host.isascii() else idna.encode(host.lower()).decode("ascii")
    name = name.removesuffix(".")
    if len(name) > 253 or not _LABELS.fullmatch(name):
        raise ValueError("not a host name")
    return name


def _address(text: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _target(url: str) -> tuple[str, str, int]:
    # Parsers disagree about these characters, so that one could check a host and another connect.
    if any(char <= " " or char in "\\\x7f" for char in url):
        _refuse("The endpoint's URL holds white space, control characters or a backslash.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        _refuse("The endpoint's URL cannot be read: write https://host/path.")
    if parts.scheme not in _DEFAULT_PORTS:
        _refuse("The endpoint's URL must begin with https:// (http:// for loopback).")
    if "@" in parts.netloc or "%" in parts.netloc:
        _refuse("The endpoint's URL must not hold a user name: give the key in its own setting.")
    if port == 0:
        _refuse("Port 0 is no port: write https://host:port/path.")
    bare = parts.hostname or ""
    try:
        host = fold_host(f"[{bare}]" if "[" in parts.netloc else bare)
    except ValueError:
        _refuse("The endpoint's URL names no valid host: write https://host/path.")
    return parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme]


def _entry(text: str) -> _Entry:
    found = _ENTRY.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError("no entry")
        host = found["host"]
        below = host.startswith("*.")
        port = int(found["port"]) if found["port"] else None
        return _Entry(fold_host(host.removeprefix("*.")), port, below)
    except ValueError:
        raise ConfigurationError(
            "allowed_hosts_invalid",
            "MNEMIC_ALLOWED_HOSTS: write each host as host, host:port or *.domain, without scheme"
            " or path.",
        ) from None


def _texts(allowed: Collection[str]) -> Collection[str]:
    # A lone string is a collection of letters to Python, and would allow none of what it names.
    return (allowed,) if isinstance(allowed, str) else allowed


def _refuse(message: str, **details: object) -> NoReturn:
    raise HostNotAllowed("host_not_allowed", message, **details)
