"""``custody rules``."""

from collections.abc import Iterator
from itertools import chain
from textwrap import wrap

import click
from click.shell_completion import get_completion_class

from custody.core.errors import InputError
from custody.core.wire.report import RuleInForce, RulesReport
from custody.terminal.frame import answer, json_option, open_workspace
from custody.workspace.rules_in_force import rules

WIDTH_OF_VALUE_MAX = 36


@click.command("rules")
@click.argument("table", required=False)
@json_option
@click.pass_context
def rules_command(ctx: click.Context, *, table: str | None, as_json: bool) -> int:
    """Show the rules in force and where each was set.

    Every number by which custody decides is a rule. One that differs from its default is marked with '*'. TABLE
    (attribute, dedupe or trust) shows one domain. Rules are set in 'custody.toml', in '[tool.custody]' of
    'pyproject.toml' or in your own file, custody/config.toml below $XDG_CONFIG_HOME or ~/.config, which is the
    strongest. The digests name the rules: evidence that was weighed by the same rules carries the same digest.

    \b
    Examples:
      custody rules
      custody rules trust --json | jq '.rules[] | select(.value != .default)'
    """
    report = rules(open_workspace(ctx), table)
    return answer(report, _render_rules(report), as_json=as_json)


def _render_rules(report: RulesReport) -> str:
    wide = max(len(rule.rule) for rule in report.rules)
    broad = min(WIDTH_OF_VALUE_MAX, max(len(_text(rule.value)) for rule in report.rules))
    lines = (line for rule in report.rules for line in _lines(rule, wide, broad))
    warnings = (f"warning: {warning}" for warning in report.warnings)
    return "\n".join(chain(lines, ["", _changes(report), _sources(report)], warnings, _digests(report)))


def _lines(rule: RuleInForce, wide: int, broad: int) -> Iterator[str]:
    """A rule on one line; a long list goes on below."""
    mark = "*" if _is_changed(rule) else " "
    first, *more = wrap(_text(rule.value), broad, break_long_words=False, break_on_hyphens=False)
    yield f"{mark} {rule.rule:<{wide}}  {first:<{broad}}  {_origins(rule)}"
    yield from (f"{'':<{wide + 4}}{line}" for line in more)


def _is_changed(rule: RuleInForce) -> bool:
    return bool(rule.value != rule.default)


def _origins(rule: RuleInForce) -> str:
    origins, default = ", ".join(rule.origins), _text(rule.default)
    is_short = _is_changed(rule) and len(default) <= WIDTH_OF_VALUE_MAX
    return f"{origins} (default {default})" if is_short else origins


def _changes(report: RulesReport) -> str:
    changed = sum(map(_is_changed, report.rules))
    return f"{changed} of {len(report.rules)} rules differ from their defaults"


def _sources(report: RulesReport) -> str:
    there: dict[str, list[str]] = {"read": [], "foreign": [], "absent": []}
    for source in report.sources:
        there[source.state].append(source.name)
    words = {"read": "read", "foreign": "nothing for custody in", "absent": "not there"}
    return "; ".join(f"{said}: {', '.join(there[state])}" for state, said in words.items() if there[state])


def _digests(report: RulesReport) -> list[str]:
    digests = {**report.digests, "all tables": report.digest}
    wide = max(map(len, digests))
    return [f"{name:<{wide}}  {digest}" for name, digest in digests.items()]


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(_text, value)) or "(none)"
        case _:
            return str(value)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> int:
    """Print the completion script of a shell.

    \b
    Examples:
      custody completion bash >> ~/.bashrc
      custody completion zsh  >> ~/.zshrc
      custody completion fish > ~/.config/fish/completions/custody.fish
    """
    made = get_completion_class(shell)
    if made is None:
        raise InputError(f"no completion for '{shell}'")
    click.echo(made(ctx.find_root().command, {}, "custody", "_CUSTODY_COMPLETE").source())
    return 0
