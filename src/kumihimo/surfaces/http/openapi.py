"""`/openapi.json`: the API as OpenAPI 3.1, made from the operations."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from kumihimo import __version__
from kumihimo.surfaces.http.api import PREFIX, Route, routes
from kumihimo.surfaces.http.statuses import EVERY

_REASONS = {
    400: "Something in the request is not as it should be.",
    401: "A bearer token is needed, or the session it names is over.",
    403: "Not allowed: the token is for less, or the Host or Origin is foreign.",
    404: "What is named is not there.",
    405: "Operations are called with POST.",
    409: "Things are in another state than this needs.",
    413: "The body is too large.",
    415: "The body is application/json.",
    429: "A server behind the hub wants to be asked less often.",
    502: "A server behind the hub has failed, or can't be reached.",
    503: "The database can't be used.",
}


@cache
def document() -> bytes:
    types = [kind for route in routes().values() for kind in (route.operation.arguments, route.answer)]
    distinct = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(distinct, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(distinct, schemas, strict=True))
    components["Problem"] = _PROBLEM
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Kumihimo", "version": __version__, "license": {"name": "Apache-2.0"}},
            "security": [{"token": []}],
            "paths": {f"{PREFIX}{path}": {"post": _post(route, schema_of)} for path, route in routes().items()},
            "components": {
                "schemas": components,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "responses": {str(status): _problem(reason) for status, reason in _REASONS.items()},
            },
        }
    )


_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}


def _problem(reason: str) -> dict[str, Any]:
    return {
        "description": reason,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _post(route: Route, schema_of: dict[Any, Any]) -> dict[str, Any]:
    operation = route.operation
    needs = any(field.required for field in msgspec.structs.fields(operation.arguments))
    shown = schema_of[route.answer]
    return {
        "operationId": operation.name,
        "tags": [operation.name.partition(".")[0]],
        "summary": operation.description.partition("\n")[0],
        "description": operation.description,
        "parameters": [
            {
                "name": "project",
                "in": "query",
                "schema": {"type": "string"},
                "description": "The project, by name or id.",
            }
        ],
        "requestBody": {
            "required": needs,
            "content": {"application/json": {"schema": schema_of[operation.arguments]}},
        },
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": shown}}},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in EVERY},
        },
    }
