"""Projects: what a team keeps apart, and how one may be named."""

import re

from custody.core.errors import InputError

DEFAULT_PROJECT = "default"
"""The project of everybody who names none."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)


def project_name(text: str) -> str:
    """``text`` itself if a project may be called so: up to 40 small letters, digits and hyphens.

    >>> project_name("web-shop")
    'web-shop'
    """
    if not _NAME.fullmatch(text):
        raise InputError(
            f"'{text[:60]}' cannot be the name of a project",
            hint="up to 40 small letters, digits and hyphens, with a letter or digit at either end",
        )
    return text
