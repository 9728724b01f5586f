"""The names that outsiders rely on: import names, verbs and options, configuration keys, HTTP routes, schemas."""

import hashlib
import importlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click

from custody.cli.main import cli
from custody.server.openapi import build_openapi_document
from custody.server.routes import ENDPOINTS

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("custody", "custody.trust_lineage", "custody.sources", "custody.sdk", "custody.otel", "custody.writer")


def names() -> str:
    """Return every name, one per line."""
    return "\n".join((*_imports(), *_verbs(cli, "custody"), *_scripts(), ""))


def _imports() -> Iterator[str]:
    for name in MODULES:
        module = importlib.import_module(name)
        public = getattr(module, "__all__", None) or _public(module)
        yield from (f"import {name}.{public_name}" for public_name in sorted(public))


def _public(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, ModuleType)]


def _verbs(command: click.Command, path: str) -> Iterator[str]:
    for parameter in command.params:
        shown = "/".join((*parameter.opts, *parameter.secondary_opts))
        yield f"{path} {shown} ({parameter.type.name})"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            below = command.get_command(context, name)
            assert below is not None
            yield f"{path} {name}"
            yield from _verbs(below, f"{path} {name}")


def _scripts() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    yield from (f"script {name} = {target}" for name, target in project["scripts"].items())
    yield from (f"extra {name}" for name in project["optional-dependencies"])


def reference() -> str:
    """Return the generated reference, one digest per file."""
    folder = ROOT / "docs" / "reference"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()[:16]} {path.relative_to(folder).as_posix()}\n"
        for path in files
    )


def openapi() -> str:
    """Return the description of the HTTP service, indented."""
    return json.dumps(build_openapi_document(ENDPOINTS, "0"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
