"""The built files of the pages, as they lie in this package."""

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

MEDIA = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
DIGITS = 12


@dataclass(frozen=True, slots=True)
class Asset:
    """One file; its path holds its digest, so that it may be kept for ever."""

    name: str
    path: str
    media: str
    data: bytes
    packed: bytes


@cache
def assets() -> dict[str, Asset]:
    """Every built file by its name."""
    found: dict[str, Asset] = {}
    for file in sorted(files("custody.server").joinpath("static").iterdir(), key=lambda file: file.name):
        media = MEDIA.get(file.name.rpartition(".")[2])
        if media is not None:
            data = file.read_bytes()
            path = f"/static/{sha256(data).hexdigest()[:DIGITS]}/{file.name}"
            found[file.name] = Asset(file.name, path, media, data, gzip.compress(data, 9, mtime=0))
    return found
