"""Long answers through the user's pager, as git does it."""

import os
import subprocess
from collections.abc import Mapping

from custody.git import read_user_pager
from custody.terminal.screen import Screen

DEFAULT_PAGER = "less"
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}
_NOT_FOUND = (126, 127)


def pager_command(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the command of the user's pager: ``GIT_PAGER``, then the user's ``core.pager``, then ``PAGER``.

    None if it is ``cat`` or empty. A repository's own configuration does not count: it could name any program.
    """
    named = environment.get("GIT_PAGER")
    if named is None:
        named = read_user_pager()
    if named is None:
        named = environment.get("PAGER", DEFAULT_PAGER)
    return None if named.strip() in ("", "cat") else named


def page_text(text: str, screen: Screen, environment: Mapping[str, str] = os.environ) -> bool:
    """Show ``text`` in the pager if it is longer than the screen; False if the caller has to print it."""
    if not screen.is_terminal or text.count("\n") < screen.rows or environment.get("TERM") == "dumb":
        return False
    command = pager_command(environment)
    if command is None:
        return False
    own = {**_DEFAULTS, **environment}
    try:
        # The command is the user's own setting and may hold options, which a shell splits as git has it split.
        process = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=own)
    except OSError:
        return False
    try:
        process.communicate(text.encode("utf-8", "backslashreplace"))
    except KeyboardInterrupt:
        process.wait()
    return process.returncode not in _NOT_FOUND
