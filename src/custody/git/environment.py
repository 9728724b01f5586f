"""What every git process is given and what it is denied: the only file that decides settings and environment.

A repository's configuration can name programs (fsmonitor, hooks, filters, textconv, external diff, ssh, pager, proxy,
credential and signature helpers) and files anywhere (attributes, mail map, ignored revisions, diff order). So there are
four ways in, and a git process belongs to exactly one:

* **open**: git finds the repository, names its commits, lists its index and moves a reference of notes (``rev-parse``,
  ``symbolic-ref``, ``for-each-ref``, ``ls-files``, ``config``, ``update-ref``). It must read the repository's
  configuration to do so; nothing in these commands but the hook of ``update-ref`` uses what that configuration could
  execute, and ``SETTINGS`` and ``open_environment`` disarm it all the same.
* **sealed**: everything else. ``GIT_DIR`` is a repository of our own without any configuration, attributes, grafts,
  references or remotes (the folder ``sealed``); only the objects are the user's. What is never read need not be
  disarmed: drivers, filters, mail maps, ``blame.ignoreRevsFile``, ``diff.orderFile``, ``core.worktree``, promisor
  remotes, ``info/attributes`` and ``info/grafts`` do not exist there, and the same objects give the same bytes on
  every machine.
* **private**: ``GIT_DIR`` is a folder that we made for one question about the work tree and that goes with it. git
  lists names there and says what attributes are (it reads ``.gitignore`` and ``.gitattributes``); it opens no other
  file of the work tree, and there is no configuration either.
* **exchange**: the one way to a network, for evidence that is pushed and pulled. ``GIT_DIR`` is a folder of our own,
  so that nothing of the repository's configuration is read; the user's own is, since it knows how to reach a remote
  (ssh command, credentials, proxy). Only https, ssh and file are spoken, hooks never run, and nobody is asked for a
  password.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from custody.git.chunk_reader import quote_name

NOWHERE = "/dev/null"

SETTINGS: tuple[str, ...] = (
    "--no-pager",  # core.pager, pager.<command>, PAGER, LESSOPEN
    "--no-replace-objects",  # refs/replace would show other contents than the ids say
    "--literal-pathspecs",  # ':(top)x' and '*' are names
    *("-c", "core.fsmonitor=false"),  # names a program
    *("-c", f"core.hooksPath={NOWHERE}"),
    *("-c", "diff.external="),  # with --no-ext-diff on every diff
    *("-c", "log.showSignature=false"),  # gpg.program
    *("-c", "protocol.allow=never"),  # see GIT_ALLOW_PROTOCOL, which also outranks protocol.<name>.allow
    *("-c", "core.sshCommand=false"),
    *("-c", "core.gitProxy=false"),
    *("-c", "core.askPass=false"),
    *("-c", "credential.helper="),  # an empty value forgets every helper named before
    *("-c", "core.alternateRefsCommand="),
    *("-c", f"core.attributesFile={NOWHERE}"),
    *("-c", f"core.excludesFile={NOWHERE}"),
    *("-c", f"mailmap.file={NOWHERE}"),
)

_ALWAYS = MappingProxyType(
    {
        "LC_ALL": "C",  # we read git's words to tell one failure from another
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        # Not every git from 2.34 on knows this; for those the next line stops the fetch at its transport.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
)

# Of git's own variables these stay, because they are the user's to set and only say where to look: the user's own
# configuration (it holds safe.directory) and how far up a repository may be found. All others go: a hook runs with
# GIT_DIR and GIT_INDEX_FILE of the commit in progress, and GIT_TRACE writes files, GIT_EXTERNAL_DIFF,
# GIT_SSH_COMMAND, GIT_PROXY_COMMAND, GIT_EXEC_PATH and GIT_CONFIG_COUNT execute, GIT_OBJECT_DIRECTORY reads elsewhere.
_OF_THE_USER = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)

_SEALED = Path(__file__).parent / "sealed"


def open_environment(around: Mapping[str, str], git_dir: Path | None = None) -> dict[str, str]:
    """The environment in which git may look for a repository, or at ``git_dir`` once it is found."""
    kept = {name: value for name, value in around.items() if not name.startswith("GIT_") or name in _OF_THE_USER}
    return kept | dict(_ALWAYS) | ({"GIT_DIR": os.fspath(git_dir)} if git_dir else {})


def sealed_environment(
    around: Mapping[str, str], common_dir: Path, object_format: str, more_objects: Path | None = None
) -> dict[str, str]:
    """The environment in which git sees the objects below ``common_dir``, perhaps more, and no configuration at all."""
    kept = {name: value for name, value in around.items() if not name.startswith("GIT_")}
    sealed = {
        "GIT_DIR": os.fspath(_SEALED / object_format),
        "GIT_OBJECT_DIRECTORY": os.fspath(common_dir / "objects"),
        "GIT_SHALLOW_FILE": os.fspath(common_dir / "shallow"),  # where history was cut; may be missing
        "GIT_CONFIG_GLOBAL": NOWHERE,
        "GIT_CONFIG_SYSTEM": NOWHERE,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    more = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": quote_name(os.fsencode(more_objects))} if more_objects else {}
    return kept | dict(_ALWAYS) | sealed | more


def private_environment(
    around: Mapping[str, str], git_dir: Path, objects: Path, common_dir: Path, work_tree: Path
) -> dict[str, str]:
    """The environment in which git lives in our ``git_dir`` and would write to our ``objects``, the user's beside."""
    private = {
        "GIT_DIR": os.fspath(git_dir),
        "GIT_WORK_TREE": os.fspath(work_tree),
        "GIT_OBJECT_DIRECTORY": os.fspath(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": quote_name(os.fsencode(common_dir / "objects")),
    }
    return sealed_environment(around, common_dir, "sha1") | private


EXCHANGE_SETTINGS: tuple[str, ...] = (
    "--no-pager",
    "--no-replace-objects",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={NOWHERE}"),
    *("-c", "core.alternateRefsCommand="),
    *("-c", "core.askPass="),  # a window that asks for a password is a prompt too
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
"""What a git that reaches a remote is told; how to reach it stands in the user's own configuration."""

OTHER_SIDE: tuple[str, ...] = (
    *("-c", f"core.hooksPath={NOWHERE}"),
    *("-c", "core.alternateRefsCommand="),
    *("-c", "core.fsmonitor=false"),
    *("-c", "receive.autogc=false"),
)
"""What the git is told that serves a remote on this machine: it runs as this user, whoever made that repository."""


def exchange_environment(around: Mapping[str, str], git_dir: Path, objects: Path) -> dict[str, str]:
    """The environment in which git reaches a remote from ``git_dir``, with the user's configuration and no other."""
    exchange = {
        "GIT_DIR": os.fspath(git_dir),
        "GIT_OBJECT_DIRECTORY": os.fspath(objects),
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        "SSH_ASKPASS_REQUIRE": "never",
    }
    kept = {name: value for name, value in open_environment(around).items() if name != "SSH_ASKPASS"}
    return kept | exchange


def sealed_file(object_format: str, name: str) -> Path:
    """A file of the sealed repository for ``object_format``, as a pattern for a private one."""
    return _SEALED / object_format / name


def find_program(search_path: str, name: str = "git") -> str | None:
    """Where ``name`` is; a relative entry of ``search_path`` is passed over: it could be a folder of the repository."""
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
