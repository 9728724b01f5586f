"""Notes in ``refs/notes/ai-attribution``: an agent's share of the characters of each file that a commit changed.

Qwen Code writes them (version 1, spring 2026). They name files, not lines.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from custody.core.commit_agents import NAMES
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import parse_json_bytes

NOTE_BYTES_MAX = 1 << 20

_GENERATOR = lazy_pattern(r"[\w .+-]{1,60}", re.ASCII)
_NOTHING: Mapping[str, tuple[str, float]] = MappingProxyType({})


def parse_ai_attribution_note(data: bytes) -> Mapping[str, tuple[str, float]]:
    """Return the agent and its share of each file; nothing for a note of another shape.

    >>> parse_ai_attribution_note(b'{"generator": "Qwen-Coder", "files": {"a.ts": {"percent": 75}}}')
    {'a.ts': ('qwen-code', 0.75)}
    """
    try:
        value = parse_json_bytes(data, bytes_max=NOTE_BYTES_MAX)
    except InputError:
        return _NOTHING
    files = value.get("files") if isinstance(value, dict) else None
    generator = value.get("generator") if isinstance(value, dict) else None
    if not isinstance(files, dict) or not isinstance(generator, str) or not _GENERATOR.fullmatch(generator):
        return _NOTHING
    name = generator.strip().lower()
    shares: dict[str, tuple[str, float]] = {}
    for path, entry in files.items():
        percent = entry.get("percent") if isinstance(entry, dict) else None
        if isinstance(percent, int | float) and not isinstance(percent, bool) and 0 <= percent <= 100:
            shares[path] = (NAMES.get(name, name), percent / 100)
    return shares
