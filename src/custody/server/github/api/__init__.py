"""The door to GitHub's API: pull requests in, check runs and comments out.

May touch: the network, by HTTPS to the one API address that the operator named, with the operator's key. It follows no
redirect to another host, takes no proxy, cookie or password from the environment, and writes nothing but what
``docs/github.md`` lists.
"""

from custody.server.github.api.client import GitHub
from custody.server.github.api.errors import GitHubBusy, GitHubRefusal
from custody.server.github.api.keys import ApiCredential, AppKey, PlainToken

__all__ = ["ApiCredential", "AppKey", "GitHub", "GitHubBusy", "GitHubRefusal", "PlainToken"]
