"""A kind of import contract that import-linter lacks: a package may import what its list names, and nothing else.

A list of what is forbidden lets every new thing through; this one stops it until somebody has thought about it.

    [importlinter:contract:model]
    type = only
    modules = custody.core
    may_import =
        custody.core
        enum
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple, cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules
from importlinter.domain.imports import Module, ModuleExpression

STANDARD_LIBRARY = "<standard library>"


class Stray(NamedTuple):
    """One import that is not on the list."""

    importer: str
    imported: str
    line: int


class OnlyContract(Contract):
    """Holds when ``modules`` import nothing but ``may_import``: modules with all below them, or the standard library.

    With ``as_packages = False`` only the named modules are looked at, not what lies below them.
    """

    type_name = "only"

    modules = fields.SetField(subfield=fields.ModuleExpressionField())
    may_import = fields.SetField(subfield=fields.StringField(), required=False)
    as_packages = fields.BooleanField(required=False, default=True)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """See every import of ``modules``, also those inside functions."""
        strays = sorted(self._strays(graph))
        return ContractCheck(kept=not strays, metadata={"strays": strays})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name each import that is not on the list."""
        for stray in cast("list[Stray]", check.metadata["strays"]):
            output.print_error(f"{stray.importer} imports {stray.imported} (line {stray.line}), not on its list")
        output.new_line()

    def _strays(self, graph: ImportGraph) -> Iterator[Stray]:
        allowed = cast("set[str] | None", self.may_import) or set()
        for module in self._modules(graph):
            for imported in graph.find_modules_directly_imported_by(module):
                if not _is_allowed(imported, allowed):
                    details = graph.get_import_details(importer=module, imported=imported)
                    yield Stray(module, imported, details[0]["line_number"])

    def _modules(self, graph: ImportGraph) -> set[str]:
        expressions = cast("set[ModuleExpression]", self.modules)
        found = {module.name for module in module_expressions_to_modules(graph, expressions)}
        if missing := sorted(found - graph.modules):
            raise ValueError(f"'{missing[0]}' does not exist")
        if cast("bool", self.as_packages):
            found |= {below for module in found for below in graph.find_descendants(module)}
        return found


def _is_allowed(imported: str, allowed: set[str]) -> bool:
    if STANDARD_LIBRARY in allowed and imported in sys.stdlib_module_names:
        return True
    return any(Module(imported).is_in_package(Module(name)) or imported == name for name in allowed)
