"""The table of verbs: every command can be called with the options that it declares."""

import inspect
from collections.abc import Iterator

import click

from custody.cli.main import cli


def commands(command: click.Command, path: str = "custody") -> Iterator[tuple[str, click.Command]]:
    """Yield every command below ``command`` with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


def test_every_command_takes_the_options_that_it_declares() -> None:
    wrong = {}
    for path, command in commands(cli):
        if command.callback is not None:
            parameters = inspect.signature(inspect.unwrap(command.callback)).parameters
            takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
            declared = {parameter.name for parameter in command.params if parameter.expose_value}
            wrong[path] = set() if takes_any else declared - set(parameters)
    assert {path: names for path, names in wrong.items() if names} == {}
    assert len(wrong) > 60
