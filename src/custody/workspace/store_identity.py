"""This store's name and key, and whether the team's policy enrolls it."""

import re

from custody.config import TeamPolicy
from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.report import StoreReport
from custody.workspace.machine import machine_user_name
from custody.workspace.rules_in_force import load_workspace_team_policy
from custody.workspace.store_key import ensure_store_key
from custody.workspace.workspace import NO_REPOSITORY, NO_REPOSITORY_HINT, Workspace

ID_DIGITS = 4
"""Digits of the store's id in a suggested name."""


def describe_store(workspace: Workspace) -> StoreReport:
    """Return this store's identity under the policy of HEAD; its id and key are made if they are missing."""
    if workspace.home is None:
        raise InputError(NO_REPOSITORY, hint=NO_REPOSITORY_HINT)
    with workspace.writing() as store, store.writing():
        chain = store.ensure_own()
    key = ensure_store_key(workspace.home)
    policy = load_workspace_team_policy(workspace)
    name = find_enrolled_name(policy, chain)
    enrolled = policy.find_store(chain, workspace.now_ns())
    return StoreReport(
        name=name or suggest_store_name(policy, chain),
        id=chain,
        key=key,
        enrolled=enrolled is not None and enrolled.key == key,
        listed_key=None if name is None else policy.stores[name].key,
        line=render_store_line(name or suggest_store_name(policy, chain), chain, key),
    )


def find_enrolled_name(policy: TeamPolicy, chain: StoreId) -> str | None:
    """Return the name under which a policy lists a chain; None if it does not."""
    return next((name for name, member in policy.stores.items() if member.id == chain), None)


def suggest_store_name(policy: TeamPolicy, chain: StoreId) -> str:
    """Return a name for a store that the policy has not used: its user and the beginning of its id."""
    user = re.sub(r"[^a-z0-9]+", "-", machine_user_name().lower()).strip("-") or "store"
    name = f"{user}-{chain[:ID_DIGITS]}"
    return f"{user}-{chain}" if name in policy.stores else name


def render_store_line(name: str, chain: StoreId, key: str) -> str:
    """Return the line of a store in the table ``[stores]`` of custody.toml.

    >>> render_store_line("ana-0f0f", StoreId("0f0f"), "ssh-ed25519 AAAA")
    'ana-0f0f = { id = "0f0f", key = "ssh-ed25519 AAAA" }'
    """
    return f'{name} = {{ id = "{chain}", key = "{key}" }}'
