"""Rows of jobs, GitHub repositories and deliveries."""

from collections.abc import Collection, Sequence
from enum import Enum

from msgspec import Struct

from custody.core.ids import Digest
from custody.store.db import Db, Row, SqlValue
from custody.store.tables import integer_from_sql

DUE_READ_MAX = 16
"""Due jobs read together: if another worker takes the first, the next is tried."""
_COLUMNS = "id, kind, project, natural_key, payload, state, attempts, lease, due_ns, error"


class JobState(Enum):
    """The state of a job."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    ASIDE = "aside"
    """Failed for good: no worker takes it until a person retries it."""


class Job(Struct, frozen=True):
    """A job; ``lease`` is the number of its current lease."""

    id: str
    kind: str
    project: str
    key: str
    payload: str
    state: JobState
    attempts: int
    lease: int
    due_ns: int
    error: str | None


class Jobs:
    """The jobs of one database."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def put(self, new: Job, now_ns: int) -> bool:
        """Add a job; False if one with the same kind, project and key was ever added."""
        rows = self._db.rows(
            f"INSERT INTO job ({_COLUMNS}, created_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (kind, project, natural_key) DO NOTHING RETURNING id",
            (
                new.id,
                new.kind,
                new.project,
                new.key,
                new.payload,
                new.state.value,
                new.attempts,
                new.lease,
                new.due_ns,
                new.error,
                now_ns,
            ),
        )
        return bool(rows)

    def take(self, kinds: Collection[str], now_ns: int, until_ns: int) -> Job | None:
        """Lease the job that has been due longest, until ``until_ns``; None if none of these kinds is due."""
        marks = ", ".join("?" * len(kinds))
        while True:
            due = self._db.rows(
                f"SELECT id, lease FROM job WHERE state IN ('waiting', 'leased') AND due_ns <= ? AND kind IN ({marks})"
                " ORDER BY due_ns, id LIMIT ?",
                (now_ns, *kinds, DUE_READ_MAX),
            )
            if not due:
                return None
            for id_, lease in due:
                taken = self._db.rows(
                    "UPDATE job SET state = 'leased', lease = lease + 1, attempts = attempts + 1, due_ns = ?"
                    " WHERE id = ? AND lease = ? AND state IN ('waiting', 'leased') AND due_ns <= ?"
                    f" RETURNING {_COLUMNS}",
                    (until_ns, id_, lease, now_ns),
                )
                if taken:
                    return _job_from_row(taken[0])

    def renew(self, job: Job, until_ns: int) -> bool:
        """Extend the lease; False if it was lost."""
        return self._swap(job, "due_ns = ?", (until_ns,))

    def mark_done(self, job: Job, now_ns: int) -> bool:
        """Record that a job is done; False if the lease was lost, so that another worker settles it."""
        return self._swap(job, "state = 'done', error = NULL, settled_ns = ?", (now_ns,))

    def schedule_retry(self, job: Job, due_ns: int, error: str) -> bool:
        """Retry a failed job, not before ``due_ns``."""
        return self._swap(job, "state = 'waiting', due_ns = ?, error = ?", (due_ns, error))

    def set_aside(self, job: Job, now_ns: int, error: str) -> bool:
        """Mark a job as failed for good."""
        return self._swap(job, "state = 'aside', settled_ns = ?, error = ?", (now_ns, error))

    def retry(self, id_: str, now_ns: int) -> Job | None:
        """Retry a job that failed for good, with a new count of attempts; None if it does not exist."""
        rows = self._db.rows(
            "UPDATE job SET state = 'waiting', attempts = 0, due_ns = ?, settled_ns = NULL"
            f" WHERE id = ? AND state = 'aside' RETURNING {_COLUMNS}",
            (now_ns, id_),
        )
        return _job_from_row(rows[0]) if rows else None

    def list_in_states(self, states: Collection[JobState], limit: int) -> list[Job]:
        """List jobs in these states, the first due first."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM job WHERE state IN ({', '.join('?' * len(states))}) ORDER BY due_ns, id LIMIT ?",
            (*(state.value for state in states), limit),
        )
        return [_job_from_row(row) for row in rows]

    def list_unfinished(self, project: str, limit: int) -> list[Job]:
        """List the unfinished jobs of a project, failed ones first."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM job WHERE state IN ('aside', 'leased', 'waiting') AND project = ?"
            " ORDER BY state, due_ns, id LIMIT ?",
            (project, limit),
        )
        return [_job_from_row(row) for row in rows]

    def counts(self) -> dict[JobState, int]:
        """Count the jobs by state."""
        rows = self._db.rows("SELECT state, count(*) FROM job GROUP BY state")
        counts = {str(state): integer_from_sql(count) for state, count in rows}
        return {state: counts.get(state.value, 0) for state in JobState}

    def _swap(self, job: Job, sets: str, values: Sequence[int | str]) -> bool:
        won = self._db.rows(
            f"UPDATE job SET {sets} WHERE id = ? AND lease = ? AND state = 'leased' RETURNING id",
            (*values, job.id, job.lease),
        )
        return bool(won)


def _job_from_row(row: Row) -> Job:
    id_, kind, project, key, payload, state, attempts, lease, due, error = row
    return Job(
        id=str(id_),
        kind=str(kind),
        project=str(project),
        key=str(key),
        payload=str(payload),
        state=JobState(str(state)),
        attempts=integer_from_sql(attempts),
        lease=integer_from_sql(lease),
        due_ns=integer_from_sql(due),
        error=None if error is None else str(error),
    )


class GitHubConnection(Struct, frozen=True):
    """A GitHub repository and its project."""

    full_name: str
    project: str
    installation: int | None


class GitHubTables:
    """Repositories and deliveries; names are case-insensitive, as on GitHub."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def connect(self, full_name: str, project: str) -> None:
        """Connect a repository to a project, replacing an earlier connection."""
        self._db.run(
            "INSERT INTO github_repository (full_name, project, installation) VALUES (?, ?, NULL)"
            " ON CONFLICT (full_name) DO UPDATE SET project = excluded.project",
            (full_name.lower(), project),
        )

    def disconnect(self, full_name: str) -> bool:
        """Remove a repository; False if it was not connected."""
        gone = self._db.rows(
            "DELETE FROM github_repository WHERE full_name = ? RETURNING full_name", (full_name.lower(),)
        )
        return bool(gone)

    def find_by_name(self, full_name: str) -> GitHubConnection | None:
        """Return the repository of this name; None if it is not connected."""
        rows = self._db.rows(
            "SELECT full_name, project, installation FROM github_repository WHERE full_name = ?", (full_name.lower(),)
        )
        return _make_github_connection(*rows[0]) if rows else None

    def list_all(self) -> list[GitHubConnection]:
        """List all repositories by name."""
        rows = self._db.rows("SELECT full_name, project, installation FROM github_repository ORDER BY full_name")
        return [_make_github_connection(*row) for row in rows]

    def set_installation(self, full_name: str, installation: int) -> None:
        """Store the installation of the app for a repository."""
        self._db.run(
            "UPDATE github_repository SET installation = ? WHERE full_name = ?", (installation, full_name.lower())
        )

    def take_in(self, id_: str, digest: Digest, now_ns: int, *, same_body_too: bool) -> bool:
        """Store a delivery; False if it is known, with ``same_body_too`` also under another id."""
        if same_body_too and self._db.rows("SELECT 1 FROM github_delivery WHERE digest = ?", (digest,)):
            return False
        rows = self._db.rows(
            "INSERT INTO github_delivery (id, digest, at_ns) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id",
            (id_, digest, now_ns),
        )
        return bool(rows)


def _make_github_connection(full_name: SqlValue, project: SqlValue, installation: SqlValue) -> GitHubConnection:
    number = None if installation is None else integer_from_sql(installation)
    return GitHubConnection(str(full_name), str(project), number)
