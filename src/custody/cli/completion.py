"""``custody completion``."""

import click
from click.shell_completion import get_completion_class

from custody.core.errors import InputError


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
