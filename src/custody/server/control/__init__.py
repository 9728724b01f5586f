"""Projects, tokens, reads of texts and jobs: in a schema of their own, or in a file beside the embedded store.

May touch: that schema or file, and the schemas of projects and the service's role when a database is initialised. It
holds no evidence. Moments and chance are handed in.
"""

from custody.server.control.database import ControlTables, control_in_file, control_in_postgres
from custody.server.control.jobs import GitHubConnection, Job, Jobs, JobState
from custody.server.control.tokens import Project, TextReadRow, Token

__all__ = [
    "ControlTables",
    "GitHubConnection",
    "Job",
    "JobState",
    "Jobs",
    "Project",
    "TextReadRow",
    "Token",
    "control_in_file",
    "control_in_postgres",
]
