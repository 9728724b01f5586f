"""The generated schemas are complete, and agree with the readers."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

from custody.cli.json_schema import REPORTS, collect_report_schemas
from custody.core.wire.event import EVENTS
from custody.share.wire import ExportLine
from tests.builders.events import KINDS as GENERIC_KINDS
from tests.builders.events import an_event

Node = dict[str, Any]

KINDS = tuple(str(event.__struct_config__.tag) for event in EVENTS)

SCHEMAS: dict[str, Node] = collect_report_schemas()
KNOWN_WORDS = frozenset(
    "$schema $ref $defs title description type enum const anyOf properties required additionalProperties items default"
    " discriminator pattern minLength maxLength maxItems maxProperties propertyNames minimum maximum exclusiveMinimum"
    " exclusiveMaximum".split()
)
TYPES = frozenset(("object", "array", "string", "integer", "number", "boolean", "null"))


def nodes(node: Node) -> Iterator[Node]:
    """Yield a schema and every schema in it."""
    yield node
    for inner in (*node.get("anyOf", ()), *node.get("$defs", {}).values(), *node.get("properties", {}).values()):
        yield from nodes(inner)
    for word in ("items", "additionalProperties"):
        if isinstance(node.get(word), dict):
            yield from nodes(node[word])


def resolved(schema: Node, ref: str) -> Node:
    at: Any = schema
    assert ref.startswith("#/"), ref
    for step in ref.removeprefix("#/").split("/"):
        at = at[step]
    assert isinstance(at, dict)
    return at


def alternatives(schema: Node) -> dict[str, Node]:
    """Return the objects that a union may be, by their tag."""
    field = schema["discriminator"]["propertyName"]
    found = {}
    for option in schema["anyOf"]:
        made = resolved(schema, option["$ref"])
        (tag,) = made["properties"][field]["enum"]
        assert resolved(schema, schema["discriminator"]["mapping"][tag]) == made
        found[tag] = made
    assert set(found) == set(schema["discriminator"]["mapping"])
    return found


def report_of(name: str) -> Node:
    schema = SCHEMAS[name]
    return resolved(schema, schema["$ref"])


def test_there_is_a_schema_for_everything_that_crosses_the_border() -> None:
    reports = {f"report-{report.__struct_config__.tag}" for report in REPORTS}
    assert set(SCHEMAS) == {"event", "export-line", "citations", *reports}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_a_json_schema_document(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema
    for node in nodes(schema):
        assert set(node) <= KNOWN_WORDS, set(node) - KNOWN_WORDS
        assert node.get("type", "null") in TYPES
        assert set(node.get("required", ())) <= set(node.get("properties", ()))
        if "$ref" in node:
            resolved(schema, node["$ref"])
        re.compile(node.get("pattern", ""))


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_kind_appears_with_the_fields_that_are_read(kind: str) -> None:
    made = alternatives(SCHEMAS["event"])[kind]
    (event,) = (event for event in EVENTS if event.__struct_config__.tag == kind)
    read = msgspec.structs.fields(event)
    assert set(made["properties"]) == {"kind", *(field.encode_name for field in read)}
    assert set(made["required"]) == {"kind", *(field.encode_name for field in read if field.required)}
    assert made["additionalProperties"] is False
    assert made["properties"]["custody"] == {"enum": [1]}
    if kind in GENERIC_KINDS:
        assert set(json.loads(an_event(kind))) <= set(made["properties"])


LINES = {"export", "body", "record", "fork", "pending", "outline", "origins", "head", "end"}


def test_no_other_events_and_no_other_lines_exist() -> None:
    assert set(alternatives(SCHEMAS["event"])) == set(KINDS) >= set(GENERIC_KINDS)
    lines = {str(line.__struct_config__.tag) for line in get_args(ExportLine)}
    assert set(alternatives(SCHEMAS["export-line"])) == lines == LINES


@pytest.mark.parametrize("report", REPORTS)
def test_every_report_appears_with_its_name_version_and_outcome(report: type[msgspec.Struct]) -> None:
    tag = report.__struct_config__.tag
    made = report_of(f"report-{tag}")
    assert made["properties"]["report"]["enum"] == [tag]
    assert made["properties"]["version"]["enum"] == [1]
    assert set(made["properties"]["outcome"]["enum"]) == {"fine", "found"}
    assert set(made["properties"]) == {"report", *report.__struct_fields__}


def test_every_object_and_every_event_field_that_needs_it_has_a_description() -> None:
    for name, schema in SCHEMAS.items():
        for title, made in schema["$defs"].items():
            assert made.get("description"), f"{title} in {name}"


def test_every_pattern_refuses_surrogates_and_none_but_those_of_texts_a_line_end_behind_the_last() -> None:
    patterns = {node["pattern"] for schema in SCHEMAS.values() for node in nodes(schema) if "pattern" in node}
    assert len(patterns) >= 6
    for pattern in patterns:
        assert not re.search(pattern, "\ud800"), pattern
        assert pattern.endswith(("*$", "$(?!\\n)")), pattern
