"""The door to ``ssh-keygen``: sign bytes with a key that the user named, and check such a signature.

May touch: it starts ``ssh-keygen``, and nothing else; it writes a private temporary folder while that runs, and reads
the key files that it is handed. It asks nobody for a passphrase, knows no agent of keys and no file of the user's own.
"""

from custody.gate.signing.ssh import SigningError, allowed_key, sign, signer_of, why_wrong

__all__ = ["SigningError", "allowed_key", "sign", "signer_of", "why_wrong"]
