"""The adapter to the web, for link checks only.

It may use the name service and HTTP, to public addresses only, and only on request. It sends exactly what
``docs/cite-links.md`` lists, reads no body, and takes no proxy, cookie, password or setting
from the environment. It reads no files but the system's certificates.
"""

from custody.cite.web.request import LinkChecker, check_links_concurrently, gather_link_calls, run_link_checks
from custody.cite.web.transport import Dial, ForbiddenUrl, NoSuchName, Resolver, create_link_client

__all__ = [
    "Dial",
    "ForbiddenUrl",
    "LinkChecker",
    "NoSuchName",
    "Resolver",
    "check_links_concurrently",
    "create_link_client",
    "gather_link_calls",
    "run_link_checks",
]
