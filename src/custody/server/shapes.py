"""The shapes of bodies, as the description has them."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from custody.core.wire.event import GenericEvent, SpanEvent
from custody.server.app.intake import ITEMS_MAX
from custody.server.wire.service import ConversationBody

ITEM_LIMIT = Meta(max_length=ITEMS_MAX)
SPANS = SpanEvent | Annotated[list[SpanEvent], ITEM_LIMIT]
EVENTS = GenericEvent | Annotated[list[GenericEvent], ITEM_LIMIT]
CONVERSATIONS = ConversationBody | Annotated[list[ConversationBody], ITEM_LIMIT]


def one_or_many(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of one thing or a batch of them."""
    return {"anyOf": [dict(shape), {"type": "array", "maxItems": ITEMS_MAX, "items": dict(shape)}]}
