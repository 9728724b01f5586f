"""``custody remote add | list | remove``."""

import sys
from pathlib import Path

import click

from custody.core.errors import InputError
from custody.share.sync import add_remote, list_remotes, remove_remote
from custody.share.wire.sharing import RemoteReport
from custody.terminal.frame import answer, json_option

TOKEN_BYTES_MAX = 4096


@click.command("add")
@click.argument("name")
@click.argument("url")
@click.option("--token-file", metavar="FILE", help="Read the token from FILE, or from stdin with '-'.")
@json_option
def add_remote_command(name: str, url: str, *, token_file: str | None, as_json: bool) -> int:
    """Name a service, and keep the token for it.

    URL is an https address (or http on this machine). The token is read from --token-file; without one the service is
    asked with CUSTODY_TOKEN of the environment. Adding a name again replaces its address and token.

    \b
    Examples:
      custody remote add team https://custody.example.org --token-file token.txt
      pass custody/team | custody remote add team https://custody.example.org --token-file -
    """
    report = add_remote(name, url, None if token_file is None else _token(token_file))
    return answer(report, _render_remotes(report), as_json=as_json)


@click.command("list")
@json_option
def list_remotes_command(*, as_json: bool) -> int:
    """List the services that you named.

    \b
    Examples:
      custody remote list
    """
    report = list_remotes()
    return answer(report, _render_remotes(report), as_json=as_json)


@click.command("remove")
@click.argument("name")
@json_option
def remove_remote_command(name: str, *, as_json: bool) -> int:
    """Forget a service and its token.

    \b
    Examples:
      custody remote remove team
    """
    report = remove_remote(name)
    return answer(report, _render_remotes(report), as_json=as_json)


def _token(file: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(TOKEN_BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(TOKEN_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}", hint="name the file with the token") from error
    words = data.decode("ascii", "replace").split()
    if len(words) != 1 or len(data) > TOKEN_BYTES_MAX:
        raise InputError(f"'{file}' holds no token", hint="it should hold one word and nothing else")
    return words[0]


def _render_remotes(report: RemoteReport) -> str:
    lines = [f"{remote.name}  {remote.url}" + ("" if remote.token else "  (no token)") for remote in report.remotes]
    return "\n".join(lines or ["no service is named"])
