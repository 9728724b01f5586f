"""Rows of jobs, each made and settled once, and of GitHub's repositories and deliveries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from custody.core.ids import Digest
from custody.store.db import Db, Row, SqlValue
from custody.store.tables import integer

LOOKED_AT_MAX = 16
"""Due jobs that are looked at together: when others take the first, one behind it is tried."""
_COLUMNS = "id, kind, project, natural_key, payload, state, attempts, lease, due_ns, error"


class JobState(Enum):
    """Where a job is."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    ASIDE = "aside"
    """It failed too often, or cannot succeed: nobody takes it until a person says so."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do; as taken, it carries the number of the lease."""

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
        """Make a job; False if one of the same kind, project and key was ever made."""
        made = self._db.rows(
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
        return bool(made)

    def take(self, kinds: Collection[str], now_ns: int, until_ns: int) -> Job | None:
        """Lease the job that has been due longest, until a moment; None when none of these kinds is due."""
        marks = ", ".join("?" * len(kinds))
        while True:
            due = self._db.rows(
                f"SELECT id, lease FROM job WHERE state IN ('waiting', 'leased') AND due_ns <= ? AND kind IN ({marks})"
                " ORDER BY due_ns, id LIMIT ?",
                (now_ns, *kinds, LOOKED_AT_MAX),
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
                    return _job(taken[0])

    def renew(self, job: Job, until_ns: int) -> bool:
        """Hold the lease longer; False if it was lost."""
        return self._swap(job, "due_ns = ?", (until_ns,))

    def done(self, job: Job, now_ns: int) -> bool:
        """Record that a job is done; False if the lease was lost, and somebody else settles it."""
        return self._swap(job, "state = 'done', error = NULL, settled_ns = ?", (now_ns,))

    def again(self, job: Job, due_ns: int, error: str) -> bool:
        """Let a job that failed be taken again, not before a moment."""
        return self._swap(job, "state = 'waiting', due_ns = ?, error = ?", (due_ns, error))

    def set_aside(self, job: Job, now_ns: int, error: str) -> bool:
        """Keep a job from being taken until a person looks at it."""
        return self._swap(job, "state = 'aside', settled_ns = ?, error = ?", (now_ns, error))

    def retry(self, id_: str, now_ns: int) -> Job | None:
        """Have a job that was set aside taken again, as if it had never been tried; None if there is no such job."""
        found = self._db.rows(
            "UPDATE job SET state = 'waiting', attempts = 0, due_ns = ?, settled_ns = NULL"
            f" WHERE id = ? AND state = 'aside' RETURNING {_COLUMNS}",
            (now_ns, id_),
        )
        return _job(found[0]) if found else None

    def in_states(self, states: Collection[JobState], limit: int) -> list[Job]:
        """Jobs in these states, those due first first."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM job WHERE state IN ({', '.join('?' * len(states))}) ORDER BY due_ns, id LIMIT ?",
            (*(state.value for state in states), limit),
        )
        return [_job(row) for row in rows]

    def unsettled(self, project: str, limit: int) -> list[Job]:
        """Jobs of one project that are not done, those set aside first."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM job WHERE state IN ('aside', 'leased', 'waiting') AND project = ?"
            " ORDER BY state, due_ns, id LIMIT ?",
            (project, limit),
        )
        return [_job(row) for row in rows]

    def counts(self) -> dict[JobState, int]:
        """How many jobs are in each state."""
        rows = self._db.rows("SELECT state, count(*) FROM job GROUP BY state")
        found = {str(state): integer(count) for state, count in rows}
        return {state: found.get(state.value, 0) for state in JobState}

    def _swap(self, job: Job, sets: str, values: Sequence[int | str]) -> bool:
        won = self._db.rows(
            f"UPDATE job SET {sets} WHERE id = ? AND lease = ? AND state = 'leased' RETURNING id",
            (*values, job.id, job.lease),
        )
        return bool(won)


def _job(row: Row) -> Job:
    id_, kind, project, key, payload, state, attempts, lease, due, error = row
    return Job(
        id=str(id_),
        kind=str(kind),
        project=str(project),
        key=str(key),
        payload=str(payload),
        state=JobState(str(state)),
        attempts=integer(attempts),
        lease=integer(lease),
        due_ns=integer(due),
        error=None if error is None else str(error),
    )


# Which repository on GitHub belongs to which project, and which deliveries were taken in.


@dataclass(frozen=True, slots=True)
class GitHubConnection:
    """A repository of GitHub's and the project that its evidence belongs to."""

    full_name: str
    project: str
    installation: int | None


class GitHubTables:
    """Repositories and deliveries of one database; names are compared without regard to case, as GitHub does."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def connect(self, full_name: str, project: str) -> None:
        """Say which project a repository belongs to, whatever was said before."""
        self._db.run(
            "INSERT INTO github_repository (full_name, project, installation) VALUES (?, ?, NULL)"
            " ON CONFLICT (full_name) DO UPDATE SET project = excluded.project",
            (full_name.lower(), project),
        )

    def disconnect(self, full_name: str) -> bool:
        """Forget a repository; False if it was not known."""
        gone = self._db.rows(
            "DELETE FROM github_repository WHERE full_name = ? RETURNING full_name", (full_name.lower(),)
        )
        return bool(gone)

    def named(self, full_name: str) -> GitHubConnection | None:
        """The repository of that name; None if nobody connected it."""
        found = self._db.rows(
            "SELECT full_name, project, installation FROM github_repository WHERE full_name = ?", (full_name.lower(),)
        )
        return _connected(*found[0]) if found else None

    def all(self) -> list[GitHubConnection]:
        """Every repository, by name."""
        rows = self._db.rows("SELECT full_name, project, installation FROM github_repository ORDER BY full_name")
        return [_connected(*row) for row in rows]

    def installed(self, full_name: str, installation: int) -> None:
        """Keep which installation of the app speaks for a repository."""
        self._db.run(
            "UPDATE github_repository SET installation = ? WHERE full_name = ?", (installation, full_name.lower())
        )

    def take_in(self, id_: str, digest: Digest, now_ns: int, *, same_body_too: bool) -> bool:
        """Keep a delivery; False if it was taken in before, with ``same_body_too`` also under another id."""
        if same_body_too and self._db.rows("SELECT 1 FROM github_delivery WHERE digest = ?", (digest,)):
            return False
        made = self._db.rows(
            "INSERT INTO github_delivery (id, digest, at_ns) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id",
            (id_, digest, now_ns),
        )
        return bool(made)


def _connected(full_name: SqlValue, project: SqlValue, installation: SqlValue) -> GitHubConnection:
    number = None if installation is None else integer(installation)
    return GitHubConnection(str(full_name), str(project), number)
