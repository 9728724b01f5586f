"""Link checks against a real server on loopback that plays the web, under the real policy."""

import asyncio
from collections.abc import Sequence
from typing import Any

from custody.cite.links import LinkOutcome
from custody.cite.rules import CiteRules
from custody.cite.web import LinkChecker, check_links_concurrently, create_link_client
from tests.builders.stores import NOON
from tests.builders.web import Names, Web, names

QUICK = CiteRules(link_read_seconds=5, link_total_seconds=5)


def looked(
    web: Web, *urls: str, rules: CiteRules = QUICK, resolver: Names | None = None, **more: Any
) -> list[LinkOutcome]:
    """Return the result for each URL, in order."""
    found: list[LinkOutcome] = []
    asyncio.run(_look(web, urls, found, rules, names() if resolver is None else resolver, more))
    return sorted(found, key=lambda one: urls.index(one.url))


async def _look(
    web: Web, urls: Sequence[str], found: list[LinkOutcome], rules: CiteRules, resolver: Names, more: dict[str, Any]
) -> None:
    through = {name: more.pop(name) for name in ("policy", "tls", "dial") if name in more}
    client = create_link_client(rules, resolver=resolver, **{"dial": web.dial, **through})
    policy = {"policy": through["policy"]} if "policy" in through else {}
    async with client:
        checker = LinkChecker(client=client, now_ns=lambda: NOON, rules=rules, **policy, **more)
        await check_links_concurrently(checker, urls, found.append)
