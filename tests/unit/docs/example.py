"""The repository that the documents show: a small shop, an agent with two sessions, and a person beside it.

It is generated in an empty folder or in any clone, so that the output in the documents can be reproduced.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.builders.transcripts import a_transcript, project_name

ANA = "Ana <ana@example.org>"
FIRST = "5d2f0c3e-1b7a-4c52-9e0f-6a4d2f8b1c00"
SECOND = "9a61b7d4-4e0c-4f6b-8d35-0c9e7f2a5b11"
DECIMAL = "https://docs.python.org/3/library/decimal.html"
UNREAD = "https://www.rfc-editor.org/rfc/rfc9110"

PRICES = '''"""Prices of the shop."""

SHIPPING = 4.9


def total(prices):
    return sum(prices) + SHIPPING
'''
ROUNDING = '''

def round_to_cents(amount):
    """Half a cent goes to the even neighbor, as bookkeepers do it."""
    return Decimal(amount).quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN)
'''
IMPORTS = '''"""Prices of the shop."""

from decimal import ROUND_HALF_EVEN, Decimal
'''
BY_HAND = """

def free_shipping(prices):
    return sum(prices) > 50
"""
DISCOUNT = '''"""Discounts of the shop."""

from prices import round_to_cents


def discounted(amount, percent):
    """What is left of an amount after so many percent."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a discount of {percent} percent is none")
    return round_to_cents(amount * (100 - percent) / 100)
'''
REPORT = f"""# How amounts are rounded

The shop rounds half a cent to the even neighbor, as the module `decimal` offers it in 8 rounding modes [1].
Servers must answer a request for a price within 2 seconds [2].

## Sources

1. decimal: Decimal fixed-point and floating-point arithmetic <{DECIMAL}>
2. HTTP Semantics <{UNREAD}>
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """The repository and its user's home."""

    folder: Path
    home: Path

    def environment(self) -> dict[str, str]:
        """Return the environment of the documents' commands: own home, git without settings, fixed names, no colors."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ana",
            "GIT_AUTHOR_EMAIL": "ana@example.org",
            "GIT_COMMITTER_NAME": "Ana",
            "GIT_COMMITTER_EMAIL": "ana@example.org",
        }

    def git(self, *words: str, at: str = "") -> str:
        """Run git and return its output; commits get the time ``at``."""
        dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=self.environment() | dates, capture_output=True, text=True, check=True
        )
        return done.stdout

    def lay(self, name: str, text: str) -> None:
        """Write a file of the work tree."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self, message: str, at: str) -> None:
        """Commit the whole work tree."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, at=at)

    @property
    def transcripts(self) -> Path:
        """Return the folder of Claude Code's transcripts for this repository."""
        return self.home / ".claude" / "projects" / project_name(self.folder)


def a_shop(folder: Path, home: Path, *, source: Path | None = None) -> Shop:
    """Play the whole story: on ``main`` rounding by an agent and a line by hand; on ``discount`` an open change.

    The branch ``discount-again`` makes the same change again. With ``source`` the story is played in a clone of it.
    """
    home.mkdir(parents=True, exist_ok=True)
    shop = Shop(folder, home)
    _begin(shop, source)
    _rounding(shop)
    _discount(shop)
    _discount_again(shop)
    return shop


def _begin(shop: Shop, source: Path | None) -> None:
    if source is None:
        shop.folder.mkdir(parents=True)
        shop.git("init", "--quiet", "--initial-branch=main")
    else:
        subprocess.run(["git", "clone", "--quiet", str(source), str(shop.folder)], check=True)
        shop.git("checkout", "--quiet", "-B", "main")
    shop.lay("shop/prices.py", PRICES)
    shop.commit("prices of the shop", "2026-01-30T09:00:00Z")


def _rounding(shop: Shop) -> None:
    session = a_transcript(FIRST, shop.folder, at="2026-01-31T12:00:00Z")
    session.prompt("round amounts to cents, half to even").read("shop/prices.py", PRICES)
    session.fetch(DECIMAL, "decimal has ROUND_HALF_EVEN and seven other rounding modes")
    with_imports = PRICES.replace('"""Prices of the shop."""\n', IMPORTS)
    session.edit("shop/prices.py", PRICES, '"""Prices of the shop."""\n', IMPORTS)
    last = "    return sum(prices) + SHIPPING\n"
    session.edit("shop/prices.py", with_imports, last, last + ROUNDING)
    session.bash("python -m pytest -q", "3 passed")
    session.put(shop.transcripts)
    shop.lay("shop/prices.py", with_imports.replace(last, last + ROUNDING) + BY_HAND)
    shop.commit("round to cents", "2026-01-31T12:10:00Z")


def _discount(shop: Shop) -> None:
    shop.git("checkout", "--quiet", "-b", "discount")
    session = a_transcript(SECOND, shop.folder, at="2026-02-02T09:00:00Z", branch="discount")
    session.prompt("add discounts in percent, and write down how we round")
    session.fetch(DECIMAL, "decimal has ROUND_HALF_EVEN and seven other rounding modes")
    session.write("shop/discount.py", None, DISCOUNT).bash("python -m pytest -q", "4 passed")
    session.write("shop/rounding.md", None, REPORT)
    session.put(shop.transcripts)
    shop.lay("shop/discount.py", DISCOUNT)
    shop.lay("shop/rounding.md", REPORT)
    shop.commit("discounts in percent", "2026-02-02T09:10:00Z")


def _discount_again(shop: Shop) -> None:
    shop.git("checkout", "--quiet", "-b", "discount-again", "main")
    shop.lay("shop/discount.py", DISCOUNT.replace("so many percent", "some percent"))
    shop.commit("percentage discounts", "2026-02-03T15:00:00Z")
    shop.git("checkout", "--quiet", "discount")
