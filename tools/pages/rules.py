"""The page of rules: every rule with its default, from the classes and the sentences below their fields."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping

from custody.config import VARIABLES, Rule, list_rule_documents
from custody.core.wire.canonical import Rules
from custody.trust.rules import TIERS
from custody.workspace.wiring import import_rule_tables
from tools import markdown
from tools.problems import Undocumented

_HEAD = """\
# Rules

Every number by which custody decides is a rule. `custody rules` shows the rules in force, where each was set, and the
digests under which evidence names them.

## Where rules are set

From the weakest to the strongest; a stronger place replaces single rules, not whole tables:

1. the defaults below
2. the files that the documents describe, listed further down
3. `[tool.custody]` in `pyproject.toml`, at the repository's root
4. `custody.toml`, at the repository's root
5. the variables that the documents describe
6. your own file: `custody/config.toml` below `$XDG_CONFIG_HOME`, or below `~/.config` if that is not set

A TOML file has one table for each domain, so `ema_alpha` of trust is set like this; in `pyproject.toml` the table is
`[tool.custody.trust]`:

```toml
[trust]
ema_alpha = 0.2

[attribute.points]
commit_link = 50
```

A key that was a rule in an earlier version has no effect. Every command that reads it prints a warning with the
constant that holds the value now. `custody rules` lists these warnings.

An unknown rule, a value of another type and numbers that do not fit together are errors (exit status 2). The error
names the file, the key and the nearest rule. Texts are never read as numbers. The files of a repository set rules
and nothing else: endpoints, commands, tokens and keys are the user's. A file has at most 1 MiB of UTF-8 and is a
regular file of the repository, not a link. YAML files must not use aliases, anchors, tags or repeated keys.
"""


def rules_page() -> str:
    """``rules.md``."""
    tables = "".join(_table(table, kind) for table, kind in import_rule_tables().classes.items())
    return _HEAD + _documents() + tables + _dropped(import_rule_tables().dropped)


def _documents() -> str:
    """Return the documents' names; a rule's own name in its own file needs no row."""
    rows = [
        (f"`{file.path}`", markdown.code(name), f"`{rule.name}`")
        for file in list_rule_documents(import_rule_tables())
        for name, rule in file.keys.names.items()
        if f"dedupe.{name}" != rule.name
    ]
    variables = [
        (f"`{name}`", f"entry {entry + 1} ({TIERS[entry]}) of `trust.tier_score_min`")
        for name, entry in sorted(VARIABLES.items())
    ]
    return (
        "\n## The documents' own names\n\n"
        f"{markdown.table(('file', 'key', 'rule'), rows)}\n"
        "`config/thresholds.yaml` also takes the rules of `dedupe` by their own names. A file in `config` without"
        " a known key belongs to another program and is skipped, as are other tables of `.ai-git/config.yaml`.\n\n"
        f"{markdown.table(('variable', 'rule'), variables)}\n"
        "A variable counts only when it is set.\n"
    )


def _table(table: str, kind: type[Rules]) -> str:
    rows = documented(import_rule_tables().rules_of(table).values(), meanings(kind))
    says = " ".join((inspect.getdoc(kind) or "").split())
    return f"\n## {table}\n\n{says}\n\n{markdown.table(('rule', 'default', 'meaning'), rows)}"


def _dropped(constants: Mapping[str, str]) -> str:
    rows = [(f"`{name}`", markdown.code(constant)) for name, constant in constants.items()]
    table = markdown.table(("key", "constant"), rows)
    return f"\n## No longer settable\n\nThese keys have no effect; custody warns of them.\n\n{table}" if rows else ""


def documented(rules: Iterable[Rule], meanings: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return a row for each rule."""
    return [(f"`{rule.name}`", _default(rule.default), markdown.text(meanings[rule.field])) for rule in rules]


def meanings(kind: type[Rules]) -> dict[str, str]:
    """Return the sentence below each field of a class; a field without one is an error."""
    (described,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(described, ast.ClassDef)
    found: dict[str, str] = {}
    for line, below in zip(described.body, [*described.body[1:], ast.Pass()], strict=True):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(words))):
                    found[line.target.id] = " ".join(words.split())
                case _:
                    raise Undocumented(f"the rule '{kind.__name__}.{line.target.id}' has no sentence below it")
    return found


def _default(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_default, value)) or "none"
    return markdown.code(str(value).lower() if isinstance(value, bool) else str(value))
