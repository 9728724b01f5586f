"""The adapter of ``ssh-keygen``: signatures by a key that the user named, and their verification.

May start ``ssh-keygen``, write a private temporary folder while it runs, and read the key files passed in. It never
prompts for a passphrase, and uses neither ssh-agent nor the user's own SSH files.
"""

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError, WorldError

# ``ssh-keygen -Y`` runs without a shell, with a small environment, a time limit and a folder of its own.


PROGRAM = "ssh-keygen"
SECONDS_MAX = 60.0
"""A key on a device may wait for a touch."""
MESSAGE_CHARACTERS_MAX = 300
PUBLIC_KEY_WORDS = 2
"""The words of a public key that identify it: type and base64; a comment may follow."""
ONE_KEY = "key"
"""The principal of a key that was passed without a name."""


_PREAMBLE_BYTES = len(b"SSHSIG") + 4
"""Magic bytes and version of a signature."""
_LENGTH_BYTES = 4
_FLAGS_BYTES = 1 + 4
"""Flags and counter at the end of a signature by a device."""
_USER_PRESENT = 1


class SigningError(WorldError):
    """``ssh-keygen`` is missing or failed."""


class _KeygenResult(Struct, frozen=True):
    """The output of the program, its message, and whether it succeeded."""

    out: bytes
    message: str
    is_success: bool


def sign_message(message: bytes, key: Path, namespace: str) -> str:
    """Return the SSH signature of ``message`` by the private key in a file; it must have no passphrase."""
    path = key.absolute()
    if not path.is_file():
        raise InputError(f"cannot find the key '{key}'", hint="pass the file of a private SSH key")
    with _open_signing_folder() as folder:
        result = _run_ssh_keygen(folder, message, "-Y", "sign", "-n", namespace, "-f", str(path))
    if not result.is_success:
        raise InputError(
            f"cannot sign with '{key}': {result.message}",
            hint="use a private key without a passphrase that only its owner can read, such as from"
            " 'ssh-keygen -t ed25519 -N \"\" -f FILE'",
        )
    return result.out.decode("ascii", "replace")


def make_private_key(file: Path) -> None:
    """Write a new Ed25519 key without a passphrase to ``file``, which must not exist; only its owner can read it."""
    with _open_signing_folder() as folder:
        result = _run_ssh_keygen(folder, b"", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(file.absolute()))
    if not result.is_success:
        raise SigningError(f"cannot make a key in '{file}': {result.message}", hint="check the owner of the folder")


def derive_public_key(key: Path) -> str:
    """Return the type and base64 of the public key of the private key in a file."""
    with _open_signing_folder() as folder:
        result = _run_ssh_keygen(folder, b"", "-y", "-P", "", "-f", str(key.absolute()))
    words = result.out.decode("ascii", "replace").split()
    if not result.is_success or len(words) < PUBLIC_KEY_WORDS:
        raise InputError(
            f"cannot read the key '{key}': {result.message}",
            hint="it must be a private SSH key without a passphrase that only its owner can read",
        )
    return " ".join(words[:PUBLIC_KEY_WORDS])


def find_signature_fault(message: bytes, signature: str, namespace: str) -> str | None:
    """Return what is wrong with a signature of ``message`` by any key; None if it is valid."""
    with _open_signing_folder() as folder:
        (folder / "sig").write_text(signature)
        result = _run_ssh_keygen(folder, message, "-Y", "check-novalidate", "-n", namespace, "-s", "sig")
    return None if result.is_success else result.message


def find_signer(message: bytes, signature: str, namespace: str, allowed: bytes) -> str | None:
    """Return the first of the ``allowed`` signers that made this valid signature of ``message``; None if none did."""
    with _open_signing_folder() as folder:
        (folder / "sig").write_text(signature)
        (folder / "allowed").write_bytes(allowed)
        principals = _run_ssh_keygen(folder, b"", "-Y", "find-principals", "-s", "sig", "-f", "allowed")
        for name in principals.out.decode("utf-8", "surrogateescape").splitlines() if principals.is_success else ():
            arguments = ("-Y", "verify", "-n", namespace, "-s", "sig", "-f", "allowed", "-I", name)
            if _run_ssh_keygen(folder, message, *arguments).is_success:
                return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return None


def allowed_signers_from_key(line: str) -> bytes:
    """Return the list of allowed signers for one public key, written as type and base64."""
    return f"{ONE_KEY} {line}\n".encode()


def has_presence_flag(signature: str) -> bool:
    """Return whether the device that made a signature says that a person touched it; False for other keys.

    ``ssh-keygen`` accepts signatures that a device made without a touch. Its format is in OpenSSH's PROTOCOL.sshsig
    and PROTOCOL.u2f: a signature by a key on a device ends with its flags and a counter.
    """
    try:
        blob = base64.b64decode("".join(signature.strip().splitlines()[1:-1]), validate=True)
        made = _split_ssh_strings(blob[_PREAMBLE_BYTES:])[-1]
        kind, flags = _split_ssh_strings(made[:-_FLAGS_BYTES])[0], made[-_FLAGS_BYTES]
    except (ValueError, IndexError):
        return False
    return kind.startswith(b"sk-") and bool(flags & _USER_PRESENT)


def _split_ssh_strings(blob: bytes) -> list[bytes]:
    """Split strings that are each preceded by their length in 4 bytes; a ``ValueError`` for anything else."""
    strings = []
    while blob:
        end = _LENGTH_BYTES + int.from_bytes(blob[:_LENGTH_BYTES], "big")
        if len(blob) < max(end, _LENGTH_BYTES):
            raise ValueError
        strings.append(blob[_LENGTH_BYTES:end])
        blob = blob[end:]
    return strings


@contextmanager
def _open_signing_folder() -> Iterator[Path]:
    """Yield a private folder that is deleted afterwards."""
    try:
        import tempfile  # only signatures need it, and it loads much

        with tempfile.TemporaryDirectory(prefix="custody-sign-") as name:
            yield Path(name)
    except OSError as error:
        raise SigningError(f"cannot use a temporary folder: {error.strerror}", hint="free disk space") from error


def _run_ssh_keygen(folder: Path, stdin: bytes, *arguments: str) -> _KeygenResult:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": str(folder),
        "SSH_ASKPASS_REQUIRE": "never",
    }
    try:
        process = subprocess.run(
            [_find_ssh_keygen(environment["PATH"]), *arguments],
            input=stdin,
            capture_output=True,
            cwd=folder,
            env=environment,
            timeout=SECONDS_MAX,
            start_new_session=True,  # without a terminal it cannot prompt for a passphrase
            check=False,
        )
    except OSError as error:
        raise SigningError(f"cannot start '{PROGRAM}': {error.strerror}", hint="try 'ssh-keygen -h'") from error
    except subprocess.TimeoutExpired as error:
        raise SigningError(
            f"'{PROGRAM}' took longer than {SECONDS_MAX:.0f} seconds", hint="check whether the key waits for a touch"
        ) from error
    output = (process.stderr or process.stdout).decode("utf-8", "replace").split("\n")
    message = "; ".join(line.strip() for line in output if line.strip(" @\r\t"))[:MESSAGE_CHARACTERS_MAX]
    return _KeygenResult(process.stdout, message or "it printed no message", process.returncode == 0)


def _find_ssh_keygen(search_path: str) -> str:
    """Return the path of the program; relative entries are skipped, they could be folders of the repository."""
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, PROGRAM)
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise SigningError(f"'{PROGRAM}' is not installed", hint="install OpenSSH; custody uses it for signatures")
