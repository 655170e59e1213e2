"""How is a profile handed out? Every field by name; e-mail and phone masked unless asked for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mnemic.contact import mask_email, mask_phone
from mnemic.profile.fields import PROJECT_FIELDS, USER_FIELDS, origins, shown
from mnemic.profile.refresh import Standing
from mnemic.profile.values import Decision, Fields, Profile, ProjectProfile, Value

MASKS: Mapping[str, Callable[[str], str]] = {"email": mask_email, "phone": mask_phone}


def user_profile(
    user: str,
    standing: Standing,
    *,
    contact: bool,
    with_items: bool = True,
    asleep: str | None = None,
) -> Profile:
    """Return a user's profile; without items it tells no origins, ``asleep`` why it is not whole."""
    fields = standing.fields
    return Profile(
        user,
        values_of_user(fields, contact=contact),
        origins(fields) if with_items else {},
        standing.version,
        standing.created_at,
        standing.updated_at,
        asleep,
    )


def values_of_user(fields: Fields, *, contact: bool) -> dict[str, Value]:
    """Return the values of a user's fields."""
    values = shown(fields, USER_FIELDS)
    for name, mask in MASKS.items():
        value = values[name]
        if isinstance(value, str) and not contact:
            values[name] = mask(value)
    return values


def project_profile(
    project: str, standing: Standing, decided: tuple[Decision, ...]
) -> ProjectProfile:
    """Return a project's profile as it stands."""
    return ProjectProfile(
        project,
        shown(standing.fields, PROJECT_FIELDS),
        decided,
        origins(standing.fields),
        standing.version,
        standing.created_at,
        standing.updated_at,
    )
