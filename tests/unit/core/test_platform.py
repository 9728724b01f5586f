"""Differences between systems are in one module; an unsupported system gets a message, not an import error."""

import os
import subprocess
import sys
from pathlib import Path

from custody.core.platform import lock_file, sync_folder, user_name

WITHOUT_POSIX = """
import importlib, os, pkgutil, select, signal, socket, sys
import asyncio, concurrent.futures.process, getpass, http.client, multiprocessing.context, platform, random, secrets
import shutil, sqlite3, ssl, subprocess, tempfile, uuid, webbrowser
import click, httpx2, jinja2, litestar, mcp.server, msgspec, numpy, tree_sitter, uvicorn, yaml

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "pwd", "grp", "resource", "termios", "pty", "tty", "posix", "uvloop"}:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

for module in ("fcntl", "pwd", "grp", "resource", "termios", "pty", "tty", "uvloop"):
    sys.modules.pop(module, None)
sys.meta_path.insert(0, Missing())
for module, names in {
    os: "O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_NOCTTY getuid geteuid fork register_at_fork fchmod fchown pread",
    select: "poll POLLIN POLLOUT",
    signal: "SIGALRM SIGKILL SIGHUP setitimer pthread_sigmask",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
import custody
failed = []
for info in pkgutil.walk_packages(custody.__path__, "custody."):
    if info.name != "custody.__main__":
        try:
            importlib.import_module(info.name)
        except (ImportError, AttributeError) as error:
            failed.append(f"{info.name}: {error}")
print("\\n".join(failed))
"""
WINDOWS = "import sys, click; sys.platform = 'win32'; from custody.cli.main import main; main()"


def test_every_module_imports_without_what_windows_lacks() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_POSIX], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_the_command_says_that_windows_is_not_supported() -> None:
    ran = subprocess.run([sys.executable, "-c", WINDOWS], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "error: custody does not run on Windows yet\nhint: use it inside the Windows Subsystem for Linux (WSL)\n"
    )


def test_a_lock_is_held_until_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = os.open(path, os.O_RDWR | os.O_CREAT)
    lock_file(first)
    waits = "import os, sys; from custody.core.platform import lock_file; lock_file(os.open(sys.argv[1], os.O_RDWR))"
    other = subprocess.Popen([sys.executable, "-c", waits, str(path)])
    try:
        try:
            other.wait(0.5)
            raise AssertionError("it did not wait for the lock")
        except subprocess.TimeoutExpired:
            os.close(first)
        assert other.wait(30) == 0
    finally:
        other.kill()
        other.wait()


def test_a_folder_is_synced_and_the_user_has_a_name(tmp_path: Path) -> None:
    sync_folder(tmp_path)
    assert user_name()
