"""What belongs to a project in PostgreSQL: its schema and the lock of its writers.

This file is the only one that says how these are named. Names of projects have no underscore, so no two of them share a
schema.
"""

import hashlib

from custody.core.project import DEFAULT_PROJECT, project_name

SCHEMA = "custody"
"""The schema of the default project; databases had only this one before there were projects."""
CONTROL_SCHEMA = "custody_control"
SERVICE_ROLE = "custody_service"
"""Owns nothing, bypasses nothing: what a service works as."""
PROJECT_SETTING = "custody.project"
"""The setting of a connection that every policy compares with its own project."""

_PREFIX = "custody_p_"
_LOCK = 0x43757374
_KEY_BYTES = 8


def schema_of(project: str) -> str:
    """The schema that holds the tables of ``project``.

    >>> schema_of("default"), schema_of("web-shop")
    ('custody', 'custody_p_web_shop')
    """
    if project == DEFAULT_PROJECT:
        return SCHEMA
    return _PREFIX + project_name(project).replace("-", "_")


def lock_of(schema: str) -> int:
    """The number of the advisory lock that whoever writes into ``schema`` holds."""
    if schema == SCHEMA:
        return _LOCK  # as it was before there were projects, so that an older custody waits for us
    return int.from_bytes(hashlib.sha256(schema.encode()).digest()[:_KEY_BYTES], "big", signed=True)
