"""OpenSSH's signature of a text, as far as one needs to read it: that it is one, and which key made it.

Whether it fits the text is ``ssh-keygen``'s to say. What is read here must be in the one form that OpenSSH writes, so
that no byte of it can be another one unnoticed.
"""

import base64
import binascii
import hashlib
import re
import struct

from custody.core.errors import InputError

BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
MAGIC = b"SSHSIG"
LINE_SIGNS = 70
BYTES_MAX = 64 * 1024
_PUBLIC = re.compile(r"((?:ssh|ecdsa|sk)-[a-z0-9@.-]{1,60})[ \t]+([A-Za-z0-9+/]{40,20000}={0,2})(?:[ \t].*)?")


def public_key_of(armored: str) -> bytes:
    """The public key inside a signature, or an ``InputError`` when it is none or not as OpenSSH writes it."""
    if len(armored) > BYTES_MAX:
        raise _no_signature()
    lines = armored.removesuffix("\n").split("\n")
    blob = strict_base64("".join(lines[1:-1]))
    if armored != _armored(blob) or not blob.startswith(MAGIC + b"\0\0\0\1"):
        raise _no_signature()
    return _text(blob, len(MAGIC) + 4)


def fingerprint(key: bytes) -> str:
    """The name of a key, as ``ssh-keygen -l`` prints it.

    >>> fingerprint(b"")
    'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU'
    """
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def public_line(text: str) -> str:
    """The type and the bytes of the one public key in a file such as ``id_ed25519.pub``."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = _PUBLIC.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None:
        raise InputError("not a public SSH key", hint="name the file that ends in .pub")
    return f"{found[1]} {found[2]}"


def strict_base64(text: str) -> bytes:
    """The bytes of a base64 text that has one form only."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError) as error:
        raise InputError("not base64", hint="the file was changed or cut short") from error
    if base64.b64encode(data).decode() != text:
        raise InputError("not base64 as it is written", hint="the file was changed")
    return data


def _armored(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + LINE_SIGNS] for at in range(0, len(text), LINE_SIGNS)]
    return "\n".join([BEGIN, *lines, END, ""])


def _text(blob: bytes, at: int) -> bytes:
    """The bytes behind a length."""
    if len(blob) < at + 4:
        raise _no_signature()
    (length,) = struct.unpack_from(">I", blob, at)
    if len(blob) < at + 4 + length:
        raise _no_signature()
    return blob[at + 4 : at + 4 + length]


def _no_signature() -> InputError:
    return InputError("not an SSH signature as OpenSSH writes it", hint="the file was changed or cut short")
