"""The door to services that the user named: their addresses and tokens, and the HTTP client that speaks to them.

May touch: the user's own file of remotes, and by HTTPS (plain HTTP on this machine only) the addresses in it. Nothing
that a repository holds can name such an address. A token is never part of a message or of a log.
"""

from custody.share.remote.client import RemoteService, ServiceRefusal
from custody.share.remote.service_book import NamedRemote, RemoteBook

__all__ = ["NamedRemote", "RemoteBook", "RemoteService", "ServiceRefusal"]
