"""Rules that could be set once: the constant that holds each value now, for warnings about old files."""

from collections.abc import Mapping
from types import MappingProxyType

DROPPED: Mapping[str, str] = MappingProxyType({})
"""By dotted name, sorted: ``"dedupe.key": "custody.dupes.module:CONSTANT"``. The name of a mapping covers its keys."""
