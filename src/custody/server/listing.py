"""What every list gives: a page, and where the next one is."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from custody.server.app.tenancy_model import Scope
from custody.server.endpoints import PAGED, Answer, Call, Endpoint
from custody.server.wire.service import Page
from custody.workspace.workspace import Desk

Listing = Callable[[Desk, str | None, int], Page]


def listing(what: str, words: str, pages: Listing, kind: Any) -> Endpoint:
    """The endpoint that lists things of one kind."""

    async def show(call: Call) -> Answer:
        after, limit = call.page()
        page = await call.ask(lambda desk: pages(desk, after, limit))
        if page.next is None:
            return Answer.of(page)
        following = urlencode({"after": page.next, "limit": limit})
        return Answer.of(page, link=f'<{call.path}?{following}>; rel="next"')

    return Endpoint(
        method="GET",
        path=f"/api/v1/{what}",
        name=f"list-{what}",
        words=words,
        scope=Scope.READ,
        handle=show,
        gives={200: kind},
        parameters=PAGED,
    )
