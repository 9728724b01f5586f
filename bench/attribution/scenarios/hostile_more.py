"""More edits that are easy to get wrong: text that comes back, moves and changes at once, or has other line ends."""

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import a_shop, adds, last
from bench.attribution.texts import DISCOUNT, REFUND, REPORT, SEARCH, SHIPPING, STOCK, after, block, line
from bench.attribution.truth import PERSON, Declared, Line
from bench.attribution.world import World

PRICES = '''\
def prix_total(commande: Commande) -> float:
    """Le prix de la commande, arrondi à l'euro supérieur."""
    größe = ermittle_größe(commande, einheit="Stück")
    价格 = 计算价格(commande, 折扣=0.15)
    return größe * 价格 + frais_de_livraison(commande)
'''


@scenario()
def guard_weakened_twice(world: World) -> None:
    """One agent adds a guard, a second deletes a condition of it, and a person adds a line above."""
    a_shop(world)
    adds(world.agent("one"), REFUND)
    world.commit()
    guard = "    if reason in FORBIDDEN_REASONS and order.customer not in TRUSTED: raise ValueError(reason)"
    world.agent("one").edit("shop.py", line(REFUND, 3), f"{guard}\n{line(REFUND, 3)}")
    world.commit()
    world.agent("two").edit("shop.py", " and order.customer not in TRUSTED", "")
    world.person.insert("shop.py", line(REFUND, 2), "    audit_every_refund(order, at=clock.now())")
    world.commit()


@scenario()
def person_repeats_a_discarded_idiom_below(world: World) -> None:
    """An agent's guard is discarded with its file; a person writes the same guard into another function."""
    a_shop(world, SHIPPING, STOCK)
    before = world.path("shop.py").read_text("utf-8")
    idiom = "    if not logger.isEnabledFor(logging.DEBUG): return None"
    world.agent().edit("shop.py", line(SHIPPING, 2), f"{line(SHIPPING, 2)}\n{idiom}")
    world.person.write("shop.py", before)
    world.commit("without the guard")
    world.person.insert("shop.py", line(STOCK, 2), idiom)
    world.commit("with another one")


@scenario()
def crlf_then_an_edit(world: World) -> None:
    """A person turns every line end around an agent's lines, and the agent edits one line afterwards."""
    a_shop(world, SHIPPING)
    agent = world.agent()
    adds(agent, DISCOUNT, below=last(SHIPPING))
    world.commit()
    world.turn_ends("shop.py", "\r\n")
    world.commit("other line ends")
    agent.edit("shop.py", line(DISCOUNT, 6), "    metrics.increment('discounts', tags={'percent': percent})")
    world.commit()


@scenario()
def moved_and_edited(world: World) -> None:
    """A person moves an agent's function to another file and adds a line in the middle."""
    a_shop(world)
    world.person.write("orders.py", after(SEARCH))
    world.commit()
    adds(world.agent(), REPORT)
    world.commit()
    world.person.move(block(REPORT), "shop.py", "orders.py", last(SEARCH))
    world.person.insert("orders.py", line(REPORT, 3), "    orders = [order for order in orders if not order.cancelled]")
    world.commit("moved")


@scenario()
def agent_splits_a_line(world: World) -> None:
    """An agent breaks a long line of a person in two and changes no word, which makes the author disputed."""
    a_shop(world, SHIPPING)
    whole = line(SHIPPING, 5)
    first, second = "    surcharge = 4.5 if weight_kg >", "        HEAVY_PARCEL_KG else 0.0"
    world.agent().edit("shop.py", whole, f"{first}\n{second}", Declared(either=[first, second]))
    adds(world.agent(), REFUND, below=last(SHIPPING))
    world.commit()


@scenario()
def other_scripts(world: World) -> None:
    """An agent's lines have names in several scripts; a person changes one and adds one."""
    a_shop(world)
    adds(world.agent(), PRICES)
    world.commit()
    changed = "    价格 = 计算价格(commande, 折扣=0.15, 币种=standardwährung)"
    world.person.edit("shop.py", line(PRICES, 4), changed, Declared(either=[changed]))
    world.person.insert("shop.py", line(PRICES, 3), "    prüfe_bestand(commande, lager='Zürich')")
    world.commit("a person's")


@scenario()
def rename_and_copy(world: World) -> None:
    """A person renames an agent's file and copies another person's function beside it in the same commit."""
    a_shop(world, SHIPPING)
    world.agent().write("reports.py", after(REPORT, REFUND))
    world.commit()
    world.person.rename("reports.py", "finance/monthly.py")
    world.person.write("shipping.py", SHIPPING)
    world.commit("renamed and copied")


@scenario()
def text_that_comes_back(world: World) -> None:
    """A person takes an agent's function out, commits, and brings the whole of it back by a revert."""
    a_shop(world, SHIPPING)
    adds(world.agent(), REPORT, below=last(SHIPPING))
    world.commit("with the report")
    page = world.pages["shop.py"]
    world.person.delete("shop.py", block(REPORT))
    removed = world.commit("without the report")
    world.git("revert", "--no-edit", removed)
    world.settle({"shop.py": page})


@scenario()
def two_agents_write_the_same(world: World) -> None:
    """Two sessions write the same function into two files; each file is its own session's."""
    world.agent("one").write("left.py", after(STOCK))
    world.agent("two").write("right.py", after(STOCK, SEARCH))
    world.commit()
    world.person.write("third.py", "def third_task(seconds: int) -> None:\n    start_the_third_task(seconds)\n")
    world.commit()


@scenario()
def person_moves_lines_between_agents(world: World) -> None:
    """Between two calls of an agent a person writes a line, and the second call edits the line beside it."""
    a_shop(world)
    agent = world.agent()
    adds(agent, REPORT)
    world.person.insert("shop.py", line(REPORT, 3), "    assert all(order.prices for order in orders), orders")
    agent.edit("shop.py", line(REPORT, 6), "    ranking = sorted(revenue.items(), key=by_revenue, reverse=False)")
    typed = "    ranking = [pair for pair in ranking if pair[1] > LEAST_REVENUE]"
    page = world.pages["shop.py"]
    at = page.at("    ranking = sorted(revenue.items(), key=by_revenue, reverse=False)")[1]
    world.lay("shop.py", page.with_lines((*page.lines[:at], Line(typed, PERSON), *page.lines[at:])))
    world.commit()


SCENARIOS = (
    guard_weakened_twice,
    person_repeats_a_discarded_idiom_below,
    crlf_then_an_edit,
    moved_and_edited,
    agent_splits_a_line,
    other_scripts,
    rename_and_copy,
    text_that_comes_back,
    two_agents_write_the_same,
    person_moves_lines_between_agents,
)
