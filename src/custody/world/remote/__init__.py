"""The door to services that the user named: their addresses and tokens, and the HTTP client that speaks to them.

May touch: the user's own file of remotes, and by HTTPS (plain HTTP on this machine only) the addresses in it. Nothing
that a repository holds can name such an address. A token is never part of a message or of a log.
"""

from custody.world.remote.book import NamedRemote, RemoteBook
from custody.world.remote.client import Refused, RemoteService

__all__ = ["NamedRemote", "Refused", "RemoteBook", "RemoteService"]
