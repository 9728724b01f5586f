"""Documents of the repository with what is wrong with their citations, each finding where it stands."""

from collections import defaultdict
from dataclasses import dataclass

from custody.cite.app.audit import cite_audit
from custody.cite.wire.audit import CiteAuditReport, CiteFinding
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.git import NoWorkFile
from custody.server.app.questions import NameNotFound, name_not_found, require_repository, require_tracked_file
from custody.server.page_data.files import format_path, resolve_file
from custody.workspace.workspace import Workspace

ENDINGS = (".md", ".markdown", ".mdx")
NAMED_MAX = 500
LISTED = "/sources lists the documents"
BYTES_MAX = 4 * 1024 * 1024
"""Of a document that is shown with its findings; 'custody cite audit' takes larger ones."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the last commit by path; ``more`` is how many are not named."""

    paths: list[str]
    more: int


@dataclass(frozen=True, slots=True)
class AuditedDocument:
    """A document's lines, its audit, and the findings of each line."""

    path: str
    lines: list[str]
    audit: CiteAuditReport
    found: dict[int, list[CiteFinding]]


def documents(workspace: Workspace, text: str | None) -> Documents:
    """The Markdown documents of the last commit, perhaps only those whose path has ``text`` in it."""
    here = require_repository(workspace)
    head = here.repository.head().commit
    if head is None:
        return Documents([], 0)
    wanted = (text or "").casefold()
    with here.repository.tree(head) as entries:
        named = sorted(
            format_path(entry.path)
            for entry in entries
            if entry.kind == "blob" and str(entry.path).lower().endswith(ENDINGS)
            if wanted in entry.path.display.casefold()
        )
    return Documents(named[:NAMED_MAX], max(0, len(named) - NAMED_MAX))


def audited(workspace: Workspace, file: str) -> AuditedDocument:
    """One Markdown document that git tracks, as it is on disk, with what is wrong with its citations.

    No link is followed.
    """
    here = require_repository(workspace)
    path = _resolve_document(here, file)
    if not str(path).lower().endswith(ENDINGS):
        raise NameNotFound(f"'{path.display}' is no Markdown document", hint=LISTED)
    with name_not_found(InputError, hint=LISTED):
        require_tracked_file(here, path)
    # Read through the door, which follows no symbolic link: what is shown is the repository's.
    found = here.repository.work_file(path, BYTES_MAX)
    if isinstance(found, NoWorkFile):
        raise NameNotFound(f"'{path.display}' cannot be shown: {found.reason}", hint=LISTED)
    audit = cite_audit(here, [str(path)])
    by_line: dict[int, list[CiteFinding]] = defaultdict(list)
    for finding in audit.findings:
        by_line[finding.line].append(finding)
    try:
        lines = found.content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"'{path.display}' is not UTF-8 text") from error
    return AuditedDocument(path.display, lines, audit, dict(by_line))


def _resolve_document(workspace: Workspace, file: str) -> RepoPath:
    """The document that an address names, which may say it as it is shown."""
    head = workspace.repository.head().commit
    return RepoPath.of(file) if head is None else resolve_file(workspace.repository, head, file)
