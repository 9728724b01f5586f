"""Where lines come from in chains that came here without their texts, as their own stores worked it out.

What came is kept as bodies, so that ``verify`` checks every byte; a setting names the list of them.
"""

from collections.abc import Mapping

from custody.core.digest import digest_of
from custody.core.ids import Digest, StoreId
from custody.core.paths import RepoPath
from custody.core.wire.body import digest_from, digest_text
from custody.core.wire.canonical import dump, parse
from custody.store import DamagedStoreError, Store
from custody.store.codec import BODY_BYTES_MAX

SETTING = "origins:"
"""How the names of settings begin that name a chain's list of origins."""


class OriginTables:
    """The origins of lines that other stores sent, by chain and file."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    def lists(self) -> dict[StoreId, Digest]:
        """The chains of which origins came, each with the digest of its list."""
        rows = self._db.rows("SELECT name, value FROM setting WHERE name LIKE ? ORDER BY name", (f"{SETTING}%",))
        return {StoreId(str(name).removeprefix(SETTING)): digest_from(str(value)) for name, value in rows}

    def files(self, store: StoreId) -> dict[RepoPath, Digest]:
        """The files of which a chain's origins tell; none of a chain without any."""
        listed = self.lists().get(store)
        told = None if listed is None else parse(self._body(listed), bytes_max=BODY_BYTES_MAX)
        pairs = told.items() if isinstance(told, dict) else ()
        return {RepoPath.of(path): digest_from(str(digest)) for path, digest in pairs}

    def read(self, digest: Digest) -> bytes:
        """What came of one file."""
        return self._body(digest)

    def differ(self, store: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
        """Whether these are other origins of a chain than are here."""
        return self.lists().get(store) != digest_of(_listed(files))

    def put(self, store: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
        """Inside a write: keep these origins of a chain and let those go that were there; False when they are same."""
        listed = _listed(files)
        name = digest_of(listed)
        if self.lists().get(store) == name:
            return False
        gone = self._forgotten(store) - {digest_of(data) for data in files.values()}
        for data in (listed, *files.values()):
            self._tables.put_body(digest_of(data), data)
        self._drop(gone)
        self._db.run("INSERT INTO setting (name, value) VALUES (?, ?)", (f"{SETTING}{store}", digest_text(name)))
        return True

    def drop(self, store: StoreId) -> None:
        """Inside a write: forget the origins of a chain; its texts are here now."""
        self._drop(self._forgotten(store))

    def _forgotten(self, store: StoreId) -> set[Digest]:
        """Take away the list of a chain; the bodies that nothing may need any more."""
        listed = self.lists().get(store)
        if listed is None:
            return set()
        gone = {listed, *self.files(store).values()}
        self._db.run("DELETE FROM setting WHERE name = ?", (f"{SETTING}{store}",))
        return gone

    def _drop(self, digests: set[Digest]) -> None:
        # The role of a team's service may take no bytes away: there they stay, and nothing names them any more.
        if self._db.place and self._db.rows("SELECT 1 WHERE NOT has_table_privilege('body', 'DELETE')"):
            return
        lists = self.lists()
        needed = {*lists.values(), *(digest for store in lists for digest in self.files(store).values())}
        for digest in sorted(digests - needed):
            if not self._tables.records_holding(digest):  # a captured text may have the same bytes, such as '{}'
                self._db.run("DELETE FROM body WHERE digest = ?", (digest,))

    def _body(self, digest: Digest) -> bytes:
        body = self._tables.bodies([digest]).get(digest)
        if body is None or body.data is None:
            raise DamagedStoreError("the origins of a chain are gone", hint="run 'custody verify', then 'custody pull'")
        return body.data


def _listed(files: Mapping[RepoPath, bytes]) -> bytes:
    """The list of these files: each path with the digest of what is told of it."""
    return dump({str(path): digest_text(digest_of(data)) for path, data in files.items()})
