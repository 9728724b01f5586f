"""All attacks by name."""

from tests.attacks import (
    authorship,
    budget,
    combined,
    decisions,
    other_agents,
    policy,
    reading,
    records,
    rejected,
    remote,
    revisions,
    service,
    signatures,
    team_files,
    verdicts,
)
from tests.attacks.model import Attack

MODULES = (
    *(decisions, signatures, rejected, authorship, other_agents, budget, policy, team_files, records, verdicts),
    *(revisions, combined, remote, service, reading),
)
_ALL = [attack for module in MODULES for attack in module.BOOK.attacks]
ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _ALL}
assert len(ATTACKS) == len(_ALL), "two attacks have one name"
