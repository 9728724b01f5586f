"""The JSON Schemas of everything custody writes, as files for programs and as one page for people."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tools import markdown

Schema = Mapping[str, Any]


def schema_files() -> Mapping[str, str]:
    """``schemas/``: one file per schema."""
    return files(_schemas())


def schemas_page() -> str:
    """``schemas.md``."""
    return page(_schemas())


def _schemas() -> Mapping[str, Schema]:
    from custody.cli.json_schema import collect_report_schemas

    return collect_report_schemas()


def files(schemas: Mapping[str, Schema]) -> dict[str, str]:
    """Return each schema as a file; keys in order, so that the same schema is the same bytes."""
    return {f"{name}.json": json.dumps(schema, indent=2, sort_keys=True) + "\n" for name, schema in schemas.items()}


def page(schemas: Mapping[str, Schema]) -> str:
    """Return all schemas with their fields."""
    sections = "".join(_section(name, schemas[name]) for name in sorted(schemas))
    return f"# JSON\n\nWhat custody reads and writes. The schemas themselves also hold every pattern.\n{sections}"


def _section(name: str, schema: Schema) -> str:
    shapes = "".join(_shape(title, shape) for title, shape in _shapes(schema))
    return f"\n## {name}\n\n[{name}.json](schemas/{name}.json)\n{shapes}"


def _shapes(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schema's own shape, then those it defines for its parts."""
    yield "", schema
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    yield from sorted(definitions.items())


def _shape(title: str, shape: Schema) -> str:
    head = f"\n### {title}\n" if title else ""
    says = f"\n{markdown.text(shape['description'])}\n" if "description" in shape else ""
    required = frozenset(shape.get("required", ()))
    rows = [
        (f"`{field}`", kind(of), "yes" if field in required else "", markdown.text(_says(of)))
        for field, of in shape.get("properties", {}).items()
    ]
    if rows:
        return f"{head}{says}\n{markdown.table(('field', 'type', 'required', 'meaning'), rows)}"
    return f"{head}{says}\n{kind(shape)}\n"


def _says(schema: Schema) -> str:
    """Return the description of a field, or of its only type besides null."""
    described = (one["description"] for one in (schema, *schema.get("anyOf", ())) if "description" in one)
    return next(described, "")


def kind(schema: Schema) -> str:
    """Return the values that a schema allows, in a few words.

    >>> kind({"type": "array", "items": {"$ref": "#/$defs/Part"}}), kind({"enum": ["a", "b"]})
    ('array of `Part`', '`"a"`, `"b"`')
    >>> kind({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
    'integer (minimum 1) or null'
    """
    for key, words in _KINDS.items():
        if key in schema:
            return words(schema) + _bounds(schema)
    return "anything"


def _reference(schema: Schema) -> str:
    return f"`{schema['$ref'].rpartition('/')[2]}`"


def _one_of(schema: Schema) -> str:
    return " or ".join(kind(choice) for choice in schema.get("anyOf", schema.get("oneOf", ())))


def _values(schema: Schema) -> str:
    return ", ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")]))


def _typed(schema: Schema) -> str:
    name = schema["type"] if isinstance(schema["type"], str) else " or ".join(schema["type"])
    return f"{name} of {kind(schema['items'])}" if isinstance(schema.get("items"), Mapping) else name


_KINDS = {"$ref": _reference, "anyOf": _one_of, "oneOf": _one_of, "enum": _values, "const": _values, "type": _typed}
_BOUNDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "minLength": "length from",
    "maxLength": "length to",
    "minItems": "items from",
    "maxItems": "items to",
    "format": "format",
}


def _bounds(schema: Schema) -> str:
    bounds = ", ".join(f"{words} {schema[key]}" for key, words in _BOUNDS.items() if key in schema)
    return f" ({bounds})" if bounds else ""
