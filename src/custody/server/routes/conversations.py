"""Conversations: sessions of agents and what was asked in them. Every read of their words is noted first."""

from custody.server.app import listing as pages
from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.intake_routes import make_intake_endpoint
from custody.server.listing import make_list_endpoint
from custody.server.problems import HttpProblem
from custody.server.shapes import CONVERSATIONS
from custody.server.wire.service import ConversationsPage, ConversationText, Problem
from custody.workspace.workspace import Workspace


async def show(call: EndpointCall) -> HttpAnswer:
    """One conversation."""
    agent, session = call.needed("agent"), call.needed("session")
    with_text = call.flag("text", default=True) and call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> ConversationText | None:
        found = pages.conversation(workspace, agent, session, with_text=with_text)
        if found is not None and with_text:
            call.note_read(f"conversation {agent} {session}")
        return found

    found = await call.ask(ask)
    if found is None:
        raise HttpProblem(404, "no such conversation is known", remedy="/api/v1/conversations lists them")
    return HttpAnswer.of(found)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("conversations", "Keep a conversation, or more of one, or a batch of them.", CONVERSATIONS),
    make_list_endpoint(
        "conversations", "List conversations, without what was said in them.", pages.conversations, ConversationsPage
    ),
    Endpoint(
        method="GET",
        path="/api/v1/conversation",
        name="show-conversation",
        words="Show a conversation; its words only with the scope 'text', and each such read is noted.",
        scope=TokenScope.READ,
        handle=show,
        gives={200: ConversationText, 404: Problem},
        parameters=(
            Parameter("agent", "Whose session it is.", {"type": "string", "minLength": 1}, required=True),
            Parameter("session", "The session's id.", {"type": "string", "minLength": 1}, required=True),
            Parameter("text", "Whether to give the words too.", {"type": "boolean", "default": True}),
        ),
    ),
)
