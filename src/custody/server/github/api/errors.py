"""What GitHub says instead of an answer: that one should come again, or that it will not."""

from custody.core.errors import RetryLater, WorldError


class GitHubBusy(RetryLater):
    """Come again: a rate limit, a server that failed, a network that did not carry."""


class GitHubRefusal(WorldError):
    """It will not, and coming again changes nothing: a right is missing, a thing is gone, a request is no good."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, hint=_HINTS.get(status, "look at what GitHub says, and at the app's permissions"))
        self.status = status


_HINTS = {
    401: "the token or the app's key is not valid any more: connect again with 'custody github connect'",
    403: "give the app the permissions that docs/github.md lists",
    404: "the repository or pull request is gone, or the app is not installed there",
    410: "the repository's feature is switched off",
}
