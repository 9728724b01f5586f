"""Make ``.venv`` from the locks: once, and again when anything it was made from changes.

Needs only the Python that runs it (3.11 or newer, with ``venv`` or ``pip``). It writes to ``.uv``, ``.venv`` and
``web/node_modules`` and nowhere else, so an empty or unwritable home is fine; for tests it also installs the
distribution's Chromium and Neovim where they are missing and it may. Everything fetched is checked against a hash;
nothing is built but this project. What was made is written down last, so an interrupted set-up is repeated.

    python3 tools/setup.py run     what custody needs to run
    python3 tools/setup.py dev     that, and what its tests and checks need: the islands' packages and a browser too
    python3 tools/setup.py lock    solve the versions again and rewrite requirements/*.lock
"""

import ast
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
VENV = ROOT / ".venv"
UV_HOME = ROOT / ".uv"
WEB = ROOT / "web"
MADE_FROM = "made-from"
"""The file in an environment that says what it was made from; only a finished environment has it."""

RUN_EXTRAS = ("--extra", "github", "--extra", "postgres")
EXTRAS = ("--extra", "agents", "--extra", "lsp", "--extra", "mcp", "--extra", "otel", "--extra", "vector", *RUN_EXTRAS)
LOCK_FILES = {"run": ("server.lock",), "dev": ("dev.lock", "postgres.lock", "ray.lock")}
LOCK_SOURCES = {
    "uv.lock": ("--group", "uv"),
    "server.lock": ("pyproject.toml", *RUN_EXTRAS, "--group", "build"),
    "dev.lock": ("pyproject.toml", *EXTRAS, "--group", "build", "--group", "dev"),
    "postgres.lock": ("--group", "postgres", "--constraints", "requirements/dev.lock"),
    "ray.lock": ("--group", "ray", "--constraints", "requirements/dev.lock"),
}
PROGRAMS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "neovim": ("nvim",),
}
"""Packages of the distribution that tests use, each with the names of its program."""
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
"""Where distributions keep the certificates that they trust."""
PIP_TO_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def main(wanted: str) -> None:
    """Do what ``wanted`` (run, dev or lock) says; two at the same time wait for each other."""
    with only_one_at_a_time():
        if wanted == "lock":
            lock(uv())
        elif not is_made(VENV, wanted):
            make_environment(wanted)
        if wanted == "dev":
            make_web()
            have_programs()


def make_environment(wanted: str) -> None:
    """Fill ``.venv`` from nothing."""
    say(f"setting up .venv with Python {sys.version.split()[0]} (once)")
    tool = uv()
    shutil.rmtree(VENV, ignore_errors=True)
    run(tool, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, VENV)
    install: list[str | Path] = [
        tool,
        "pip",
        "install",
        "--quiet",
        "--compile-bytecode",
        "--python",
        VENV / "bin" / "python",
    ]
    hashed = ["--require-hashes", "--no-deps", "--only-binary", ":all:"]
    for name in lock_files(wanted):
        run(*install, *hashed, "--requirements", LOCKS / name)
    run(*install, "--no-deps", "--no-build-isolation", "--offline", "--editable", ROOT)
    finish(VENV, ["run", wanted])


def make_web() -> None:
    """Fill ``web/node_modules`` from its lock; without npm the islands are neither built nor compared."""
    npm, modules = shutil.which("npm"), WEB / "node_modules"
    if npm is None or is_made(modules, "web"):
        return
    say("fetching what the pages' islands are built with (once)")
    if certificates := machine_certificates():
        os.environ.setdefault("NODE_EXTRA_CA_CERTS", certificates)
    # No package runs a script of its own here.
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "5"]
    run(npm, "ci", "--prefix", WEB, *quiet)
    finish(modules, ["web"])


def machine_certificates() -> str | None:
    """Return the file of certificates that this machine trusts: node has its own list, which may lack a mirror's."""
    by_pip = in_words_of_uv(ask_pip()).get("SSL_CERT_FILE")
    places = (os.environ.get("SSL_CERT_FILE"), by_pip, *BUNDLES)
    return next((place for place in places if place and Path(place).is_file()), None)


def have_programs() -> None:
    """Install the distribution's Chromium and Neovim where missing and permitted; else their tests report NOT RUN."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return
    for package, names in PROGRAMS.items():
        have_program(apt, package, names)


def have_program(apt: str, package: str, names: Sequence[str]) -> None:
    """Install a package of the distribution unless a program with one of these names is here."""
    if any(map(shutil.which, names)):
        return
    say(f"installing the distribution's {package} for its tests (once)")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "--quiet", "--yes", "--no-install-recommends", package]
    # The list of packages may be outdated and name versions that are gone: update it and try again.
    for command in (install, [apt, "update", "--quiet"], install):
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if any(map(shutil.which, names)):
            return
    say(f"no {package} could be installed")


def lock_files(wanted: str) -> Sequence[str]:
    """Return the locks of an environment without packages that this platform lacks."""
    files = LOCK_FILES[wanted]
    if "musl" in str(sysconfig.get_config_var("SOABI")):
        # PostgreSQL and Ray have wheels for glibc and macOS only; here their tests say NOT RUN.
        files = tuple(name for name in files if name not in ("postgres.lock", "ray.lock"))
    return files


def lock(tool: Path) -> None:
    """Write every lock file again, for all platforms and Pythons at once, with hashes and without URLs."""
    options = ["--quiet", "--universal", "--generate-hashes", "--no-header", "--no-emit-index-url", "--upgrade"]
    for name, sources in LOCK_SOURCES.items():
        run(tool, "pip", "compile", *options, *sources, "--output-file", LOCKS / name, stdout=subprocess.DEVNULL)


def uv() -> Path:
    """Return the installer: the one on PATH, or ours in ``.uv``, since Debian's pip refuses to install anything."""
    if found := shutil.which("uv"):
        return Path(found)
    tool = UV_HOME / "env" / "bin" / "uv"
    if not is_made(UV_HOME / "env", "uv"):
        say("fetching uv into .uv (once)")
        shutil.rmtree(UV_HOME / "env", ignore_errors=True)
        fetch_uv(UV_HOME / "env")
        finish(UV_HOME / "env", ["uv"])
    os.environ.update(in_words_of_uv(ask_pip()))
    return tool


def fetch_uv(env: Path) -> None:
    """Install the locked uv into ``env``; where this Python has no ``ensurepip``, with the pip it does have."""
    hashed = ["install", "--quiet", "--no-cache-dir", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    wanted: list[str | Path] = [*hashed, "--requirement", LOCKS / "uv.lock"]
    if can_import("ensurepip"):
        run(sys.executable, "-m", "venv", env)
        run(env / "bin" / "python", "-m", "pip", *wanted)
    elif can_import("pip"):
        run(sys.executable, "-m", "pip", *wanted, "--prefix", env, "--ignore-installed")
        for scheme_bin in env.glob("*/bin/uv"):  # Debian puts a prefix's scripts under local/
            (env / "bin").mkdir(exist_ok=True)
            scheme_bin.rename(env / "bin" / "uv")
    else:
        sys.exit("setup: this Python has neither ensurepip nor pip (on Debian and Ubuntu: install 'python3-venv')")


def ask_pip() -> str:
    """Return pip's configuration on this machine: one ``section.option='value'`` per line."""
    ours = UV_HOME / "env" / "bin" / "python"
    ask = [ours if ours.exists() else sys.executable, "-m", "pip", "config", "list"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout


def in_words_of_uv(listed: str) -> dict[str, str]:
    """Return pip's mirror and certificate for uv, unless uv has its own settings."""
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        setting = PIP_TO_UV.get(name.rpartition(".")[2])
        if setting and setting not in os.environ:
            found[setting] = " ".join(ast.literal_eval(value).split())
    return found


def is_made(env: Path, part: str) -> bool:
    """Return whether ``env`` was finished from the current files."""
    try:
        return made_from(part) in (env / MADE_FROM).read_text().split()
    except FileNotFoundError:
        return False


def finish(env: Path, parts: Sequence[str]) -> None:
    """Write down what ``env`` was made from: the last step, and the one that makes it count."""
    (env / MADE_FROM).write_text("".join(f"{made_from(part)}\n" for part in parts))


def made_from(part: str) -> str:
    """Return a digest of everything that the environment ``part`` depends on: Python, path, locks, project."""
    files = {
        "uv": ("requirements/uv.lock",),
        "web": ("web/package-lock.json",),
        "run": ("requirements/server.lock", "pyproject.toml", "src/custody/__init__.py"),
        "dev": (*(f"requirements/{name}" for name in LOCK_FILES["dev"]), "pyproject.toml", "src/custody/__init__.py"),
    }
    seen = [part, sys.version, sys.base_prefix, str(ROOT)]
    seen += [hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in files[part]]
    return hashlib.sha256("\0".join(seen).encode()).hexdigest()


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Hold a lock that the system releases when this process ends."""
    UV_HOME.mkdir(exist_ok=True)
    with (UV_HOME / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def can_import(name: str) -> bool:
    """Return whether a fresh Python can import ``name``: Debian's ``ensurepip`` can be incomplete."""
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def run(*command: str | Path, stdout: int | None = None) -> None:
    """Run a step of the set-up; on failure its output is the message."""
    environment = os.environ | {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        "PIP_ROOT_USER_ACTION": "ignore",
        "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(UV_HOME / "cache")),
        "UV_PYTHON_DOWNLOADS": "never",
        # The certificates of this machine, as pip and git use them; the first name is for uv before 0.10.
        "UV_NATIVE_TLS": "1",
        "UV_SYSTEM_CERTS": "1",
    }
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=stdout, check=False)
    if done.returncode:
        sys.exit(f"setup: '{' '.join(map(str, command[:4]))} …' failed; run the same command again when it can work")


def say(text: str) -> None:
    """Print the progress."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
