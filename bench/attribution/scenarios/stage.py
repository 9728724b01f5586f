"""The beginning of many stories."""

from bench.attribution.texts import SHOP, after, block, line, lines
from bench.attribution.world import Agent, World

LAST_OF_SHOP = line(SHOP, len(lines(SHOP)))
FIRST_IMPORT = "import logging"


def a_shop(world: World, *pieces: str) -> str:
    """Commit a person's file."""
    world.person.write("shop.py", after(SHOP, *pieces))
    return world.commit("a shop")


def adds(agent: Agent, piece: str, below: str = LAST_OF_SHOP, name: str = "shop.py") -> None:
    """Add a piece below a line, with the agent's Edit tool."""
    agent.edit(name, below, f"{below}\n\n\n{block(piece)}")


def last(piece: str) -> str:
    """Return the last line of a piece."""
    return lines(piece)[-1]
