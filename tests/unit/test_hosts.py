"""Does the allow-list let through what was listed, and nothing that only looks like it?"""

from __future__ import annotations

from contextlib import suppress

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import ConfigurationError, HostNotAllowed
from mnemic.hosts import fold_host, is_loopback, require_allowed, require_hosts


def refused(url: str, *allowed: str) -> bool:
    with pytest.raises(HostNotAllowed) as caught:
        require_allowed(url, allowed)
    return caught.value.code == "host_not_allowed"


@pytest.mark.parametrize(
    ("url", "entry", "host"),
    [
        ("https://api.example.com/v1", "api.example.com", "api.example.com"),
        ("https://API.Example.COM/v1", "api.example.com", "api.example.com"),
        ("https://api.example.com./v1", "api.example.com", "api.example.com"),
        ("https://api.example.com/v1", "API.EXAMPLE.COM.", "api.example.com"),
        ("https://api.example.com:9000/v1", "api.example.com", "api.example.com"),
        ("https://api.example.com:8443", "api.example.com:8443", "api.example.com"),
        ("https://api.example.com", "api.example.com:443", "api.example.com"),
        ("https://a.example.com", "*.example.com", "a.example.com"),
        ("https://a.b.example.com", "*.example.com", "a.b.example.com"),
        ("https://bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example", "BÜCHER.example", "xn--bcher-kva.example"),
        ("https://例子.example", "例子.example", "xn--fsqu00a.example"),
        ("http://127.0.0.1:11434/v1", "127.0.0.1", "127.0.0.1"),
        ("http://localhost:11434/v1", "localhost:11434", "localhost"),
        ("http://[::1]:8080/v1", "[::1]:8080", "[::1]"),
        ("https://[2001:DB8:0:0::1]/v1", "[2001:db8::1]", "[2001:db8::1]"),
        ("https://192.0.2.7/v1", "192.0.2.7", "192.0.2.7"),
        ("https://my_host/v1", "my_host", "my_host"),
    ],
)
def test_a_listed_host_passes_in_every_spelling(url: str, entry: str, host: str) -> None:
    assert require_allowed(url, {entry, "other.example"}) == host


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://api.example.org",
        "https://api.example.com.evil.example",
        "https://evilapi.example.com",
        "https://api-example.com",
        "https://xapi.example.com:443",
    ],
)
def test_a_host_that_only_resembles_a_listed_one_is_refused(url: str) -> None:
    assert refused(url, "api.example.com")


def test_an_empty_list_allows_nothing_not_even_loopback() -> None:
    assert refused("https://api.example.com")
    assert refused("http://127.0.0.1:8080")
    assert refused("http://localhost")


@pytest.mark.parametrize("url", ["https://example.com", "https://notexample.com", "https://.a.b"])
def test_a_wildcard_covers_names_below_its_domain_only(url: str) -> None:
    assert refused(url, "*.example.com")


def test_a_wildcard_with_a_port_binds_the_port() -> None:
    assert require_allowed("https://a.example.com:8443", ["*.example.com:8443"])
    assert refused("https://a.example.com", "*.example.com:8443")


@pytest.mark.parametrize("url", ["https://api.example.com:444", "https://api.example.com"])
def test_an_entry_with_a_port_allows_no_other_port(url: str) -> None:
    assert refused(url, "api.example.com:8443")


@pytest.mark.parametrize(
    "url",
    [
        "https://user@api.example.com/",
        "https://user:pass@api.example.com/",
        "https://api.example.com@evil.example/",
        "https://api.example.com%40evil.example/",
        "https://evil.example\\@api.example.com/",
        "https://evil.example#@api.example.com/",
        "https://evil.example?@api.example.com/",
        "https://api.example.com\t.evil.example/",
        "https://api.exa\nmple.com/",
        " https://api.example.com/",
        "https:///api.example.com/",
        "https://api.example.com:0/",
        "https://api.example.com:99999/",
        "https://api.example.com:port/",
        "https://[::1/",
        "https://",
        "",
        "//api.example.com/",
        "api.example.com",
        "ftp://api.example.com/",
        "file:///etc/hosts",
        "javascript:alert(1)",
    ],
)
def test_a_url_that_parsers_could_read_in_two_ways_is_refused(url: str) -> None:
    assert refused(url, "api.example.com", "[::1]")


def test_plain_http_is_for_listed_loopback_only() -> None:
    assert refused("http://api.example.com", "api.example.com")
    assert refused("http://192.168.0.2", "192.168.0.2")
    assert refused("http://localhost.example.com", "*.example.com")
    assert require_allowed("http://127.8.9.10:1", ["127.8.9.10"]) == "127.8.9.10"


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "127.0.1", "1.2.3.4.5"]
)
def test_numbers_that_some_resolvers_read_as_an_address_pass_only_as_listed(host: str) -> None:
    assert refused(f"http://{host}/", "127.0.0.1", "localhost", "*.0.1", "*.1", host)
    assert refused(f"https://{host}/", "127.0.0.1", "*.0.0.1", "*.1")
    assert require_allowed(f"https://{host}/", [host]) == host


def test_an_ipv4_address_inside_ipv6_is_an_address_of_its_own() -> None:
    assert refused("http://[::ffff:127.0.0.1]/", "127.0.0.1", "[::ffff:127.0.0.1]")
    assert not is_loopback(fold_host("[::ffff:127.0.0.1]"))


@pytest.mark.parametrize(
    "entry",
    [
        "https://api.example.com",
        "api.example.com/v1",
        "*",
        "*.",
        "",
        "a b",
        "user@host",
        "[::1",
        "::1",
    ],
)
def test_an_entry_that_could_never_match_is_an_error_not_a_silence(entry: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        require_allowed("https://api.example.com", ["api.example.com", entry])
    assert caught.value.code == "allowed_hosts_invalid"
    with pytest.raises(ConfigurationError) as caught:
        require_hosts(["api.example.com", entry])
    assert caught.value.code == "allowed_hosts_invalid"
    assert "MNEMIC_ALLOWED_HOSTS" in caught.value.message


def test_entries_that_can_match_pass_at_the_start() -> None:
    require_hosts(["api.example.com", "*.example.com", "a.example:8443", "[::1]", "127.0.0.1"])
    require_hosts([])


def test_a_lone_string_is_one_entry_and_not_its_letters() -> None:
    assert require_allowed("https://api.example.com", "api.example.com") == "api.example.com"
    assert refused("https://a", "abc")


@given(
    st.from_regex(r"https://[a-z0-9A-Zäß例。.:@%\[\]\\/?#_-]{1,24}", fullmatch=True),
    st.sampled_from(["a", "a.b", "b", "xn--4ca", "fass.de"]),
)
def test_what_is_allowed_is_what_the_client_would_call(url: str, entry: str) -> None:
    try:
        host = require_allowed(url, [entry, "*.b"])
    except HostNotAllowed:
        return
    assert httpx2.URL(url).raw_host.decode().removesuffix(".") == host


@given(st.from_regex(r"(https?://)?[a-z.]{1,8}(:[0-9]{1,6})?/?", fullmatch=True), st.text())
def test_every_url_is_answered_with_a_host_or_with_our_error(url: str, tail: str) -> None:
    with suppress(HostNotAllowed):
        assert require_allowed(url + tail, ["a", "*.b"])
