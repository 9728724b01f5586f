"""An agent edits and writes, and a person works on the same lines."""

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import a_shop, adds
from bench.attribution.texts import (
    CART,
    CART_TOTAL,
    DISCOUNT,
    REFUND,
    REPORT,
    SEARCH,
    SHIPPING,
    SHOP,
    after,
    block,
    line,
    lines,
)
from bench.attribution.truth import Declared
from bench.attribution.world import World


@scenario()
def plain_edit(world: World) -> None:
    """An agent adds a function with Edit, a person commits."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()


@scenario()
def plain_edit_script(world: World) -> None:
    """An agent adds methods to a class in JavaScript."""
    world.person.write("cart.js", CART)
    world.commit()
    world.agent().edit("cart.js", "    return this;\n  }", f"    return this;\n  }}\n\n{block(CART_TOTAL)}")
    world.commit()


@scenario()
def several_edits(world: World) -> None:
    """Several edits of one session in one commit, made by the agent itself."""
    a_shop(world)
    agent = world.agent()
    agent.edit("shop.py", "import logging", "import logging\nimport statistics")
    adds(agent, DISCOUNT)
    adds(agent, REPORT, below=line(DISCOUNT, 7))
    agent.commit()


@scenario()
def replaced_body(world: World) -> None:
    """An agent replaces the body of a person's function."""
    a_shop(world)
    agent = world.agent()
    agent.edit(
        "shop.py",
        "        return sum(self.prices)",
        "        positive = [price for price in self.prices if price > 0]\n"
        "        logger.debug('%d of %d prices count', len(positive), len(self.prices))\n"
        "        return round(math.fsum(positive), 2)",
    )
    world.commit()


@scenario()
def plain_write(world: World) -> None:
    """An agent writes a new file."""
    a_shop(world)
    world.agent().write("reports.py", after("import shop\n", REPORT, SEARCH))
    world.commit()


@scenario()
def write_then_edit(world: World) -> None:
    """An agent writes a new file and edits it again before the commit."""
    a_shop(world)
    agent = world.agent()
    agent.write("reports.py", after("import shop\n", REPORT))
    agent.edit("reports.py", line(REPORT, 7), "    top_ten = ranking[:10]\n    return dict(top_ten)")
    world.commit()


@scenario()
def person_inside_before(world: World) -> None:
    """A person adds lines inside the agent's block before the commit."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.person.insert("shop.py", line(DISCOUNT, 5), "    reduction = round(reduction, 2)  # cents are enough for us")
    world.commit()


@scenario()
def person_inside_after(world: World) -> None:
    """A person adds and rewrites lines inside the agent's block after the commit."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()
    world.person.edit("shop.py", line(DISCOUNT, 6), "    audit_trail.append((order.number, 'discount granted'))")
    world.person.insert("shop.py", line(DISCOUNT, 4), "    check_campaign_is_running(today())")
    world.commit("a person's")


@scenario()
def person_changes_a_word(world: World) -> None:
    """A person changes one word of an agent's line, which makes its author disputed."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()
    changed = line(DISCOUNT, 5).replace("reduction", "rebate")
    world.person.edit("shop.py", line(DISCOUNT, 5), changed, Declared(either=[changed]))
    world.commit("a person's")


@scenario()
def person_deletes_half(world: World) -> None:
    """A person deletes half of the agent's block before the commit."""
    a_shop(world)
    adds(world.agent(), REPORT)
    world.person.delete("shop.py", "\n".join(lines(REPORT)[2:5]))
    world.person.insert("shop.py", line(REPORT, 2), "    revenue = summed_by(orders, key=attrgetter('customer'))")
    world.commit()


@scenario()
def person_uncommitted_inside(world: World) -> None:
    """The agent's next edit replaces text that contains a person's uncommitted lines."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    mine = "    assert order.prices, 'an empty order has no discount'"
    world.person.insert("shop.py", line(DISCOUNT, 2), mine)
    old = "\n".join([line(DISCOUNT, 2), mine, *lines(DISCOUNT)[2:5]])
    new = "\n".join(
        [
            line(DISCOUNT, 2),
            mine,
            *lines(DISCOUNT)[2:4],
            "    share = percent / 100",
            "    reduction = order.total() * share",
        ]
    )
    agent.edit("shop.py", old, new, Declared(keeps=[mine, *lines(DISCOUNT)[2:4]]))
    world.commit()


@scenario()
def person_uncommitted_in_write(world: World) -> None:
    """A person's uncommitted block is repeated inside the agent's whole-file Write."""
    a_shop(world)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    agent = world.agent()
    agent.write("shop.py", after(SHOP, SHIPPING, REFUND))
    world.commit()


@scenario()
def write_over_person(world: World) -> None:
    """A whole-file Write changes some of a person's lines and keeps the others."""
    a_shop(world)
    changed = {
        "class Order:": "class Order(Auditable):",
        '    """What somebody bought."""': '    """One purchase, with the history of its changes."""',
    }
    kept = [one for one in lines(SHOP) if one not in changed]
    text = "\n".join([changed.get(one, one) for one in lines(SHOP)]) + f"\n\n\n{REFUND}"
    world.agent().write("shop.py", text, Declared(keeps=kept, either=["class Order(Auditable):"]))
    world.commit()


@scenario()
def write_replaces_all(world: World) -> None:
    """A whole-file Write replaces a person's file by another one."""
    a_shop(world)
    world.agent().write(
        "shop.py", after('"""Everything new."""\n\nimport statistics\n', REPORT, SEARCH), Declared(keeps=[])
    )
    world.commit()


@scenario()
def same_boilerplate(world: World) -> None:
    """A person types the same boilerplate elsewhere that an agent wrote before."""
    guard = "    if not isinstance(order, Order):\n        raise TypeError('expected an order')"
    a_shop(world, SEARCH)
    agent = world.agent()
    adds(agent, DISCOUNT)
    agent.edit("shop.py", line(DISCOUNT, 2), f"{line(DISCOUNT, 2)}\n{guard}")
    world.commit()
    world.person.append("shop.py", f"\n\n{block(REFUND)}")
    world.person.insert("shop.py", line(REFUND, 2), guard)
    world.commit("a person's")


@scenario()
def same_boilerplate_other_file(world: World) -> None:
    """A person types the same boilerplate in the same commit as the agent, in another file."""
    head = "import argparse\nimport sys\n\n\ndef main() -> int:\n    parser = argparse.ArgumentParser()\n"
    a_shop(world)
    world.agent().write(
        "tool.py", f"{head}    parser.add_argument('--orders', help='a file of orders')\n    return 0\n"
    )
    world.person.write(
        "other.py", f"{head}    parser.add_argument('--stock', help='levels by article')\n    return 0\n"
    )
    world.commit()


SCENARIOS = (
    plain_edit,
    plain_edit_script,
    several_edits,
    replaced_body,
    plain_write,
    write_then_edit,
    person_inside_before,
    person_inside_after,
    person_changes_a_word,
    person_deletes_half,
    person_uncommitted_inside,
    person_uncommitted_in_write,
    write_over_person,
    write_replaces_all,
    same_boilerplate,
    same_boilerplate_other_file,
)
