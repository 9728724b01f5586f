"""``custody rules``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from custody.core.errors import InputError
from custody.terminal.frame import json_option, open_command_workspace, print_command_report

if TYPE_CHECKING:
    from custody.core.wire.report import RuleInForce, RulesReport


WIDTH_OF_VALUE_MAX = 36


@click.command("rules")
@click.argument("table", required=False)
@json_option
@click.pass_context
def rules_command(ctx: click.Context, *, table: str | None, as_json: bool) -> int:
    """Show the rules in force and where each is set.

    A rule is a setting for custody's decisions. '*' marks rules that differ from their default. TABLE shows one table:
    attribute, cite, dedupe, gate, graph, review or trust. Set rules in 'custody.toml', in '[tool.custody]' of
    'pyproject.toml', or in your own file, custody/config.toml in $XDG_CONFIG_HOME or ~/.config, which wins. The same
    rules have the same digest.

    \b
    Examples:
      custody rules
      custody rules trust --json | jq '.rules[] | select(.value != .default)'
    """
    from custody.workspace.rules_in_force import report_rules_in_force

    report = report_rules_in_force(open_command_workspace(ctx), table)
    return print_command_report(report, _render_rules_report(report), as_json=as_json)


def _render_rules_report(report: RulesReport) -> str:
    wide = max(len(rule.rule) for rule in report.rules)
    broad = min(WIDTH_OF_VALUE_MAX, max(len(_render_rule_value(rule.value)) for rule in report.rules))
    lines = (line for rule in report.rules for line in _render_rule_lines(rule, wide, broad))
    warnings = (f"warning: {warning}" for warning in report.warnings)
    return "\n".join(
        chain(
            lines,
            ["", _render_rule_changes(report), _render_rule_sources(report)],
            warnings,
            _render_rule_digests(report),
        )
    )


def _render_rule_lines(rule: RuleInForce, wide: int, broad: int) -> Iterator[str]:
    """Yield the line of a rule; a long list continues on the next lines."""
    mark = "*" if _is_rule_changed(rule) else " "
    first, *more = wrap(_render_rule_value(rule.value), broad, break_long_words=False, break_on_hyphens=False)
    yield f"{mark} {rule.rule:<{wide}}  {first:<{broad}}  {_render_rule_origins(rule)}"
    yield from (f"{'':<{wide + 4}}{line}" for line in more)


def _is_rule_changed(rule: RuleInForce) -> bool:
    return bool(rule.value != rule.default)


def _render_rule_origins(rule: RuleInForce) -> str:
    origins, default = ", ".join(rule.origins), _render_rule_value(rule.default)
    is_short = _is_rule_changed(rule) and len(default) <= WIDTH_OF_VALUE_MAX
    return f"{origins} (default {default})" if is_short else origins


def _render_rule_changes(report: RulesReport) -> str:
    changed = sum(map(_is_rule_changed, report.rules))
    return f"{changed} of {len(report.rules)} rules differ from their defaults"


def _render_rule_sources(report: RulesReport) -> str:
    names: dict[str, list[str]] = {"read": [], "foreign": [], "absent": []}
    for source in report.sources:
        names[source.state].append(source.name)
    labels = {"read": "read", "foreign": "no custody rules in", "absent": "not found"}
    return "; ".join(f"{label}: {', '.join(names[state])}" for state, label in labels.items() if names[state])


def _render_rule_digests(report: RulesReport) -> list[str]:
    digests = {**report.digests, "all tables": report.digest}
    wide = max(map(len, digests))
    return [f"{name:<{wide}}  {digest}" for name, digest in digests.items()]


def _render_rule_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(_render_rule_value, value)) or "(none)"
        case _:
            return str(value)


_GIT_COMPLETIONS = {
    "bash": """\
complete -o nosort -F _custody_completion git-custody

# git's completion calls this for 'git custody'
_git_custody() {
    local -a COMP_WORDS=(custody "${words[@]:$((${__git_cmd_idx:-1} + 1))}")
    local COMP_CWORD=$((cword - ${__git_cmd_idx:-1}))
    _custody_completion custody
}
""",
    "zsh": """\
compdef _custody_completion git-custody

# git's completion calls this for 'git custody'
_git-custody() {
    _custody_completion "$@"
}
""",
    "fish": """\
complete --no-files --command git-custody --arguments "(_custody_completion)"

function _git_custody_completion
    set -l line (string replace --regex '^\\s*git\\s+' '' -- (commandline -cp))
    for completion in (env _CUSTODY_COMPLETE=fish_complete COMP_WORDS=$line COMP_CWORD=(commandline -t) custody)
        set -l metadata (string split "," $completion)
        test $metadata[1] = file; and __fish_complete_path $metadata[2]; or echo $metadata[2]
    end
end

complete --no-files --command git --condition '__fish_seen_subcommand_from custody' \\
    --arguments "(_git_custody_completion)"
""",
}
"""What a shell needs to complete 'git-custody' and 'git custody' as well, after the script for 'custody'."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> int:
    """Print the completion script for a shell.

    \b
    Examples:
      custody completion bash >> ~/.bashrc
      custody completion zsh  >> ~/.zshrc
      custody completion fish > ~/.config/fish/completions/custody.fish
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise InputError(f"no completion for '{shell}'")
    source = completion(ctx.find_root().command, {}, "custody", "_CUSTODY_COMPLETE").source()
    click.echo(f"{source.rstrip()}\n\n{_GIT_COMPLETIONS[shell]}", nl=False)
    return 0
