"""Import contracts that import-linter lacks: a package imports only what its list names, and patterns with exceptions.

A list of forbidden modules allows every new module; ``only`` rejects it until somebody adds it.

    [importlinter:contract:model]
    type = only
    modules = custody.core
    may_import =
        custody.core
        enum

``forbidden_but`` and ``protected_but`` are import-linter's own contracts, and all three take ``but_not``: names that
``package.*`` leaves out. So ``custody.trust.*`` with ``but_not = app cli`` is every module of ``trust`` but those two.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple, cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.helpers import module_expressions_to_modules
from importlinter.domain.imports import Module, ModuleExpression

STANDARD_LIBRARY = "<standard library>"


class Stray(NamedTuple):
    """One import that is not on the list."""

    importer: str
    imported: str
    line: int


class OnlyContract(Contract):
    """A contract: ``modules`` import only ``may_import``: modules with all below them, or the standard library.

    With ``as_packages = False`` only the named modules are checked, not those below them.
    """

    type_name = "only"

    modules = fields.SetField(subfield=fields.ModuleExpressionField())
    but_not = fields.SetField(subfield=fields.StringField(), required=False)
    may_import = fields.SetField(subfield=fields.StringField(), required=False)
    as_packages = fields.BooleanField(required=False, default=True)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check every import of ``modules``, including those inside functions."""
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
        expressions = _expand(graph, self.modules, self.but_not)
        found = {module.name for module in module_expressions_to_modules(graph, expressions)}
        if missing := sorted(found - graph.modules):
            raise ValueError(f"'{missing[0]}' does not exist")
        if cast("bool", self.as_packages):
            found |= {below for module in found for below in graph.find_descendants(module)}
        return found


class ForbiddenButContract(ForbiddenContract):
    """``forbidden``, with modules that ``package.*`` leaves out."""

    type_name = "forbidden_but"

    but_not = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check the contract on the modules that remain: a field holds its value once the contract is read."""
        self.source_modules = _expand(graph, self.source_modules, self.but_not)  # type: ignore[assignment]
        self.forbidden_modules = _expand(graph, self.forbidden_modules, self.but_not)  # type: ignore[assignment]
        return super().check(graph, verbose)


class ProtectedButContract(ProtectedContract):
    """``protected``, with modules that ``package.*`` leaves out."""

    type_name = "protected_but"

    but_not = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check the contract on the modules that remain."""
        self.protected_modules = _expand(graph, self.protected_modules, self.but_not)  # type: ignore[assignment]
        return super().check(graph, verbose)


def _expand(graph: ImportGraph, expressions: object, but_not: object) -> list[ModuleExpression]:
    """Replace each ``package.*`` by its modules, without those that ``but_not`` names."""
    excluded = cast("set[str] | None", but_not) or set()
    expanded = []
    for expression in sorted(cast("set[ModuleExpression]", expressions)):
        if not expression.expression.endswith(".*") or not excluded:
            expanded.append(expression)
            continue
        names = graph.find_matching_modules(expression.expression)
        expanded += [ModuleExpression(name) for name in sorted(names) if name.rpartition(".")[2] not in excluded]
    return expanded


def _is_allowed(imported: str, allowed: set[str]) -> bool:
    if STANDARD_LIBRARY in allowed and imported in sys.stdlib_module_names:
        return True
    return any(Module(imported).is_in_package(Module(name)) or imported == name for name in allowed)
