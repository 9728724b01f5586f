"""Import of everything that is found here: sessions of agents, and references of other attribution tools."""

from custody.capture import TRANSCRIPT_READERS
from custody.core.errors import InputError
from custody.core.wire.report import ImportTranscriptsReport
from custody.intake.backfill import find_tool_references
from custody.intake.import_entire import import_entire_checkpoints
from custody.intake.import_git_ai import import_git_ai_notes
from custody.intake.import_transcripts import import_transcripts
from custody.intake.wire import ImportAgentsReport
from custody.workspace.workspace import Workspace


def import_found_evidence(workspace: Workspace) -> ImportAgentsReport:
    """Import the sessions of every agent for this repository, git-ai's notes and Entire's checkpoints.

    What fails is reported, and the rest goes on.
    """
    reports: list[ImportTranscriptsReport] = []
    trouble: dict[str, str] = {}
    for agent, reader in TRANSCRIPT_READERS.items():
        try:
            reports.append(import_transcripts(workspace, reader, None))
        except InputError as error:
            trouble[agent] = error.message
    tools, notes, checkpoints = find_tool_references(workspace.repository), None, None
    try:
        notes = import_git_ai_notes(workspace) if "git-ai" in tools else None
    except InputError as error:
        trouble["git-ai"] = error.message
    try:
        checkpoints = import_entire_checkpoints(workspace) if "entire" in tools else None
    except InputError as error:
        trouble["entire"] = error.message
    return ImportAgentsReport(
        agents=[report for report in reports if report.files],
        without=[report.agent for report in reports if not report.files],
        trouble=trouble,
        notes=notes,
        checkpoints=checkpoints,
    )
