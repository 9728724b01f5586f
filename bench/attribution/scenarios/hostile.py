"""Edits that are easy to get wrong: words deleted, guards removed, lines joined, idioms repeated by somebody else."""

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import a_shop, adds
from bench.attribution.texts import DISCOUNT, REFUND, REPORT, SHIPPING, block, line
from bench.attribution.truth import Declared
from bench.attribution.world import World

CHECKED = '''\
def settle(order: Order, account: Account) -> float:
    """Pay what is due, if the account may."""
    if account.is_open and account.may_pay(order.total()) and not order.is_settled:
        account.withdraw(order.total())
    if order.total() >= account.least_amount != 0:
        raise ValueError("too little to be paid by card")
    return account.balance(order.customer, order.number, currency, rounding, precision, audit, locale, channel)
'''
IDIOM = """\
    context, cancel = background.with_timeout(seconds=30)
    defer_until_the_end(cancel)
"""


@scenario()
def agent_deletes_words(world: World) -> None:
    """An agent deletes one condition of a person's line and adds nothing."""
    a_shop(world, CHECKED)
    world.agent().edit("shop.py", " and account.may_pay(order.total())", "")
    world.commit()


@scenario()
def agent_deletes_a_not(world: World) -> None:
    """An agent deletes the word that turns a condition around."""
    a_shop(world, CHECKED)
    world.agent().edit("shop.py", "not order.is_settled", "order.is_settled")
    world.commit()


@scenario()
def agent_flips_an_operator(world: World) -> None:
    """An agent changes two comparisons and no word."""
    a_shop(world, CHECKED)
    world.agent().edit(
        "shop.py", "order.total() >= account.least_amount != 0", "order.total() > account.least_amount == 0"
    )
    world.commit()


@scenario()
def agent_deletes_one_of_many_words(world: World) -> None:
    """An agent deletes one word of a long line."""
    a_shop(world, CHECKED)
    world.agent().edit("shop.py", ", audit, locale", ", locale")
    world.commit()


@scenario()
def agent_removes_a_guard(world: World) -> None:
    """An agent deletes whole lines of a person, and the lines around them stay the person's."""
    a_shop(world, CHECKED)
    guard = f"{line(CHECKED, 5)}\n{line(CHECKED, 6)}\n"
    world.agent().edit("shop.py", guard, "")
    world.commit()


@scenario()
def agent_weakens_another_agent(world: World) -> None:
    """An agent deletes words of a line that another agent's session wrote."""
    a_shop(world)
    adds(world.agent("one"), CHECKED)
    world.commit()
    world.agent("two").edit("shop.py", " and account.may_pay(order.total())", "")
    world.commit()


@scenario()
def agent_reorders_lines(world: World) -> None:
    """An agent exchanges two lines of a person and adds one."""
    a_shop(world, SHIPPING)
    first, second = line(SHIPPING, 4), line(SHIPPING, 5)
    world.agent().edit(
        "shop.py",
        f"{first}\n{second}",
        f"{second}\n{first}\n    assert surcharge < base * per_kilogram",
        Declared(keeps=[second], either=[first]),
    )
    world.commit()


@scenario()
def agent_joins_lines(world: World) -> None:
    """An agent joins two lines of a person and leaves no word out, which makes the author disputed."""
    a_shop(world, REPORT)
    joined = "    for order in orders: revenue[order.customer] = revenue.get(order.customer, 0.0) + order.total()"
    world.agent().edit("shop.py", f"{line(REPORT, 4)}\n{line(REPORT, 5)}", joined, Declared(either=[joined]))
    world.commit()


@scenario()
def person_deletes_words_of_an_agent(world: World) -> None:
    """A person deletes words of an agent's line, which makes its author disputed; the others stay the agent's."""
    a_shop(world)
    adds(world.agent(), REFUND)
    world.commit()
    changed = '    logger.info("refunding %.2f for order %s", amount, order.number)'
    world.person.edit("shop.py", line(REFUND, 4), changed, Declared(either=[changed]))
    world.commit("a person's")


@scenario()
def idiom_after_a_discarded_edit(world: World) -> None:
    """An agent's edit is discarded, and a person repeats its idiom in another file."""
    a_shop(world, DISCOUNT)
    world.person.write("other.py", "def other_task(seconds: int) -> None:\n    start_the_other_task(seconds)\n")
    world.commit()
    before = world.path("shop.py").read_text("utf-8")
    world.agent().edit("shop.py", line(DISCOUNT, 2), f"{line(DISCOUNT, 2)}\n{block(IDIOM)}")
    world.person.write("shop.py", before)
    world.person.edit(
        "other.py",
        "    start_the_other_task(seconds)",
        f"{block(IDIOM)}\n    start_the_other_task(seconds)",
    )
    world.commit()


@scenario()
def import_after_a_discarded_edit(world: World) -> None:
    """An agent adds an import that is discarded, and a person adds the same one to another file."""
    a_shop(world)
    world.person.write("other.py", "import argparse\n\nprint(argparse.__name__)\n")
    world.commit()
    before = world.path("shop.py").read_text("utf-8")
    imported = "from statistics import harmonic_mean, geometric_mean"
    world.agent().edit("shop.py", "import logging", f"import logging\n{imported}")
    world.person.write("shop.py", before)
    world.person.edit("other.py", "import argparse", f"import argparse\n{imported}")
    world.commit()


SCENARIOS = (
    agent_deletes_words,
    agent_deletes_a_not,
    agent_flips_an_operator,
    agent_deletes_one_of_many_words,
    agent_removes_a_guard,
    agent_weakens_another_agent,
    agent_reorders_lines,
    agent_joins_lines,
    person_deletes_words_of_an_agent,
    idiom_after_a_discarded_edit,
    import_after_a_discarded_edit,
)
