"""How far a statement that a person read a hunk can be believed.

A read by an author, an operator or an agent of the change is shown, but does not count as a review.
"""

from custody.core.assurance import Assurance
from custody.core.identity import list_identities
from custody.core.views import HunkRead
from custody.store import ObservedView
from custody.trust.app.decision_assurance import DecisionPolicy

EVENT_PREFIX = "people-"
"""The prefix of the event names of reads that custody's own verbs recorded; no input can choose it."""


def rate_hunk_read(read: ObservedView[HunkRead], policy: DecisionPolicy, involved: frozenset[str]) -> Assurance:
    """Return the assurance of a read; ``involved`` are the identities of those who wrote or committed the change.

    Only a code host's statement is witnessed: in a chain of a witness that the policy lists, about a second person.
    """
    record, view, ratings = read.record, read.view, policy.ratings
    if not record.entry.event.startswith(EVENT_PREFIX):
        return Assurance.SELF_REPORTED  # any program can send a generic event
    chain = ratings.rate_chain(record.store)
    if record.store not in ratings.witnesses:
        return chain
    if view.witness is None or view.witness.kind != "host":
        return Assurance.SELF_REPORTED  # the service knows the token, not who holds it
    is_second = view.witness.by == view.person and not is_involved(view.person, policy, view.at_ns, involved)
    return Assurance.WITNESSED if is_second else Assurance.SELF_REPORTED


def is_involved(person: str, policy: DecisionPolicy, at_ns: int, involved: frozenset[str]) -> bool:
    """Return whether a person, by any name or account that the policy lists for them, took part in a change."""
    listed = policy.team.find_reviewers(person, at_ns)
    accounts = [account for reviewer in listed.values() for account in reviewer.accounts]
    return bool(list_identities((person, *listed, *accounts)) & involved)
