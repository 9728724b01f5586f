"""Why no connection was made, where that is not the network's fault."""

from custody.core.errors import WorldError


class ForbiddenUrl(WorldError):
    """The address is one that we do not ask."""


class NoSuchName(WorldError):
    """The name service says that there is no such host."""
