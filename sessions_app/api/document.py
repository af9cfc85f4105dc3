"""What the generated OpenAPI document leaves out: how to log in, and the one shape of every error."""

from __future__ import annotations

from typing import Any

from ninja.openapi.schema import OpenAPISchema

from sessions_app.api.answers import PROBLEM_TYPE

PUBLIC_PATHS = ("/api/health",)

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "fields"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "For people; clients branch on `code`."},
        "code": {"type": "string"},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "JSON pointers."},
    },
}
SECURITY: dict[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "The login of the pages; writing needs the header X-CSRFToken too.",
    },
}
ERROR_RESPONSE: dict[str, Any] = {
    "description": "Any error: 400, 401, 403, 404, 405, 409, 413, 415, 429, 500 or 503.",
    "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def complete(document: OpenAPISchema) -> OpenAPISchema:
    """The document with both added."""
    document["components"]["schemas"]["Problem"] = PROBLEM
    document["components"]["securitySchemes"] = SECURITY
    document["security"] = [{"bearer": []}, {"cookie": []}]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation["responses"]["default"] = ERROR_RESPONSE
            if path in PUBLIC_PATHS:
                operation["security"] = []
    return document
