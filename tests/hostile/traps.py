"""Repositories that try to make git run a program or read a file elsewhere; each works on plain git.

``hostile_repositories(folder)`` gives (name, path, marker) for every trap: run a verb in ``path`` and look whether
``marker`` exists afterwards. A trap that wants a file read elsewhere names a pipe without a writer: who opens it hangs.
"""

import os
import pty
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from custody.core.ids import CommitSha
from tests.builders.repo import Built, a_history, a_repository

PLAIN_SECONDS_MAX = 0.5
"""Seconds after which plain git counts as blocked by the pipe."""

HOOKS = """applypatch-msg commit-msg fsmonitor-watchman post-checkout post-commit post-index-change post-merge
post-rewrite pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg
push-to-checkout reference-transaction sendemail-validate update""".split()


@dataclass
class Trap:
    """A repository with a trap that writes ``marker``; opening ``pipe`` blocks."""

    name: str
    built: Built
    marker: Path
    spring: Path
    pipe: Path
    commits: list[CommitSha]
    environment: dict[str, str] = field(default_factory=dict)
    stands_in: Path | None = None
    refused: bool = False
    """Whether some calls may fail: objects are missing, or the repository points elsewhere."""
    hidden_from_plain_git: str = ""
    """Why plain git does not trigger it either; empty if it does."""
    plain: Callable[[], object] = lambda: None

    @property
    def path(self) -> Path:
        """The current folder for the calls."""
        return self.stands_in or self.built.path

    @property
    def config(self) -> Callable[[str, str], object]:
        """Set a value in the configuration of the repository."""
        return lambda key, value: self.built.git("config", "--add", key, value)

    def plain_git(self, *arguments: str) -> None:
        """Run plain git in this repository; it may fail or block, only the marker counts."""
        try:
            subprocess.run(
                ("git", *arguments),
                cwd=self.path,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=PLAIN_SECONDS_MAX if self.pipe.exists() else 30,
            )
        except subprocess.TimeoutExpired:
            self.marker.write_text("plain git opened the pipe")

    def attributes(self, line: str) -> None:
        """Give every file an attribute, without a checkout."""
        (self.built.path / ".git" / "info" / "attributes").write_text(line)


def hostile_repositories(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Return every trap in a repository, as (name, current folder, marker)."""
    for name in TRAPS:
        trap = a_trap(name, folder / name)
        yield trap.name, trap.path, trap.marker


def a_trap(name: str, folder: Path) -> Trap:
    """Build the repository ``name`` of ``TRAPS`` or ``ENVIRONMENTS`` in ``folder``."""
    built = a_repository(folder / "here")
    commits = a_history(built, {b"x": b"one\n", b"y": b"y\n"}, {b"x": b"two\n", b"y": b"y\n"})
    built.checkout()
    marker, spring = folder / "sprung", folder / "spring"
    spring.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\n')
    spring.chmod(0o755)
    trap = Trap(name, built, marker, spring, folder / "pipe", commits)
    {**TRAPS, **ENVIRONMENTS}[name](trap)
    return trap


def _fsmonitor(trap: Trap) -> None:
    trap.config("core.fsmonitor", str(trap.spring))
    trap.plain = lambda: trap.plain_git("status")


def _textconv(trap: Trap) -> None:
    trap.attributes("* diff=evil\n")
    trap.config("diff.evil.textconv", str(trap.spring))
    trap.plain = lambda: trap.plain_git("blame", "HEAD", "--", "x")


def _tracked_textconv(trap: Trap) -> None:
    files = {b"x": b"three\n", b"y": b"y\n", b".gitattributes": b"* diff=evil\n"}
    trap.commits.append(trap.built.commit(files, trap.commits[-1]))
    trap.built.checkout()
    trap.config("diff.evil.textconv", str(trap.spring))
    trap.plain = lambda: trap.plain_git("log", "-p")


def _external_diff(trap: Trap) -> None:
    trap.config("diff.external", str(trap.spring))
    trap.plain = lambda: trap.plain_git("diff", "HEAD~1", "HEAD")


def _diff_command(trap: Trap) -> None:
    trap.attributes("* diff=evil\n")
    trap.config("diff.evil.command", str(trap.spring))
    trap.plain = lambda: trap.plain_git("diff", "HEAD~1", "HEAD")


def _filter(kind: str, *plain: str) -> Callable[[Trap], None]:
    def lay(trap: Trap) -> None:
        trap.attributes("* filter=evil\n")
        trap.config(f"filter.evil.{kind}", str(trap.spring))
        trap.config("filter.evil.required", "true")
        (trap.built.path / "x").write_text("changed in the work tree\n")
        trap.plain = lambda: trap.plain_git(*plain)

    return lay


def _promisor(url: str, **settings: str) -> Callable[[Trap], None]:
    """Make a partial clone that lacks a blob: reading the blob runs the transport."""

    def lay(trap: Trap) -> None:
        blob = trap.built.git("rev-parse", "HEAD:x").decode().strip()
        (trap.built.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
        trap.config("core.repositoryformatversion", "1")
        trap.config("extensions.partialClone", "origin")
        trap.config("remote.origin.promisor", "true")
        trap.config("remote.origin.url", url.format(spring=trap.spring, path=trap.built.path))
        for protocol in ("ext", "ssh", "git", "file"):
            trap.config(f"protocol.{protocol}.allow", "always")
        for key, value in settings.items():
            trap.config(key.replace("__", "."), value.format(spring=trap.spring))
        trap.refused = True
        trap.plain = lambda: trap.plain_git("cat-file", "-p", "HEAD:x")

    return lay


def _hooks(trap: Trap) -> None:
    for name in HOOKS:
        (trap.built.path / ".git" / "hooks" / name).symlink_to(trap.spring)
    trap.plain = lambda: trap.plain_git("checkout", "--force", "HEAD~0")


def _hooks_elsewhere(trap: Trap) -> None:
    folder = trap.built.path / "hooks"
    folder.mkdir()
    for name in HOOKS:
        (folder / name).symlink_to(trap.spring)
    trap.config("core.hooksPath", str(folder))
    trap.plain = lambda: trap.plain_git("checkout", "--force", "HEAD~0")


def _pager(trap: Trap) -> None:
    for key in ("core.pager", "pager.blame", "pager.log", "pager.rev-parse", "pager.diff-tree", "pager.rev-list"):
        trap.config(key, str(trap.spring))
    trap.plain = lambda: _on_a_terminal(trap, "log")


def _on_a_terminal(trap: Trap, *arguments: str) -> None:
    here, there = pty.openpty()
    subprocess.run(("git", *arguments), cwd=trap.path, stdout=there, stderr=there, timeout=30, check=False)
    os.close(here)
    os.close(there)


def _signature(trap: Trap) -> None:
    raw = trap.built.git("cat-file", "commit", "HEAD")
    signed = raw.replace(b"\n\n", b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1)
    made = trap.built.git("hash-object", "-t", "commit", "-w", "--stdin", feed=signed).decode().strip()
    trap.built.git("update-ref", "refs/heads/main", made)
    trap.commits.append(CommitSha(made))
    trap.config("log.showSignature", "true")
    trap.config("gpg.program", str(trap.spring))
    trap.plain = lambda: trap.plain_git("log", "-1")


def _aliases(trap: Trap) -> None:
    for (
        verb
    ) in """blame cat-file check-attr config diff-tree for-each-ref ls-files ls-tree merge-base rev-list rev-parse
        symbolic-ref version""".split():
        trap.config(f"alias.{verb}", f"!{trap.spring}")
    trap.config("alias.mine", f"!{trap.spring}")
    trap.plain = lambda: trap.plain_git("mine")


def _credentials(trap: Trap) -> None:
    trap.config("credential.helper", str(trap.spring))
    trap.config("core.askPass", str(trap.spring))

    def plain() -> None:
        trap.built.git("credential", "approve", feed=b"protocol=https\nhost=h.invalid\nusername=u\npassword=p\n\n")

    trap.plain = plain


def _alternate_refs(trap: Trap) -> None:
    other = a_repository(trap.built.path.parent / "other")
    a_history(other, {b"secret": b"secret\n"})
    (trap.built.path / ".git" / "objects" / "info" / "alternates").write_text(f"{other.path}/.git/objects\n")
    trap.config("core.alternateRefsCommand", str(trap.spring))
    trap.plain = lambda: trap.plain_git("receive-pack", "--http-backend-info-refs", ".")


def _trailers(trap: Trap) -> None:
    trap.config("trailer.mine.command", str(trap.spring))
    trap.config("trailer.mine.ifexists", "add")
    trap.plain = lambda: trap.plain_git("interpret-trailers", "--trailer", "mine=x", "x")


def _reads(key: str, *plain: str) -> Callable[[Trap], None]:
    """Set a setting that names a file to the pipe."""

    def lay(trap: Trap) -> None:
        os.mkfifo(trap.pipe)
        trap.config(key, str(trap.pipe))
        trap.plain = lambda: trap.plain_git(*plain)

    return lay


def _linked_attributes(trap: Trap) -> None:
    os.mkfifo(trap.pipe)
    (trap.built.path / ".git" / "info" / "attributes").symlink_to(trap.pipe)
    trap.plain = lambda: trap.plain_git("log", "-p")


def _linked_excludes(trap: Trap) -> None:
    os.mkfifo(trap.pipe)
    exclude = trap.built.path / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    exclude.symlink_to(trap.pipe)
    trap.plain = lambda: trap.plain_git("status")


def _included(trap: Trap) -> None:
    """Include configuration by the folder of the repository, with all settings that name a program."""
    included = trap.built.path / "included"
    included.write_text(
        f'[core]\nfsmonitor = {trap.spring}\n[filter "evil"]\nclean = {trap.spring}\nprocess = {trap.spring}\n'
    )
    trap.config(f"includeIf.gitdir:{trap.built.path}/.path", str(included))
    trap.attributes("* filter=evil\n")
    (trap.built.path / "x").write_text("changed in the work tree\n")
    trap.plain = lambda: trap.plain_git("status")


def _untracked_filter(trap: Trap) -> None:
    """Set uncommitted attributes for untracked files."""
    for name in ("x", "new", "folder/new"):
        path = trap.built.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("changed in the work tree\n")
    (trap.built.path / ".gitattributes").write_text("* filter=evil diff=evil\n")
    trap.config("filter.evil.clean", str(trap.spring))
    trap.config("diff.evil.textconv", str(trap.spring))
    trap.plain = lambda: trap.plain_git("diff")


def _untracked_cache(trap: Trap) -> None:
    """Make an index with fsmonitor and untracked-cache extensions, and an fsmonitor program."""
    for option in ("--untracked-cache", "--fsmonitor", "--split-index"):
        trap.built.git("-c", "core.fsmonitor=true", "update-index", option)
    trap.config("core.untrackedCache", "true")
    trap.config("core.splitIndex", "true")
    trap.config("core.fsmonitor", str(trap.spring))
    trap.plain = lambda: trap.plain_git("status")


def _inner(kind: str) -> Callable[[Trap], None]:
    """Make a repository with traps inside the work tree, nested or as a submodule."""

    def lay(trap: Trap) -> None:
        inner = a_repository(trap.built.path / "inner")
        (commit,) = a_history(inner, {b"z": b"z\n"})
        inner.checkout()
        for key in ("core.fsmonitor", "core.sshCommand", "filter.evil.clean", "core.alternateRefsCommand"):
            inner.git("config", key, str(trap.spring))
        (inner.path / ".git" / "info" / "attributes").write_text("* filter=evil\n")
        (inner.path / "z").write_text("changed\n")
        if kind == "submodule":
            trap.built.git("update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
        trap.plain = lambda: trap.plain_git("-C", "inner", "status")

    return lay


def _links(trap: Trap) -> None:
    os.mkfifo(trap.pipe)
    (trap.built.path / "link").symlink_to(trap.pipe)
    (trap.built.path / "x").unlink()
    (trap.built.path / "x").symlink_to(trap.pipe)
    (trap.built.path / "folder").mkdir()
    (trap.built.path / "folder" / "link").symlink_to(trap.pipe.parent)
    trap.hidden_from_plain_git = "git follows no links of its own; this is for who reads the work tree"


def _option_like_names(trap: Trap) -> None:
    option, tag = f"--output={trap.marker}", f"-O{trap.marker}"
    files = {
        b"x": b"three\n",
        option.encode().replace(b"/", b"_"): b"1\n",
        b"-O": b"2\n",
        b"--upload-pack=touch x": b"3\n",
    }
    trap.commits.append(trap.built.commit(files, trap.commits[-1]))
    for ref in (f"refs/heads/{option}", f"refs/tags/{tag}", "refs/heads/--upload-pack=x"):
        trap.built.git("update-ref", ref.replace("//", "/"), trap.commits[-1])
    trap.plain = lambda: trap.plain_git("log", "-p", option)


def _git_file(trap: Trap) -> None:
    other = a_repository(trap.built.path.parent / "other")
    a_history(other, {b"secret": b"secret\n"})
    other.git("config", "core.fsmonitor", str(trap.spring))
    trap.stands_in = trap.built.path.parent / "standing"
    trap.stands_in.mkdir()
    (trap.stands_in / ".git").write_text(f"gitdir: {other.path}/.git\n")
    trap.refused = True
    trap.plain = lambda: trap.plain_git("status")


def _common_dir(trap: Trap) -> None:
    other = a_repository(trap.built.path.parent / "other")
    a_history(other, {b"secret": b"secret\n"})
    other.git("config", "core.fsmonitor", str(trap.spring))
    (trap.built.path / ".git" / "commondir").write_text(f"{other.path}/.git\n")
    trap.refused = True
    trap.plain = lambda: trap.plain_git("status")


def _work_tree(trap: Trap) -> None:
    trap.config("core.fsmonitor", str(trap.spring))
    trap.config("core.worktree", str(trap.built.path.parent))
    trap.refused = True
    trap.plain = lambda: trap.plain_git("status")


def _embedded(trap: Trap) -> None:
    """Make a bare repository among the files; git inside it uses its configuration."""
    inner = trap.built.path / "docs"
    trap.built.git("clone", "--quiet", "--bare", ".", str(inner))
    trap.stands_in = inner
    trap.built.git("-C", str(inner), "config", "diff.external", str(trap.spring))
    trap.plain = lambda: trap.plain_git("diff", "HEAD~1", "HEAD")


def _everything(trap: Trap) -> None:
    """Set every setting that can name a program."""
    for key in """core.fsmonitor core.editor core.pager core.sshCommand core.askPass core.gitProxy
        core.alternateRefsCommand sequence.editor gpg.program gpg.ssh.program gpg.x509.program diff.external
        diff.guitool difftool.x.cmd mergetool.x.cmd merge.evil.driver diff.evil.command diff.evil.textconv
        filter.evil.clean filter.evil.smudge filter.evil.process interactive.diffFilter credential.helper
        uploadpack.packObjectsHook gc.recentObjectsHook sendemail.smtpserver browser.x.cmd man.x.cmd
        trailer.x.command trailer.x.cmd tar.x.command remote.origin.uploadpack remote.origin.receivepack
        instaweb.httpd help.browser web.browser imap.tunnel""".split():
        trap.config(key, str(trap.spring))
    trap.config("log.showSignature", "true")
    trap.attributes("* diff=evil filter=evil merge=evil\n")
    trap.plain = lambda: trap.plain_git("status")


TRAPS: Mapping[str, Callable[[Trap], None]] = {
    "fsmonitor": _fsmonitor,
    "textconv": _textconv,
    "tracked-textconv": _tracked_textconv,
    "external-diff": _external_diff,
    "diff-command": _diff_command,
    "clean-filter": _filter("clean", "diff"),
    "smudge-filter": _filter("smudge", "checkout", "--force", "x"),
    "process-filter": _filter("process", "diff"),
    "promisor-ext": _promisor("ext::{spring} %S"),
    "promisor-ssh": _promisor("ssh://host.invalid/x", core__sshCommand="{spring}"),
    "promisor-proxy": _promisor("git://host.invalid/x", core__gitProxy="{spring}"),
    "promisor-upload-pack": _promisor("{path}", remote__origin__uploadpack="{spring}"),
    "hooks": _hooks,
    "hooks-elsewhere": _hooks_elsewhere,
    "pager": _pager,
    "signature": _signature,
    "aliases": _aliases,
    "credentials": _credentials,
    "alternate-refs": _alternate_refs,
    "trailers": _trailers,
    "reads-ignored-revisions": _reads("blame.ignoreRevsFile", "blame", "HEAD", "--", "x"),
    "reads-mail-map": _reads("mailmap.file", "blame", "HEAD", "--", "x"),
    "reads-attributes": _reads("core.attributesFile", "log", "-p"),
    "reads-excludes": _reads("core.excludesFile", "status"),
    "reads-order": _reads("diff.orderFile", "log", "-p"),
    "reads-linked-attributes": _linked_attributes,
    "reads-linked-excludes": _linked_excludes,
    "included": _included,
    "untracked-filter": _untracked_filter,
    "untracked-cache": _untracked_cache,
    "nested": _inner("nested"),
    "submodule": _inner("submodule"),
    "links": _links,
    "option-like-names": _option_like_names,
    "git-file": _git_file,
    "common-dir": _common_dir,
    "work-tree": _work_tree,
    "embedded": _embedded,
    "everything": _everything,
}


def _variable(*plain: str, **variables: str) -> Callable[[Trap], None]:
    def lay(trap: Trap) -> None:
        values = {"spring": trap.spring, "marker": trap.marker, "folder": trap.built.path.parent}
        trap.environment = {name: value.format(**values) for name, value in variables.items()}
        trap.plain = lambda: trap.plain_git(*plain)

    return lay


def _exec_path(trap: Trap) -> None:
    programs = trap.built.path.parent / "programs"
    programs.mkdir()
    for verb in "mine blame cat-file check-attr config diff-tree ls-files rev-list rev-parse".split():
        (programs / f"git-{verb}").symlink_to(trap.spring)
    trap.environment = {"GIT_EXEC_PATH": str(programs)}
    trap.plain = lambda: trap.plain_git("mine")


def _git_in_the_repository(trap: Trap) -> None:
    (trap.built.path / "git").symlink_to(trap.spring)
    trap.environment = {"PATH": os.pathsep.join((".", "", os.environ["PATH"]))}

    def plain() -> None:
        subprocess.run(("git", "version"), cwd=trap.path, env=os.environ | trap.environment, check=False)

    trap.plain = plain


def _another_repository(trap: Trap) -> None:
    other = a_repository(trap.built.path.parent / "other")
    a_history(other, {b"secret": b"secret\n"})
    other.git("config", "core.fsmonitor", str(trap.spring))
    trap.environment = {"GIT_DIR": f"{other.path}/.git", "GIT_WORK_TREE": str(other.path), "GIT_INDEX_FILE": "/nowhere"}
    trap.plain = lambda: trap.plain_git("status")


def _pager_variables(trap: Trap) -> None:
    trap.environment = dict.fromkeys(("GIT_PAGER", "PAGER", "LESSOPEN", "GIT_EDITOR", "EDITOR"), str(trap.spring))

    def plain() -> None:
        here, there = pty.openpty()
        environment = os.environ | trap.environment
        subprocess.run(
            ("git", "log"), cwd=trap.path, env=environment, stdout=there, stderr=there, timeout=30, check=False
        )
        os.close(here)
        os.close(there)

    trap.plain = plain


ENVIRONMENTS: Mapping[str, Callable[[Trap], None]] = {
    "GIT_DIR": _another_repository,
    "GIT_EXTERNAL_DIFF": _variable("diff", "HEAD~1", "HEAD", GIT_EXTERNAL_DIFF="{spring}"),
    "GIT_SSH_COMMAND": _variable("ls-remote", "ssh://h.invalid/x", GIT_SSH_COMMAND="{spring}"),
    "GIT_SSH": _variable("ls-remote", "ssh://h.invalid/x", GIT_SSH="{spring}"),
    "GIT_PROXY_COMMAND": _variable("ls-remote", "git://h.invalid/x", GIT_PROXY_COMMAND="{spring}"),
    "GIT_TRACE": _variable("log", GIT_TRACE="{marker}"),
    "GIT_TRACE_SETUP": _variable("log", GIT_TRACE_SETUP="{marker}"),
    "GIT_TRACE2_EVENT": _variable("log", GIT_TRACE2_EVENT="{marker}"),
    "GIT_TRACE_PACK_ACCESS": _variable("log", GIT_TRACE_PACK_ACCESS="{marker}", GIT_TRACE="{marker}"),
    "GIT_CONFIG_COUNT": _variable(
        "status", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="core.fsmonitor", GIT_CONFIG_VALUE_0="{spring}"
    ),
    "GIT_CONFIG_PARAMETERS": _variable("status", GIT_CONFIG_PARAMETERS="'core.fsmonitor'='{spring}'"),
    "GIT_EXEC_PATH": _exec_path,
    "PATH": _git_in_the_repository,
    "GIT_PAGER": _pager_variables,
}
