"""A second reader for settings, to check the reader of custody."""

import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any


def said(path: Path, data: bytes) -> Any:
    """Read the file: drop comments and trailing commas character by character, then use the standard reader."""
    if path.suffix == ".toml":
        return tomllib.loads(data.decode())
    text = _bare(data.decode("utf-8-sig"))
    return json.loads(text) if text.strip() else {}


def _bare(text: str) -> str:
    """Remove comments and trailing commas from ``text``."""
    kept, at = list[str](), 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            kept.append(text[at : end + 1])
            at = end + 1
        elif text.startswith("//", at):
            while at < len(text) and text[at] not in "\r\n":
                at += 1
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            kept.append(text[at])
            at += 1
    tight = [piece for piece in kept if not piece.isspace()] + [""]
    return "".join(piece for piece, after in pairwise(tight) if piece != "," or after not in ("]", "}"))
