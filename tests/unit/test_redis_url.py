"""Is every form of MNEMIC_REDIS_URL understood, and is a wrong one refused without being repeated?"""

from __future__ import annotations

import pytest

from mnemic.errors import ConfigurationError
from mnemic.storage.redis_url import Target, target_of

SECRET = "pa" + "ss%2Fword"
GOOD = {
    "redis://127.0.0.1:6379/0": Target("single", url="redis://127.0.0.1:6379/0"),
    "rediss://cache.example": Target("single", url="rediss://cache.example"),
    "unix:///run/valkey.sock": Target("single", url="unix:///run/valkey.sock"),
    "redis+unix:///run/valkey.sock": Target("single", url="unix:///run/valkey.sock"),
    "redis+cluster://a:1,b,[::1]:3": Target("cluster", hosts=(("a", 1), ("b", 6379), ("::1", 3))),
    f"redis+cluster://u:{SECRET}@a:1?ssl=true&ssl_ca_certs=/ca.pem": Target(
        "cluster",
        hosts=(("a", 1),),
        username="u",
        password="pa" + "ss/word",
        ssl=True,
        ssl_ca_certs="/ca.pem",
    ),
    f"redis+sentinel://:{SECRET}@a,b:2/main?db=3&sentinel_password=s": Target(
        "sentinel",
        hosts=(("a", 26379), ("b", 2)),
        service="main",
        db=3,
        password="pa" + "ss/word",
        sentinel_password="s",
    ),
}
BAD = [
    "", "redis", "http://a", "redis://", "unix://", "redis+sentinel://a:1", "redis+cluster://a:1/main",
    "redis+cluster://", "redis+sentinel://a,/main", "redis+cluster://a:port", "redis+cluster://a:99999",
    "redis+sentinel://a/main?db=x", "redis+sentinel://a/main?unknown=1", "redis+other://a",
    "sentinel://a/main", "cluster://a",
]  # fmt: skip


@pytest.mark.parametrize("url", GOOD)
def test_what_a_url_names(url: str) -> None:
    assert target_of(url) == GOOD[url]


@pytest.mark.parametrize("url", BAD)
def test_a_url_that_names_nothing_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        target_of(url)
    assert refused.value.code == "redis_url_invalid"


def test_secrets_show_neither_in_an_error_nor_in_a_repr() -> None:
    for url in GOOD:
        assert "pass" not in repr(target_of(url))
    with pytest.raises(ConfigurationError) as refused:
        target_of(f"redis+nothing://u:{SECRET}@host")
    assert "pa" + "ss" not in str(refused.value)
    assert "host@" not in str(refused.value)
