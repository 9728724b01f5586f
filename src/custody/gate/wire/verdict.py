"""What ``custody verify --verdict`` answers: whose a verdict is, and whether it follows again from what it names."""

from typing import Literal

import msgspec

from custody.core.wire.report import IntegrityFinding, Report
from custody.gate.wire.report import VerdictLevelName


class SignatureReport(msgspec.Struct, frozen=True, kw_only=True):
    """The signature of a verdict: ``none``, ``named`` where it is of a signer that was allowed, else ``unnamed``.

    ``wrong`` is one that does not fit. ``keyid`` is the fingerprint of the key, ``signer`` whose it is said to be.
    """

    state: Literal["none", "named", "unnamed", "wrong"]
    keyid: str | None = None
    signer: str | None = None


class VerdictReport(Report, frozen=True, kw_only=True, tag="verify-verdict"):
    """Whether a verdict is whole and signed, and whether judging its change again on the same records gives the same.

    ``again`` is ``not`` where that could not be done; ``findings`` say why. ``unseen`` counts records that are here,
    claim no later moment than ``as_of``, and are none that it rests on; null where nobody could count. ``home`` is the
    chain at whose store it comes out so: records that were imported count for less, and here all of them were.
    """

    form: Literal["report", "statement", "envelope"]
    base: str
    head: str
    level: VerdictLevelName
    as_of: str
    rules_digest: str
    chain_head: str | None
    signature: SignatureReport
    again: Literal["identical", "differs", "not"]
    unseen: int | None
    home: str | None
    findings: list[IntegrityFinding]
