"""The key of a store: an Ed25519 key in SSH format beside it, made when the store is first named or shared."""

import os
from pathlib import Path

from custody.core.errors import StoreError
from custody.workspace.machine import open_atomic_file

KEY_FILE = "store_key"
PUBLIC_KEY_FILE = "store_key.pub"
PUBLIC_KEY_BYTES_MAX = 4096


def ensure_store_key(home: Path) -> str:
    """Return the public key of the store in ``home``; make the key pair if it is missing.

    Two processes at once get the same key: the first one to put it into place wins.
    """
    from custody.signing import derive_public_key  # most commands only read the public key

    try:
        if not (home / KEY_FILE).exists():
            _make_store_key(home)
        derived = derive_public_key(home / KEY_FILE)
    except OSError as error:
        raise StoreError(
            f"cannot make the store's key in '{home}': {error.strerror}", hint="check the owner of the folder"
        ) from error
    if read_store_public_key(home) != derived:
        with open_atomic_file(home / PUBLIC_KEY_FILE) as file:
            file.write(f"{derived}\n".encode())
    return derived


def read_store_public_key(home: Path | None) -> str | None:
    """Return the public key of the store in ``home``; None if it has none."""
    if home is None:
        return None
    try:
        with (home / PUBLIC_KEY_FILE).open("rb") as file:
            words = file.read(PUBLIC_KEY_BYTES_MAX).decode("ascii", "replace").split()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(
            f"cannot read '{home / PUBLIC_KEY_FILE}': {error.strerror}", hint="check the owner of the file"
        ) from error
    return " ".join(words[:2]) or None


def _make_store_key(home: Path) -> None:
    """Put a new private key into place, unless another process did meanwhile."""
    import tempfile

    from custody.signing import make_private_key

    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".store-key-", dir=home) as folder:
        made = Path(folder) / KEY_FILE
        make_private_key(made)
        with made.open("rb") as file:
            os.fsync(file.fileno())
        try:
            (home / KEY_FILE).hardlink_to(made)
        except FileExistsError:
            return
