"""The policy of a team in ``custody.toml``: added to what the file has, which stays as it is."""

import re
import tomllib
from pathlib import Path

from custody.config import TEAM_FILE, TeamPolicy, parse_team_policy
from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.report import TeamPolicyReport
from custody.workspace.machine import open_atomic_file
from custody.workspace.store_identity import describe_store, find_enrolled_name, render_store_line, suggest_store_name
from custody.workspace.workspace import Workspace

ASSURANCE_LINE = f'assurance_min = "{Assurance.WITNESSED.value}"'
REVIEWERS_COMMENT = (
    "# A person whose reviews count: the key of their signatures, their accounts and email addresses. For example:\n"
    '# ana = { key = "sk-ssh-ed25519@openssh.com AAAA…", accounts = ["ana@example.com", "github:ana"] }'
)
BY_HAND = "add it by hand; docs/team.md has an example"


def write_team_policy(workspace: Workspace, *, dry_run: bool) -> TeamPolicyReport:
    """Add to ``custody.toml`` of the work tree what is missing of a team's policy; replace nothing."""
    work_tree = workspace.repository.work_tree
    if work_tree is None:
        raise InputError("a bare repository has no work tree", hint=f"add {TEAM_FILE} in a clone")
    file = work_tree / TEAM_FILE
    old = _read_team_file(file)
    tables = _parse_team_tables(old)
    policy = parse_team_policy(tables)
    own = describe_store(workspace)
    chain, added, kept = StoreId(own.id), list[str](), list[str]()
    text = _add_assurance(old, tables, added, kept)
    text = _add_store(text, tables, policy, chain, own.key, added, kept)
    if "reviewers" not in tables:
        text = f"{_end_paragraph(text)}[reviewers]\n{REVIEWERS_COMMENT}\n"
        added.append("[reviewers]")
    _check_extended_file(tables, text)
    if added and not dry_run:
        with open_atomic_file(file) as out:
            out.write(text.encode())
    return TeamPolicyReport(file=TEAM_FILE, added=added, kept=kept, dry_run=dry_run, text=text)


def _read_team_file(file: Path) -> str:
    try:
        return file.read_text("utf-8") if file.is_file() and not file.is_symlink() else _refuse_other_file(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read '{TEAM_FILE}': {error}", hint="it must be a text file in UTF-8") from error


def _refuse_other_file(file: Path) -> str:
    if file.exists() or file.is_symlink():
        raise InputError(f"'{TEAM_FILE}' is not a regular file", hint="rules are read from regular files")
    return ""


def _parse_team_tables(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"cannot read '{TEAM_FILE}': {error}", hint="correct the file, then run this again") from error


def _add_assurance(text: str, tables: dict[str, object], added: list[str], kept: list[str]) -> str:
    gate = tables.get("gate")
    if isinstance(gate, dict) and "assurance_min" in gate:
        if gate["assurance_min"] != Assurance.WITNESSED.value:
            kept.append(f"gate.assurance_min = {gate['assurance_min']}")
        return text
    added.append(f"gate.{ASSURANCE_LINE}")
    return _add_line(text, "gate", ASSURANCE_LINE, has_table=gate is not None)


def _add_store(  # noqa: PLR0913 - the file, the policy, this store and the answer
    text: str,
    tables: dict[str, object],
    policy: TeamPolicy,
    chain: StoreId,
    key: str,
    added: list[str],
    kept: list[str],
) -> str:
    name = find_enrolled_name(policy, chain)
    if name is not None:
        if policy.stores[name].key != key:
            kept.append(f"stores.{name}, which has another key than this store: {key}")
        return text
    line = render_store_line(suggest_store_name(policy, chain), chain, key)
    added.append(f"stores.{line}")
    return _add_line(text, "stores", line, has_table="stores" in tables)


def _add_line(text: str, table: str, line: str, *, has_table: bool) -> str:
    """Return ``text`` with a line at the beginning of a table, which is added if it is missing."""
    if not has_table:
        return f"{_end_paragraph(text)}[{table}]\n{line}\n"
    header = re.search(rf"^[ \t]*\[[ \t]*{table}[ \t]*\][ \t]*(#.*)?$", text, re.MULTILINE)
    if header is None:
        raise InputError(f"cannot add to {table} in '{TEAM_FILE}': it has no line '[{table}]'", hint=BY_HAND)
    rest = text[header.end() :].removeprefix("\n")
    return f"{text[: header.end()]}\n{line}\n{rest}"


def _end_paragraph(text: str) -> str:
    """Return ``text`` with an empty line at its end, unless it is empty."""
    return f"{text.rstrip()}\n\n" if text.strip() else ""


def _check_extended_file(before: dict[str, object], text: str) -> None:
    """Raise an error unless the new text is valid and has everything that was there before."""
    after = _parse_team_tables(text)
    parse_team_policy(after)
    for table, value in before.items():
        now = after.get(table)
        if value != now and not (isinstance(value, dict) and isinstance(now, dict) and value.items() <= now.items()):
            raise InputError(f"cannot extend '{TEAM_FILE}' without changing {table}", hint=BY_HAND)
