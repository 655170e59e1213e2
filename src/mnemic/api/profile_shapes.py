"""What may an edit of a profile hold, and what does a profile look like as JSON?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, WithJsonSchema, create_model

from mnemic.api.fields import AS_IT_CAME, MOMENT, Flag, time
from mnemic.api.queries import Paged
from mnemic.profile.fields import MAX_ENTRIES, PROJECT_FIELDS, USER_FIELDS, Spec
from mnemic.profile.values import Cause

_STRICT = ConfigDict(extra="forbid")


class ShowProjectProfile(BaseModel):
    """What it was at a moment that has passed; without one, what it is."""

    model_config = _STRICT

    as_of: Annotated[datetime | None, MOMENT, time(null=False)] = None


class ShowProfile(ShowProjectProfile):
    """Of which moment, and whether e-mail and phone are shown in full."""

    contact: Flag = False


class ListChanges(Paged):
    """Which changes to list, and whether e-mail and phone are shown in full."""

    contact: Flag = False


def _schema(spec: Spec) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string", "maxLength": spec.longest}
    if spec.words:
        text = {"type": "string", "enum": [*spec.words, ""]}
    value = {"type": "array", "items": text, "maxItems": MAX_ENTRIES} if spec.many else text
    return {"anyOf": [value, {"type": "null"}]}


def _edited(specs: dict[str, Spec]) -> dict[str, Any]:
    """Return fields whose values go to the library as they came: it decides, and has the reason codes."""
    return {
        name: (Annotated[Any, AS_IT_CAME, WithJsonSchema(_schema(spec))], None)
        for name, spec in specs.items()
    }


def _shown(specs: dict[str, Spec]) -> dict[str, Any]:
    return {name: (list[str] if spec.many else (str | None), ...) for name, spec in specs.items()}


UserProfileFields: Any = create_model(
    "UserProfileFields",
    __config__=ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"username": "Kim", "communication_style": "concise"}]},
    ),
    __doc__="Fields of a user's profile; null gives a field back to what memories say.",
    **_edited(dict(USER_FIELDS)),
)
ProjectProfileFields: Any = create_model(
    "ProjectProfileFields",
    __config__=ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"current_phase": "beta"}]}
    ),
    __doc__="Fields of a project's profile; null gives a field back to what memories say.",
    **_edited(dict(PROJECT_FIELDS)),
)
UserValues: Any = create_model("UserValues", **_shown(dict(USER_FIELDS)))
ProjectValues: Any = create_model("ProjectValues", **_shown(dict(PROJECT_FIELDS)))


class OriginAnswer(BaseModel):
    """The memories behind a field, or when the user wrote it."""

    items: list[UUID]
    edited_at: datetime | None


class DecisionAnswer(BaseModel):
    """What was decided, why and when, and the memory that tells."""

    decision: str
    reason: str | None
    time: datetime
    item: UUID


class ProfileAnswer(BaseModel):
    """A user's profile. Its ETag is its ``version``."""

    user: str
    values: UserValues
    origins: dict[str, OriginAnswer]
    version: int
    created_at: datetime | None
    updated_at: datetime | None


class ProjectProfileAnswer(BaseModel):
    """A project's profile. Its ETag is its ``version``."""

    project: str
    values: ProjectValues
    key_decisions: list[DecisionAnswer]
    origins: dict[str, OriginAnswer]
    version: int
    created_at: datetime | None
    updated_at: datetime | None


class ProfileChangeAnswer(BaseModel):
    """A change: the fields that it set, an emptied one null or []; of a project its decisions too."""

    version: int
    recorded_at: datetime
    cause: Cause
    values: dict[str, list[str] | str | None]
    origins: dict[str, OriginAnswer]
    decided: list[DecisionAnswer]
    withdrawn: list[UUID]
    by: str | None


class ProfileHistoryAnswer(BaseModel):
    """Changes of a profile, the newest first; ``cursor`` asks for the next page."""

    changes: list[ProfileChangeAnswer]
    cursor: str | None
