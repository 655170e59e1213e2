"""What goes back for a value? Status, headers and JSON text, so that the answer can be kept and repeated."""

from __future__ import annotations

import json

from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.json_body import JSON


def reply(value: object, status: int = 200, **headers: str) -> Answer:
    """Return the answer with a JSON value; ``Location="..."`` and the like become headers."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Answer(status, text, headers)


def sent(answer: Answer) -> Response:
    """Return an answer as what Starlette sends; half a surrogate pair goes out as a question mark."""
    body = answer.body.encode("utf-8", "replace")
    return Response(body, answer.status, dict(answer.headers), JSON)
