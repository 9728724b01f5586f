"""The processes that faults kill: recorders, ingesting processes and readers with a real spool and store.

python -m bench.faults.worker record FOLDER NAME COUNT    put events, print each receipt once it is acknowledged
python -m bench.faults.worker drain  FOLDER               move waiting events into the chain, repeatedly
python -m bench.faults.worker read   FOLDER               read everything repeatedly until stopped
"""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from custody.capture.spool import Spool
from custody.core.errors import CustodyError
from custody.core.ids import PENDING
from custody.core.record import check_record_chain
from custody.workspace.workspace import Workspace

TEXT = "a line that an agent wrote\n" * 40


def spool_of(folder: Path) -> Spool:
    """Return the spool of the repository at ``folder``."""
    return Spool(folder / ".git" / "custody" / "spool")


def an_event(name: str, n: int) -> bytes:
    """Return an event that no other recorder makes."""
    return json.dumps(
        {
            "custody": 1,
            "kind": "edit",
            "agent": "worker",
            "session": name,
            "id": str(n),
            "at": f"2026-01-31T12:{n // 60 % 60:02d}:{n % 60:02d}Z",
            "path": f"src/{name}.py",
            "after": f"{name} {n}\n" + TEXT * (n % 7),
        }
    ).encode()


def record(folder: Path, name: str, count: str) -> None:
    """Put events one after the other."""
    spool = spool_of(folder)
    for n in range(int(count)):
        print(spool.put(an_event(name, n)).event, flush=True)


def drain(folder: Path) -> None:
    """Ingest forever, until the parent process kills this one."""
    while True:
        with Workspace(folder).writing():
            pass


def read(folder: Path) -> None:
    """Read every record and every chain until stopped, then print the number of reads and every error."""
    stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    print("reading", flush=True)
    looks = 0
    while not stopped:
        try:
            _look(folder)
        except CustodyError as error:
            print(f"error {error}", flush=True)
        looks += 1
    print(f"looks {looks}", flush=True)


def _look(folder: Path) -> None:
    with Workspace(folder).reading() as store, store.reading():
        for head in store.tables.chains():
            if head.store != PENDING:
                for damage in check_record_chain(head.store, store.tables.records(head.store)):
                    print(f"error {damage.what}", flush=True)


VERBS: dict[str, Callable[..., None]] = {"record": record, "drain": drain, "read": read}

if __name__ == "__main__":
    VERBS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
