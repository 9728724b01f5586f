"""SSH keys on a device, as software: their signatures say whether a person touched the device."""

import base64
import hashlib
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

KIND = b"sk-ssh-ed25519@openssh.com"
APPLICATION = b"ssh:"
TOUCHED = 1


@dataclass(frozen=True)
class DeviceKey:
    """A key that ``ssh-keygen`` can verify, in the formats of OpenSSH's PROTOCOL.u2f and PROTOCOL.sshsig."""

    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public(self) -> str:
        """Return its line in a policy."""
        return f"{KIND.decode()} {base64.b64encode(self._blob).decode()}"

    def sign(self, message: bytes, namespace: str, *, flags: int = TOUCHED) -> str:
        """Return the SSH signature of a message."""
        parts = (namespace.encode(), b"", b"sha512")
        signed = b"SSHSIG" + b"".join(map(_string, (*parts, hashlib.sha512(message).digest())))
        tail = bytes([flags]) + (7).to_bytes(4, "big")
        made = self.private.sign(hashlib.sha256(APPLICATION).digest() + tail + hashlib.sha256(signed).digest())
        signature = _string(KIND) + _string(made) + tail
        fields = b"".join(map(_string, (self._blob, *parts, signature)))
        text = base64.b64encode(b"SSHSIG" + (1).to_bytes(4, "big") + fields).decode()
        lines = "\n".join(text[start : start + 70] for start in range(0, len(text), 70))
        return f"-----BEGIN SSH SIGNATURE-----\n{lines}\n-----END SSH SIGNATURE-----\n"

    @property
    def _blob(self) -> bytes:
        raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return b"".join(map(_string, (KIND, raw, APPLICATION)))


def _string(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
