"""Control tables: projects, tokens, reads and jobs, in their own schema or in a file beside the embedded store.

May touch: that schema or file, and the schemas of projects and the service's role when a database is initialized. It
contains no evidence. Time and randomness are passed in.
"""

from custody.server.control.database import ControlTables, open_control_file, open_control_postgres
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
    "open_control_file",
    "open_control_postgres",
]
