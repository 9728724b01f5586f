"""Keys of people: on a device that asks for a touch, made in software, and ordinary ones."""

import base64
import hashlib
import struct
import textwrap
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TYPE = b"sk-ssh-ed25519@openssh.com"
PLAIN_TYPE = b"ssh-ed25519"
APPLICATION = b"ssh:"
TOUCHED = 1


@dataclass(frozen=True)
class PersonKey:
    """An Ed25519 key with signatures as of ``ssh-keygen -Y sign``; ``on_device`` as by a FIDO token with a touch."""

    on_device: bool = True
    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public(self) -> str:
        """Return the key as type and base64."""
        return f"{self._type.decode()} {base64.b64encode(self._blob).decode()}"

    def sign(self, message: bytes, namespace: str = "custody-decision") -> str:
        """Return the armored SSH signature of a message."""
        name = namespace.encode()
        to_sign = b"SSHSIG" + b"".join(map(_string, (name, b"", b"sha512", hashlib.sha512(message).digest())))
        blob = b"SSHSIG" + struct.pack(">I", 1)
        blob += b"".join(map(_string, (self._blob, name, b"", b"sha512", self._sign_raw(to_sign))))
        lines = textwrap.wrap(base64.b64encode(blob).decode(), 70)
        return "\n".join(("-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""))

    @property
    def _type(self) -> bytes:
        return TYPE if self.on_device else PLAIN_TYPE

    @property
    def _blob(self) -> bytes:
        parts = [self._type, self.private.public_key().public_bytes_raw()]
        return b"".join(map(_string, [*parts, APPLICATION] if self.on_device else parts))

    def _sign_raw(self, data: bytes) -> bytes:
        if not self.on_device:
            return _string(self._type) + _string(self.private.sign(data))
        tail = struct.pack(">BI", TOUCHED, 1)
        signed = hashlib.sha256(APPLICATION).digest() + tail + hashlib.sha256(data).digest()
        return _string(self._type) + _string(self.private.sign(signed)) + tail


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
