"""The OpenAPI 3.1 document of the service, generated from its endpoints."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from custody.server.endpoints import JSON, Endpoint
from custody.server.problems import MEDIA as PROBLEM_MEDIA
from custody.server.problems import TITLES
from custody.server.wire.service import Problem

VERSION = "3.1.0"
PROBLEM_STATUSES = (400, 401, 403, 408, 413, 415, 422, 429, 431, 503)
"""Errors that any endpoint may return; 404 and 409 only if an endpoint declares them."""
_REF = "#/components/schemas/{name}"
_RETRIES = (429, 503)


def build_openapi_document(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """Return the whole document."""
    endpoints = list(endpoints)
    types = [Problem, *(kind for endpoint in endpoints for kind in _list_endpoint_types(endpoint))]
    shapes, components = msgspec.json.schema_components(list(dict.fromkeys(types)), ref_template=_REF)
    schemas = {kind: _publish_json_schema(shape) for kind, shape in zip(dict.fromkeys(types), shapes, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _describe_endpoint_operation(endpoint, schemas)
    return {
        "openapi": VERSION,
        "info": {
            "title": "custody",
            "version": version,
            "summary": "Who wrote this line, with what evidence, and can we trust it.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {name: _publish_json_schema(schema) for name, schema in components.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _publish_json_schema(schema: Any) -> Any:
    """Return a schema for readers other than msgspec: ECMAScript patterns, and a format for timestamps."""
    if isinstance(schema, list):
        return [_publish_json_schema(subschema) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    published = {key: _publish_json_schema(value) for key, value in schema.items()}
    if isinstance(published.get("pattern"), str):
        published["pattern"] = published["pattern"].replace(r"\ud800-\udfff", "").replace(r"(?!\n)", "")
    if str(published.get("description", "")).startswith("RFC 3339"):
        published["format"] = "date-time"
    return published


def _list_endpoint_types(endpoint: Endpoint) -> Iterable[Any]:
    for kind in (*endpoint.takes.values(), *endpoint.gives.values()):
        yield from (
            alternative
            for alternative in (kind if isinstance(kind, tuple) else (kind,))
            if _is_openapi_type(alternative)
        )


def _is_openapi_type(kind: Any) -> bool:
    return not isinstance(kind, str | Mapping)


def _describe_endpoint_operation(endpoint: Endpoint, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {
            **{
                str(status): _describe_http_response(status, kind, schemas)
                for status, kind in sorted(endpoint.gives.items())
            },
            **{
                str(status): _describe_problem_response(status, schemas)
                for status in PROBLEM_STATUSES
                if status not in endpoint.gives
            },
        },
    }
    places = [
        _describe_openapi_parameter("path", name, description, {"type": "string"}, True)
        for name, description in endpoint.places.items()
    ]
    query = [
        _describe_openapi_parameter("query", p.name, p.description, dict(p.schema), p.required)
        for p in endpoint.parameters
    ]
    if places or query:
        operation["parameters"] = places + query
    if endpoint.takes:
        content = {media: {"schema": _resolve_openapi_schema(kind, schemas)} for media, kind in endpoint.takes.items()}
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.scope is None:
        operation["security"] = []
    else:
        operation["description"] = f"Needs the scope '{endpoint.scope.value}'."
    return operation


def _describe_openapi_parameter(where: str, name: str, description: str, schema: Any, required: bool) -> dict[str, Any]:
    return {"name": name, "in": where, "description": description, "required": required, "schema": schema}


def _describe_http_response(status: int, kind: Any, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    if kind is Problem:
        return _describe_problem_response(status, schemas)
    if isinstance(kind, str):
        return {"description": "OK", "content": {kind.partition(";")[0]: {}}}
    description = TITLES[status][1] if status in TITLES else "Stored" if status == 201 else "OK"
    content = {JSON: {"schema": _resolve_openapi_schema(kind, schemas)}}
    if status in TITLES:
        content[PROBLEM_MEDIA] = {"schema": schemas[Problem]}
    return {"description": description, "content": content}


def _describe_problem_response(status: int, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": TITLES[status][1],
        "content": {PROBLEM_MEDIA: {"schema": schemas[Problem]}},
    }
    if status in _RETRIES:
        response["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return response


def _resolve_openapi_schema(kind: Any, schemas: Mapping[Any, Any]) -> Any:
    if isinstance(kind, tuple):
        return {"anyOf": [schemas[alternative] for alternative in kind]}
    return schemas[kind] if _is_openapi_type(kind) else dict(kind)
