"""The parts of ``custody token``."""

import click

from custody.core.project import DEFAULT_PROJECT
from custody.server.app.tenancy_model import TokenScope
from custody.server.app.tokens import TokenRequest, create_token, list_tokens, revoke_token
from custody.server.wire.tenancy import TokenLine
from custody.terminal.frame import answer, database_option, json_option, open_workspace, printable, say


@click.command("create")
@click.option("--project", default=DEFAULT_PROJECT, show_default=True, help="The one project that it opens.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in TokenScope]),
    default=(TokenScope.READ.value,),
    show_default=True,
    help="What it is good for; give it several times for several.",
)
@click.option("--expires", default="90d", show_default=True, help="After how long: 12h, 90d, 4w, 1y, or never.")
@click.option("--name", default="", help="What people call it.")
@database_option
@json_option
@click.pass_context
def create_token_command(
    ctx: click.Context, *, project: str, scopes: tuple[str, ...], expires: str, name: str, as_json: bool
) -> int:
    """Make a token for one project and show it, once.

    read: everything but texts of conversations. write: ingest. text: texts of conversations, each read noted. admin:
    erase. None includes another. The token is on stdout and is kept nowhere: if it is lost, make another.

    \b
    Examples:
      custody token create --name laptop
      custody token create --project web-shop --scope read --scope write --expires 30d --name ci
    """
    wanted = TokenRequest(project, [TokenScope(scope) for scope in scopes], expires, name)
    report = create_token(open_workspace(ctx), wanted)
    if not as_json:
        say(printable(f"token {_line(report.token)}; it is shown this once"))
    return answer(report, report.secret, as_json=as_json)


@click.command("list")
@click.option("--project", help="Only those of this project.")
@database_option
@json_option
@click.pass_context
def list_tokens_command(ctx: click.Context, *, project: str | None, as_json: bool) -> int:
    """List tokens, without what they open with.

    \b
    Examples:
      custody token list
      custody token list --project web-shop --json | jq '.tokens[] | select(.state == "active")'
    """
    report = list_tokens(open_workspace(ctx), project)
    words = "\n".join(_line(token) for token in report.tokens) or "there are no tokens"
    return answer(report, words, as_json=as_json)


@click.command("revoke")
@click.argument("id_", metavar="ID")
@database_option
@json_option
@click.pass_context
def revoke_token_command(ctx: click.Context, id_: str, *, as_json: bool) -> int:
    """Have a token open nothing from now on.

    ID is the token's id, as 'custody token list' shows it. It holds from the next request on.

    \b
    Examples:
      custody token revoke 5f0c3a8e91d2b746
    """
    report = revoke_token(open_workspace(ctx), id_)
    return answer(report, _line(report.token), as_json=as_json)


def _line(token: TokenLine) -> str:
    name = f" ({token.name})" if token.name else ""
    used = "never used" if token.last_used is None else f"last used {token.last_used}"
    until = "for ever" if token.expires is None else f"until {token.expires}"
    return f"{token.id}{name}: {token.state}, project {token.project}, {' '.join(token.scopes)}, {until}, {used}"
