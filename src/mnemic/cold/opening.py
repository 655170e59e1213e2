"""Which cold store do the settings name, and may it be used?"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mnemic.cold import ColdStore
from mnemic.errors import ConfigurationError
from mnemic.hosts import require_allowed
from mnemic.settings import Settings

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9._/-]{0,200}")


def open_cold_store(settings: Settings) -> ColdStore | None:
    """Return the store of MNEMIC_COLD_STORE, None where that is not set. Nothing is sent yet.

    Raises ConfigurationError (``cold_store_invalid``, ``cold_store_unusable``, ``cold_store_credentials``,
    ``obstore_not_installed``) and HostNotAllowed (``host_not_allowed``).
    """
    if settings.cold_store is None:
        return None
    url = urlsplit(settings.cold_store)
    if url.query or url.fragment or "@" in url.netloc or url.scheme not in ("file", "s3"):
        raise _invalid()
    if find_spec("obstore") is None:
        raise ConfigurationError(
            "obstore_not_installed",
            "A cold store needs obstore: pip install '.[cold]' in the clone.",
        )
    if url.scheme == "file":
        return _directory(url.netloc, unquote(url.path), settings.cold_timeout)
    return _bucket(url.netloc, url.path.strip("/"), settings)


def _directory(host: str, path: str, timeout: float) -> ColdStore:
    from mnemic.cold.objects import Objects

    if host or not path.startswith("/") or path == "/":
        raise _invalid()
    return Objects.in_directory(Path(path), timeout)


def _bucket(name: str, prefix: str, settings: Settings) -> ColdStore:
    if not _BUCKET.fullmatch(name) or not _PREFIX.fullmatch(prefix) or ".." in prefix:
        raise _invalid()
    region = settings.aws_region or "us-east-1"
    endpoint = (settings.aws_endpoint_url or f"https://s3.{region}.amazonaws.com").rstrip("/")
    require_allowed(endpoint, settings.allowed_hosts)
    key_id, secret = settings.aws_access_key_id, settings.aws_secret_access_key
    if key_id is None or secret is None:
        raise ConfigurationError(
            "cold_store_credentials",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for MNEMIC_COLD_STORE: no other place is asked"
            " for them.",
        )
    from mnemic.cold.objects import Bucket, Objects

    token, ca = settings.aws_session_token, settings.aws_ca_bundle
    bucket = Bucket(
        name=name,
        prefix=prefix,
        endpoint=endpoint,
        region=region,
        key_id=key_id.get_secret_value(),
        secret=secret.get_secret_value(),
        token=token.get_secret_value() if token else None,
        ca=_certificates(ca) if ca else None,
    )
    return Objects.in_bucket(bucket, settings.cold_timeout)


def _certificates(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            "cold_store_unusable", "AWS_CA_BUNDLE names a file that cannot be read."
        ) from error


def _invalid() -> ConfigurationError:
    return ConfigurationError(
        "cold_store_invalid",
        "Write MNEMIC_COLD_STORE as file:///directory or s3://bucket/prefix.",
    )
