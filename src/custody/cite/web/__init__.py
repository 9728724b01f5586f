"""The door to the web, for one purpose: to see whether the addresses of sources still answer.

May touch: the name service and the network, by HTTP to public addresses only. It is opened when somebody asks for it,
sends what ``docs/cite-links.md`` lists and nothing else, reads no body, and takes no proxy, cookie, password or setting
from the environment. It touches no file but the system's certificates.
"""

from custody.cite.web.request import LinkChecker, gather_calls, look_at, look_at_all
from custody.cite.web.transport import Dial, ForbiddenUrl, NoSuchName, Resolver, guarded_client

__all__ = [
    "Dial",
    "ForbiddenUrl",
    "LinkChecker",
    "NoSuchName",
    "Resolver",
    "gather_calls",
    "guarded_client",
    "look_at",
    "look_at_all",
]
