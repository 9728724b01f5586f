"""``custody token``."""

from types import MappingProxyType

import click

from custody.cli.parts import Parts, Table

PARTS: Table = MappingProxyType(
    {
        "create": ("token_parts_", "Make a token for one project and show it, once."),
        "list": ("token_parts_", "List tokens, without what they open with."),
        "revoke": ("token_parts_", "Have a token open nothing from now on."),
    }
)


@click.group("token", cls=Parts, parts=PARTS)
def command() -> None:
    """Make, list and revoke the tokens that open a service.

    A token opens one project, for what its scopes say, until it expires. Only a hash of it is kept.
    """
