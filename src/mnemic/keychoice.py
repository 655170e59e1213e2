"""Which key provider do the settings name?"""

from __future__ import annotations

import os
from collections.abc import Callable
from uuid import UUID

from pydantic import SecretStr

from mnemic.keyenv import EnvironmentKeys
from mnemic.keyfile import KeyFile, default_key_file
from mnemic.keys import KeyProvider
from mnemic.settings import Settings


def provider_of(settings: Settings, deployment: UUID) -> KeyProvider:
    """Return the provider of a deployment. Raises ConfigurationError for settings that do not work."""
    if settings.key_provider == "environment":
        return EnvironmentKeys(lambda: _given(settings), _again())
    if settings.key_provider == "vault":
        from mnemic.keyvault import VaultKeys  # the extra `vault`

        return VaultKeys.of(settings, settings.vault_key or f"mnemic-{deployment}")
    return KeyFile(settings.key_file or default_key_file(deployment), deployment)


def _given(settings: Settings) -> tuple[str, str]:
    """Return the current key and the others, as they are written."""
    return _text(settings.kek), _text(settings.kek_others)


def _text(value: SecretStr | None) -> str:
    return "" if value is None else value.get_secret_value()


def _again() -> Callable[[], tuple[str, str]] | None:
    """Return how to read the keys again: variables of a process stay, files may change meanwhile."""
    if not os.environ.get("MNEMIC_SECRETS_DIR"):
        return None
    return lambda: _given(Settings.read())
