"""The key of the audit draw: from the environment of a service or of CI, else this store's own."""

import os
from collections.abc import Mapping

from custody.capture.hook.event_home import load_redaction_key
from custody.core.errors import InputError
from custody.workspace.workspace import Workspace

AUDIT_KEY_VARIABLE = "CUSTODY_AUDIT_KEY"
"""The environment variable with the key; CI and a service set it where the code of a change cannot read it."""
KEY_BYTES_MIN = 16
"""A shorter key could be guessed."""


def open_audit_key(workspace: Workspace, environment: Mapping[str, str] = os.environ) -> bytes | None:
    """Return the key; None where no key can be read, which selects every change for an audit."""
    if given := environment.get(AUDIT_KEY_VARIABLE, ""):
        key = os.fsencode(given)
        if len(key) < KEY_BYTES_MIN:
            raise InputError(
                f"{AUDIT_KEY_VARIABLE} has {len(key)} bytes, at least {KEY_BYTES_MIN} are needed",
                hint="set a random key, such as the output of 'openssl rand -hex 32'",
            )
        return key
    if workspace.home is None or not workspace.home.is_dir():
        return None
    try:
        key = load_redaction_key(str(workspace.home))
    except OSError:
        return None  # an unreadable key draws every change
    return key if len(key) >= KEY_BYTES_MIN else None
