"""Names of packages above the workspace, imported when first used: the workspace may name them, not import them."""

from functools import cache
from importlib import import_module
from typing import Any


@cache
def import_late(name: str) -> Any:
    """Return what ``package.module:attribute`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
