"""Import what every agent left on this machine of this repository: one after the other, none in the way of another."""

from custody.capture import TRANSCRIPT_READERS
from custody.core.errors import InputError
from custody.core.wire.report import ImportAgentsReport, ImportTranscriptsReport
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace


def import_agents(workspace: Workspace) -> ImportAgentsReport:
    """What each agent whose sessions we can read left here; one that cannot be looked at is named."""
    read: list[ImportTranscriptsReport] = []
    trouble: dict[str, str] = {}
    for agent, reader in TRANSCRIPT_READERS.items():
        try:
            read.append(import_transcripts(workspace, reader, None))
        except InputError as error:
            trouble[agent] = error.message
    return ImportAgentsReport(
        agents=[report for report in read if report.files],
        without=[report.agent for report in read if not report.files],
        trouble=trouble,
    )
