"""What every list gives: a page, and where the next one is."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import PAGED, Endpoint, EndpointCall, HttpAnswer
from custody.server.wire.service import ListPage
from custody.workspace.workspace import Workspace

PageLister = Callable[[Workspace, str | None, int], ListPage]


def make_list_endpoint(what: str, words: str, pages: PageLister, kind: Any) -> Endpoint:
    """The endpoint that lists things of one kind."""

    async def show(call: EndpointCall) -> HttpAnswer:
        after, limit = call.page()
        page = await call.ask(lambda workspace: pages(workspace, after, limit))
        if page.next is None:
            return HttpAnswer.of(page)
        following = urlencode({"after": page.next, "limit": limit})
        return HttpAnswer.of(page, link=f'<{call.path}?{following}>; rel="next"')

    return Endpoint(
        method="GET",
        path=f"/api/v1/{what}",
        name=f"list-{what}",
        words=words,
        scope=TokenScope.READ,
        handle=show,
        gives={200: kind},
        parameters=PAGED,
    )
