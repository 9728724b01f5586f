"""The team's stores and reviewers, as ``custody.toml`` of a base branch lists them.

[stores]
ana-laptop = { id = "0f…", key = "ssh-ed25519 AAAA…" }
service = { id = "7c…", key = "ssh-ed25519 AAAA…", role = "witness" }

[reviewers]
ana = { key = "sk-ssh-ed25519@openssh.com AAAA…", accounts = ["ana@example.com", "github:ana"] }
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from custody.core.errors import InputError
from custody.core.identity import normalize_identity
from custody.core.ids import StoreId

TEAM_FILE = "custody.toml"
STORES, REVIEWERS = "stores", "reviewers"
TEAM_TABLES = frozenset((STORES, REVIEWERS))
"""The tables of ``custody.toml`` that are not rules."""
MEMBERS_MAX = 1000
PRESENCE_PREFIX = "sk-"
"""The prefix of keys on a device that asks for a touch: they prove that a person was present."""

PublicKey = Annotated[
    str,
    Meta(
        max_length=2000,
        pattern=r"^(sk-)?(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521))(@openssh\.com)? [A-Za-z0-9+/]+={0,3}$(?!\n)",
    ),
]
"""A public SSH key: type and base64, without a comment."""
EnrolledStoreText = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)")]
AccountText = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)")]


class TeamStore(Struct, frozen=True, forbid_unknown_fields=True):
    """A store that the team enrolled: its id and public key.

    A ``witness`` is a store whose owner reports what a second party did, such as the team's service.
    """

    id: EnrolledStoreText
    key: PublicKey
    role: Literal["member", "witness"] = "member"
    expires: date | None = None

    @property
    def store(self) -> StoreId:
        """Return its id."""
        return StoreId(self.id)


class TeamReviewer(Struct, frozen=True, forbid_unknown_fields=True):
    """A person whose reviews count: the public key of their signatures, and their accounts and email addresses."""

    key: PublicKey | None = None
    accounts: Annotated[tuple[AccountText, ...], Meta(max_length=100)] = ()
    expires: date | None = None

    @property
    def proves_presence(self) -> bool:
        """Return whether a signature by the key needs a person at the device."""
        return self.key is not None and self.key.startswith(PRESENCE_PREFIX)


class TeamPolicy(Struct, frozen=True):
    """The stores and reviewers of a team by name; without any, no store is enrolled and no person can witness."""

    stores: Mapping[str, TeamStore] = {}
    reviewers: Mapping[str, TeamReviewer] = {}

    def find_store(self, store: str, now_ns: int) -> TeamStore | None:
        """Return the enrolment of a store; None if it has none or it expired."""
        listed = [member for member in self.stores.values() if member.id == store]
        return next((member for member in listed if not _has_expired(member.expires, now_ns)), None)

    def find_reviewers(self, name: str, now_ns: int) -> dict[str, TeamReviewer]:
        """Return the reviewers with this name, account or email address, compared case-folded and normalized."""
        wanted = normalize_identity(name)
        return {
            reviewer_name: reviewer
            for reviewer_name, reviewer in self.reviewers.items()
            if wanted in {normalize_identity(text) for text in (reviewer_name, *reviewer.accounts)}
            and not _has_expired(reviewer.expires, now_ns)
        }


def parse_team_policy(tables: Mapping[str, object], file: str = TEAM_FILE) -> TeamPolicy:
    """Return the policy in the tables of a file; raise ``InputError`` for an invalid one.

    >>> parse_team_policy({"gate": {}}).stores
    {}
    """
    values = {name: tables[name] for name in sorted(TEAM_TABLES & set(tables))}
    try:
        policy = msgspec.convert(values, TeamPolicy)
    except msgspec.ValidationError as error:
        raise InputError(
            f"invalid [{STORES}] or [{REVIEWERS}] in '{file}': {error}",
            hint="'custody store' prints the line of a store; docs/team.md has an example",
        ) from error
    _check_unique_members(policy, file)
    return policy


def _check_unique_members(policy: TeamPolicy, file: str) -> None:
    """Refuse a store that is listed twice: two keys for one chain leave open whose records it holds."""
    ids = [store.id for store in policy.stores.values()]
    if len(set(ids)) < len(ids):
        raise InputError(f"'{file}' lists a store twice", hint="keep one entry for each store in [stores]")
    if max(len(policy.stores), len(policy.reviewers)) > MEMBERS_MAX:
        raise InputError(f"'{file}' lists more than {MEMBERS_MAX} stores or reviewers", hint="remove old ones")


def _has_expired(expires: date | None, now_ns: int) -> bool:
    return expires is not None and datetime.fromtimestamp(now_ns // 1_000_000_000, UTC).date() > expires
