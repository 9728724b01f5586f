"""The door to ``ssh-keygen``: sign bytes with a key that the user named, and check such a signature.

May touch: it starts ``ssh-keygen``, and nothing else; it writes a private temporary folder while that runs, and reads
the key files that it is handed. It asks nobody for a passphrase, knows no agent of keys and no file of the user's own.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError, WorldError

# ``ssh-keygen -Y``: no shell, a small environment, a time limit, a folder of its own.


PROGRAM = "ssh-keygen"
SECONDS_MAX = 60.0
"""A key on a device may want to be touched."""
WORDS_MAX = 300
ONE_KEY = "key"
"""Whom a key speaks for that was named without a name."""


class SigningError(WorldError):
    """``ssh-keygen`` is not there, or did not do its part."""


@dataclass(frozen=True, slots=True)
class _KeygenResult:
    """What the program said, and whether it went well."""

    out: bytes
    words: str
    is_well: bool


def sign(message: bytes, key: Path, namespace: str) -> str:
    """The SSH signature of ``message`` by the private key in a file; one with a passphrase cannot be used."""
    path = key.absolute()
    if not path.is_file():
        raise InputError(f"there is no key '{key}'", hint="name the file of a private SSH key")
    with _folder() as folder:
        done = _run(folder, message, "-Y", "sign", "-n", namespace, "-f", str(path))
    if not done.is_well:
        raise InputError(
            f"cannot sign with '{key}': {done.words}",
            hint="give a private key without a passphrase that only its owner may read, such as one made with"
            " 'ssh-keygen -t ed25519 -N \"\" -f FILE'",
        )
    return done.out.decode("ascii", "replace")


def why_wrong(message: bytes, signature: str, namespace: str) -> str | None:
    """What is wrong with a signature of ``message``, whosever it is; None when it is right."""
    with _folder() as folder:
        (folder / "sig").write_text(signature)
        done = _run(folder, message, "-Y", "check-novalidate", "-n", namespace, "-s", "sig")
    return None if done.is_well else done.words


def signer_of(message: bytes, signature: str, namespace: str, allowed: bytes) -> str | None:
    """The first of the ``allowed`` signers whose right signature of ``message`` it is; None when it is nobody's."""
    with _folder() as folder:
        (folder / "sig").write_text(signature)
        (folder / "allowed").write_bytes(allowed)
        found = _run(folder, b"", "-Y", "find-principals", "-s", "sig", "-f", "allowed")
        for name in found.out.decode("utf-8", "surrogateescape").splitlines() if found.is_well else ():
            words = ("-Y", "verify", "-n", namespace, "-s", "sig", "-f", "allowed", "-I", name)
            if _run(folder, message, *words).is_well:
                return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return None


def allowed_key(line: str) -> bytes:
    """The list of allowed signers with one public key, given as its type and its bytes."""
    return f"{ONE_KEY} {line}\n".encode()


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that only its owner may enter, gone afterwards."""
    try:
        with tempfile.TemporaryDirectory(prefix="custody-sign-") as name:
            yield Path(name)
    except OSError as error:
        raise SigningError(f"cannot use a temporary folder: {error.strerror}", hint="free space") from error


def _run(folder: Path, feed: bytes, *words: str) -> _KeygenResult:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": str(folder),
        "SSH_ASKPASS_REQUIRE": "never",
    }
    try:
        done = subprocess.run(
            [_program(environment["PATH"]), *words],
            input=feed,
            capture_output=True,
            cwd=folder,
            env=environment,
            timeout=SECONDS_MAX,
            start_new_session=True,  # without a terminal nobody is asked for a passphrase
            check=False,
        )
    except OSError as error:
        raise SigningError(f"cannot start '{PROGRAM}': {error.strerror}", hint="try 'ssh-keygen -h'") from error
    except subprocess.TimeoutExpired as error:
        raise SigningError(
            f"'{PROGRAM}' took longer than {SECONDS_MAX:.0f} seconds", hint="does the key wait for a touch?"
        ) from error
    said = (done.stderr or done.stdout).decode("utf-8", "replace").split("\n")
    lines = [line.strip() for line in said if line.strip(" @\r\t")]
    return _KeygenResult(done.stdout, "; ".join(lines)[:WORDS_MAX] or "it says nothing", done.returncode == 0)


def _program(search_path: str) -> str:
    """Where the program is; a relative entry is passed over: it could be a folder of the repository."""
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, PROGRAM)
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise SigningError(f"'{PROGRAM}' is not installed", hint="install OpenSSH; it makes and checks the signatures")
