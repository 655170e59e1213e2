"""Which request asks for what, about profiles and about the service itself? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mnemic.client.calls import Call, asked, matching, segment
from mnemic.client.reading import profile_history_of, profile_of, project_profile_of
from mnemic.profile.values import Profile, ProfileHistory, ProjectProfile

_MINE = "/api/memory/profile"


def profile(*, contact: bool = False, as_of: datetime | None = None) -> Call[Profile]:
    """Return the user's profile, or what it was; e-mail and phone masked unless ``contact``."""
    return Call("GET", _MINE, profile_of, query=asked({"contact": contact, "as_of": as_of}))


def profile_history(
    *, limit: int = 50, cursor: str | None = None, contact: bool = False
) -> Call[ProfileHistory]:
    """Return how the user's profile changed, newest first; ``cursor`` asks for the next page."""
    query = {"limit": limit, "cursor": cursor, "contact": contact}
    return Call("GET", f"{_MINE}/history", profile_history_of, query=asked(query))


def change_profile(
    changes: Mapping[str, object], *, expected_version: int | None = None
) -> Call[Profile]:
    """Put the named fields, by the user's own word; None gives one back to what memories say.

    Raises Conflict (``version_conflict``) unless ``expected_version`` is there; None is whichever.
    """
    headers = matching(expected_version, always=True)
    return Call("PATCH", _MINE, profile_of, writes=True, json=_plain(changes), headers=headers)


def put_profile(
    fields: Mapping[str, object], *, expected_version: int | None = None
) -> Call[Profile]:
    """Put the user's word as a whole: fields that are not named go back to what memories say."""
    headers = matching(expected_version, always=True)
    return Call("PUT", _MINE, profile_of, writes=True, json=_plain(fields), headers=headers)


def project_profile(project_id: str, *, as_of: datetime | None = None) -> Call[ProjectProfile]:
    """Return a project's profile, or what it was, to its members."""
    return Call("GET", _of(project_id), project_profile_of, query=asked({"as_of": as_of}))


def project_profile_history(
    project_id: str, *, limit: int = 50, cursor: str | None = None
) -> Call[ProfileHistory]:
    """Return how a project's profile changed, newest first, to its members."""
    query = asked({"limit": limit, "cursor": cursor})
    return Call("GET", f"{_of(project_id)}/history", profile_history_of, query=query)


def change_project_profile(
    project_id: str, changes: Mapping[str, object], *, expected_version: int | None = None
) -> Call[ProjectProfile]:
    """Put the named fields of a project's profile, as its owner or admin; None gives one back."""
    return Call(
        "PATCH",
        _of(project_id),
        project_profile_of,
        writes=True,
        json=_plain(changes),
        headers=matching(expected_version, always=True),
    )


def put_project_profile(
    project_id: str, fields: Mapping[str, object], *, expected_version: int | None = None
) -> Call[ProjectProfile]:
    """Put a project's profile as a whole; fields that are not named go back to what memories say."""
    return Call(
        "PUT",
        _of(project_id),
        project_profile_of,
        writes=True,
        json=_plain(fields),
        headers=matching(expected_version, always=True),
    )


def _of(project_id: str) -> str:
    return f"/api/projects/{segment(project_id)}/profile"


def _plain(fields: Mapping[str, object]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }


# ---- the service


def health() -> Call[None]:
    """Return when the service lives. Raises StorageUnavailable (``service_unreachable``)."""
    return Call("GET", "/healthz", _well)


def ready() -> Call[None]:
    """Return when the service can work. Raises StorageUnavailable (``database_unreachable`` ...)."""
    return Call("GET", "/readyz", _well)


def metrics() -> Call[str]:
    """Return counts and durations in the text format of Prometheus; needs an operator's key."""
    return Call("GET", "/metrics", str)


def _well(value: Any) -> None:
    if value["status"] != "ok":
        raise ValueError(value)
