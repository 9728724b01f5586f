"""Who runs this program."""

import os
import pwd


def user() -> str:
    """The name of the account that runs this program, or its number where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
