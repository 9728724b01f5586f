"""Names that a package exports and imports when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules


def lazy_names(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package; ``names`` has the modules by the names that they define.

    Entering the package imports none of them. Type checkers see the imports beside it, under ``TYPE_CHECKING``.
    """
    by_name = {name: module for module, defined in names.items() for name in defined.split()}

    def import_name(name: str) -> object:
        if name not in by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{by_name[name]}"), name)
        setattr(modules[package], name, value)
        return value

    return import_name
