"""A verdict for others: an in-toto statement, in an envelope that is signed where the user names a key."""

from pathlib import Path

from custody.gate.signing import sign
from custody.gate.wire.report import GateReport
from custody.gate.wire.statement import encode_envelope, encode_statement, pae

NAMESPACE = "custody"
"""What signatures are made for: one that was made for something else, such as a commit, does not count here."""


def stated(report: GateReport, key: Path | None = None) -> bytes:
    """The statement of a verdict, signed with the private SSH key in a file if there is one."""
    statement = encode_statement(report)
    if key is None:
        return statement + b"\n"
    return encode_envelope(statement, sign(pae(statement), key, NAMESPACE)) + b"\n"
