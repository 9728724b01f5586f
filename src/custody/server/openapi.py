"""The description of the service, OpenAPI 3.1, made from its endpoints."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from custody.server.endpoints import JSON, Endpoint
from custody.server.problems import MEDIA as PROBLEM_MEDIA
from custody.server.problems import TITLES
from custody.server.wire.service import Problem

VERSION = "3.1.0"
REFUSALS = (400, 401, 403, 408, 413, 415, 422, 429, 431, 503)
"""What any endpoint may answer instead; 404 and 409 only where an endpoint says so."""
_REF = "#/components/schemas/{name}"
_RETRIES = (429, 503)


def description(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """The whole description."""
    endpoints = list(endpoints)
    types = [Problem, *(kind for endpoint in endpoints for kind in _types(endpoint))]
    shapes, components = msgspec.json.schema_components(list(dict.fromkeys(types)), ref_template=_REF)
    schemas = {kind: _published(shape) for kind, shape in zip(dict.fromkeys(types), shapes, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": VERSION,
        "info": {
            "title": "custody",
            "version": version,
            "summary": "Who wrote this line, on what grounds, and may we rely on it.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {name: _published(schema) for name, schema in components.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _published(schema: Any) -> Any:
    """A schema for readers other than msgspec: patterns as ECMAScript has them, moments by their format."""
    if isinstance(schema, list):
        return [_published(subschema) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _published(value) for key, value in schema.items()}
    if isinstance(made.get("pattern"), str):
        made["pattern"] = made["pattern"].replace(r"\ud800-\udfff", "").replace(r"(?!\n)", "")
    if str(made.get("description", "")).startswith("RFC 3339"):
        made["format"] = "date-time"
    return made


def _types(endpoint: Endpoint) -> Iterable[Any]:
    for kind in (*endpoint.takes.values(), *endpoint.gives.values()):
        yield from (
            alternative for alternative in (kind if isinstance(kind, tuple) else (kind,)) if _is_type(alternative)
        )


def _is_type(kind: Any) -> bool:
    return not isinstance(kind, str | Mapping)


def _operation(endpoint: Endpoint, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.words,
        "responses": {
            **{
                str(status): _describe_response(status, kind, schemas)
                for status, kind in sorted(endpoint.gives.items())
            },
            **{str(status): _refusal(status, schemas) for status in REFUSALS if status not in endpoint.gives},
        },
    }
    places = [_parameter("path", name, words, {"type": "string"}, True) for name, words in endpoint.places.items()]
    asked = [_parameter("query", p.name, p.words, dict(p.schema), p.required) for p in endpoint.parameters]
    if places or asked:
        made["parameters"] = places + asked
    if endpoint.takes:
        content = {media: {"schema": _schema(kind, schemas)} for media, kind in endpoint.takes.items()}
        made["requestBody"] = {"required": True, "content": content}
    if endpoint.scope is None:
        made["security"] = []
    else:
        made["description"] = f"Needs the scope '{endpoint.scope.value}'."
    return made


def _parameter(where: str, name: str, words: str, schema: Any, required: bool) -> dict[str, Any]:
    return {"name": name, "in": where, "description": words, "required": required, "schema": schema}


def _describe_response(status: int, kind: Any, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    if kind is Problem:
        return _refusal(status, schemas)
    if isinstance(kind, str):
        return {"description": "OK", "content": {kind.partition(";")[0]: {}}}
    words = TITLES[status][1] if status in TITLES else "Kept" if status == 201 else "OK"
    content = {JSON: {"schema": _schema(kind, schemas)}}
    if status in TITLES:
        content[PROBLEM_MEDIA] = {"schema": schemas[Problem]}
    return {"description": words, "content": content}


def _refusal(status: int, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "description": TITLES[status][1],
        "content": {PROBLEM_MEDIA: {"schema": schemas[Problem]}},
    }
    if status in _RETRIES:
        made["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return made


def _schema(kind: Any, schemas: Mapping[Any, Any]) -> Any:
    if isinstance(kind, tuple):
        return {"anyOf": [schemas[alternative] for alternative in kind]}
    return schemas[kind] if _is_type(kind) else dict(kind)
