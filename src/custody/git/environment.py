"""Settings and environment of every git process; only this file decides them.

A repository's configuration can name programs (fsmonitor, hooks, filters, textconv, external diff, ssh, pager, proxy,
credential and signature helpers) and files anywhere (attributes, mail map, ignored revisions, diff order). So there are
four environments, and every git process has exactly one:

* **open**: git finds the repository, resolves commits, lists its index and moves a reference of notes (``rev-parse``,
  ``symbolic-ref``, ``for-each-ref``, ``ls-files``, ``config``, ``update-ref``). It must read the repository's
  configuration to do so. Except for the hook of ``update-ref``, these commands execute nothing that the configuration
  names, and ``SETTINGS`` and ``make_open_environment`` disarm it anyway.
* **sealed**: everything else. ``GIT_DIR`` is a repository of our own without any configuration, attributes, grafts,
  references or remotes (the folder ``sealed``); only the objects are the user's. Drivers, filters, mail maps,
  ``blame.ignoreRevsFile``, ``diff.orderFile``, ``core.worktree``, promisor remotes, ``info/attributes`` and
  ``info/grafts`` do not exist there, and the same objects give the same bytes on every machine.
* **private**: ``GIT_DIR`` is a temporary folder of ours. git lists names and attributes there (it reads
  ``.gitignore`` and ``.gitattributes``); it opens no other file of the work tree, and reads no configuration.
* **exchange**: the only environment with a network, to push and pull evidence. ``GIT_DIR`` is a folder of our own, so
  that the repository's configuration is not read; the user's is, since it says how to reach a remote (ssh command,
  credentials, proxy). Only https, ssh and file are allowed, hooks never run, and passwords are never prompted for.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from custody.git.chunk_reader import quote_git_name

NULL_FILE = "/dev/null"

SETTINGS: tuple[str, ...] = (
    "--no-pager",  # core.pager, pager.<command>, PAGER, LESSOPEN
    "--no-replace-objects",  # refs/replace would show contents that do not match the ids
    "--literal-pathspecs",  # ':(top)x' and '*' are names
    *("-c", "core.fsmonitor=false"),  # names a program
    *("-c", f"core.hooksPath={NULL_FILE}"),
    *("-c", "diff.external="),  # with --no-ext-diff on every diff
    *("-c", "log.showSignature=false"),  # gpg.program
    *("-c", "protocol.allow=never"),  # GIT_ALLOW_PROTOCOL also outranks protocol.<name>.allow
    *("-c", "core.sshCommand=false"),
    *("-c", "core.gitProxy=false"),
    *("-c", "core.askPass=false"),
    *("-c", "credential.helper="),  # an empty value clears all helpers
    *("-c", "core.alternateRefsCommand="),
    *("-c", f"core.attributesFile={NULL_FILE}"),
    *("-c", f"core.excludesFile={NULL_FILE}"),
    *("-c", f"mailmap.file={NULL_FILE}"),
)

_ALWAYS = MappingProxyType(
    {
        "LC_ALL": "C",  # failures are recognized by git's messages
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        # Older git versions do not know this; for them the next line stops the fetch.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
)

# Only these of git's variables are passed on: where the user's configuration is (it has safe.directory), and how far up
# a repository may be. All others are removed: a hook runs with GIT_DIR and GIT_INDEX_FILE of the commit in progress,
# GIT_TRACE writes files, GIT_EXTERNAL_DIFF, GIT_SSH_COMMAND, GIT_PROXY_COMMAND, GIT_EXEC_PATH and GIT_CONFIG_COUNT
# execute programs, and GIT_OBJECT_DIRECTORY reads elsewhere.
_PASSED_ON = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)

_SEALED = Path(__file__).parent / "sealed"


def make_open_environment(environment: Mapping[str, str], git_dir: Path | None = None) -> dict[str, str]:
    """Return the environment to find a repository, or to read names in ``git_dir``."""
    passed = {name: value for name, value in environment.items() if not name.startswith("GIT_") or name in _PASSED_ON}
    return passed | dict(_ALWAYS) | ({"GIT_DIR": os.fspath(git_dir)} if git_dir else {})


def make_sealed_environment(
    environment: Mapping[str, str], common_dir: Path, object_format: str, more_objects: Path | None = None
) -> dict[str, str]:
    """Return the environment with the objects below ``common_dir`` and ``more_objects``, without configuration."""
    passed = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    sealed = {
        "GIT_DIR": os.fspath(_SEALED / object_format),
        "GIT_OBJECT_DIRECTORY": os.fspath(common_dir / "objects"),
        "GIT_SHALLOW_FILE": os.fspath(common_dir / "shallow"),  # boundary of a shallow clone; may be missing
        "GIT_CONFIG_GLOBAL": NULL_FILE,
        "GIT_CONFIG_SYSTEM": NULL_FILE,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    more = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": quote_git_name(os.fsencode(more_objects))} if more_objects else {}
    return passed | dict(_ALWAYS) | sealed | more


def make_private_environment(
    environment: Mapping[str, str], git_dir: Path, objects: Path, common_dir: Path, work_tree: Path
) -> dict[str, str]:
    """Return the environment with our ``git_dir`` and ``objects``, and the user's objects as alternates."""
    private = {
        "GIT_DIR": os.fspath(git_dir),
        "GIT_WORK_TREE": os.fspath(work_tree),
        "GIT_OBJECT_DIRECTORY": os.fspath(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": quote_git_name(os.fsencode(common_dir / "objects")),
    }
    return make_sealed_environment(environment, common_dir, "sha1") | private


EXCHANGE_SETTINGS: tuple[str, ...] = (
    "--no-pager",
    "--no-replace-objects",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={NULL_FILE}"),
    *("-c", "core.alternateRefsCommand="),
    *("-c", "core.askPass="),  # a password window is a prompt, too
    *("-c", "protocol.allow=never"),  # see GIT_ALLOW_PROTOCOL
    *("-c", "push.gpgSign=false"),
    *("-c", "push.followTags=false"),
    *("-c", "push.recurseSubmodules=no"),
    *("-c", "fetch.recurseSubmodules=no"),
    *("-c", "fetch.writeCommitGraph=false"),
    *("-c", "transfer.fsckObjects=true"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
"""Settings of a git that uses a remote; the user's configuration says how to reach it."""

LOCAL_REMOTE_SETTINGS: tuple[str, ...] = (
    *("-c", f"core.hooksPath={NULL_FILE}"),
    *("-c", "core.alternateRefsCommand="),
    *("-c", "core.fsmonitor=false"),
    *("-c", "receive.autogc=false"),
)
"""Settings of the git that serves a remote on this machine: it runs as this user, whoever made that repository."""


def make_exchange_environment(environment: Mapping[str, str], git_dir: Path, objects: Path) -> dict[str, str]:
    """Return the environment to use a remote from ``git_dir``, with the user's configuration only."""
    exchange = {
        "GIT_DIR": os.fspath(git_dir),
        "GIT_OBJECT_DIRECTORY": os.fspath(objects),
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        "SSH_ASKPASS_REQUIRE": "never",
    }
    passed = {name: value for name, value in make_open_environment(environment).items() if name != "SSH_ASKPASS"}
    return passed | exchange


def find_sealed_repository_file(object_format: str, name: str) -> Path:
    """Return the path of a file of the sealed repository, to be copied into a private one."""
    return _SEALED / object_format / name


def find_program(search_path: str, name: str = "git") -> str | None:
    """Return the path of a program; relative entries of ``search_path`` are skipped: they may be untrusted."""
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
