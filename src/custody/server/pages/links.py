"""Where pages are: at addresses of a service, or in the files of a report."""

from typing import Protocol
from urllib.parse import urlencode


class PageLinks(Protocol):
    """Says where a page and a built file are."""

    @property
    def served(self) -> bool:
        """Whether a service answers behind these links: only then can something be asked."""
        ...

    def to(self, page: str, said: dict[str, str]) -> str | None:
        """Where a page is; None where it cannot be had."""
        ...

    def asset(self, name: str) -> str:
        """Where a built file is."""
        ...


class ServedLinks:
    """The addresses of a service."""

    served = True

    def to(self, page: str, said: dict[str, str]) -> str:
        """The page's address with what it is asked."""
        return f"/{page}?{urlencode(said)}" if said else f"/{page}"

    def asset(self, name: str) -> str:
        """The file's address, which has its digest in it: whoever keeps it keeps the right one."""
        from custody.server.pages.assets import assets

        return assets()[name].path
