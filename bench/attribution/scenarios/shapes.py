"""Lines change their shape or their place, and keep their authors."""

import sys
from pathlib import Path

import bench
from bench.attribution.formatter import formatted, indented, joined, tabs, two_spaces
from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import FIRST_IMPORT, LAST_OF_SHOP, a_shop, adds, last
from bench.attribution.texts import (
    CART,
    CART_TOTAL,
    DISCOUNT,
    REPORT,
    SEARCH,
    SHIPPING,
    STOCK,
    block,
    line,
    lines,
)
from bench.attribution.truth import Line, put
from bench.attribution.world import World

INVOICE = """\
def send_invoice(order: Order, mailer) -> None:
    subject = 'Invoice number ' + str(order.number)
    mailer.deliver(recipient=order.customer, subject=subject, body=render('invoice.txt', order=order))
    logger.info('invoice for order %s sent to %s with %d positions', order.number, order.customer, len(order.prices))
"""
REMINDER = """\
def send_reminder(order: Order, mailer) -> None:
    overdue_days = days_since(order.due)
    mailer.deliver(recipient=order.customer, subject='A reminder', body=render('reminder.txt', days=overdue_days))
    order.history.append(HistoryEntry(kind='reminder', written_by='billing', text=f'{overdue_days} days late'))
"""


@scenario()
def formatter_before(world: World) -> None:
    """A person runs the formatter over both authors' lines before the commit."""
    a_shop(world, REMINDER)
    adds(world.agent(), INVOICE)
    world.person.reshape("shop.py", formatted)
    world.commit()


@scenario()
def formatter_after(world: World) -> None:
    """The formatter gets a commit of its own."""
    a_shop(world, REMINDER)
    adds(world.agent(), INVOICE)
    world.commit()
    world.person.reshape("shop.py", formatted)
    world.commit("formatted")


@scenario()
def formatter_wrapping_only(world: World) -> None:
    """Only long calls are wrapped, very narrowly."""
    a_shop(world)
    adds(world.agent(), INVOICE)
    adds(world.agent(), DISCOUNT)
    world.commit()
    world.person.reshape("shop.py", lambda page: formatted(page, width=50))
    world.commit("narrow")


@scenario()
def formatter_joining(world: World) -> None:
    """Calls that an agent wrapped are joined again by a wider formatter."""
    a_shop(world, REMINDER)
    adds(world.agent(), INVOICE)
    world.person.reshape("shop.py", formatted)
    world.commit()
    world.person.reshape("shop.py", lambda page: joined(page, width=140))
    world.commit("wide")


@scenario()
def formatter_after_person(world: World) -> None:
    """A person adds a call inside the agent's block, then everything is formatted and committed at once."""
    a_shop(world)
    adds(world.agent(), INVOICE)
    own = "    archive.store(name=f'invoice-{order.number}', content=render('invoice.txt', order=order), keep_years=10)"
    world.person.insert("shop.py", line(INVOICE, 3), own)
    world.person.reshape("shop.py", formatted)
    world.commit()


@scenario()
def formatter_run_by_agent(world: World) -> None:
    """An agent runs the formatter in its shell, over a person's lines too."""
    a_shop(world, REMINDER)
    agent = world.agent()
    adds(agent, INVOICE)
    root = Path(bench.__file__).parent.parent
    command = f"PYTHONPATH={root} {sys.executable} -m bench.attribution.formatter shop.py"
    agent.bash(command, {"shop.py": formatted(world.pages["shop.py"])})
    world.commit()


@scenario()
def reindent_into_class(world: World) -> None:
    """A person puts the agent's function into a class of their own."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()
    first, final = world.pages["shop.py"].at(block(DISCOUNT))
    world.person.reshape("shop.py", lambda page: indented(page, first, final))
    world.person.insert_at("shop.py", first, "class Discounts(Policy):\n    stackable = False\n")
    world.commit("a class")


@scenario()
def reindent_whole_file(world: World) -> None:
    """The whole file goes from four spaces to two, then to tabs."""
    a_shop(world, SHIPPING)
    adds(world.agent(), REPORT)
    world.commit()
    world.person.reshape("shop.py", tabs)
    world.commit("tabs")


@scenario()
def reindent_to_two_spaces(world: World) -> None:
    """The whole file goes from four spaces to two before the commit."""
    a_shop(world, SHIPPING)
    adds(world.agent(), REPORT)
    world.person.reshape("shop.py", two_spaces)
    world.commit()


@scenario()
def reindent_by_agent(world: World) -> None:
    """An agent puts a person's lines under a condition: only the condition is the agent's."""
    a_shop(world, REPORT)
    world.commit()
    page = world.pages["shop.py"]
    first, final = page.at("\n".join(lines(REPORT)[3:5]))
    guard = "    if feature_enabled('monthly-report', default=True):"
    old = "\n".join(one.text for one in page.lines[first:final])
    moved = [Line(f"    {one.text}", one.who) for one in page.lines[first:final]]
    new = "\n".join([guard, *(one.text for one in moved)])
    agent = world.agent()
    agent.edit_as("shop.py", old, new, put(page, (first, final), [Line(guard, agent.who), *moved]))
    world.commit()


@scenario()
def rename_before(world: World) -> None:
    """A person renames the file between the agent's edit and the commit."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.person.rename("shop.py", "store/orders.py")
    world.commit()


@scenario()
def rename_after(world: World) -> None:
    """The file is renamed in a later commit, and a person adds lines to it there."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()
    world.person.rename("shop.py", "orders.py")
    world.person.append("orders.py", f"\n\n{block(SHIPPING)}")
    world.commit("renamed")


@scenario()
def rename_of_a_new_file(world: World) -> None:
    """An agent's new file gets another name before its first commit, and lines of a person."""
    a_shop(world)
    world.agent().write("reports.py", REPORT)
    world.person.rename("reports.py", "monthly.py")
    world.person.append("monthly.py", f"\n\n{block(SEARCH)}")
    world.commit()


@scenario()
def rename_by_agent_then_edit(world: World) -> None:
    """An agent renames a person's file in its shell and goes on editing."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    page = world.pages["shop.py"]
    agent.bash("git mv shop.py orders.py", {"orders.py": page}, without=["shop.py"])
    agent.edit("orders.py", FIRST_IMPORT, f"{FIRST_IMPORT}\nimport statistics")
    world.commit()


@scenario()
def rename_twice(world: World) -> None:
    """Two renames in two commits, with a person's edits at the top each time."""
    a_shop(world)
    adds(world.agent(), REPORT)
    world.commit()
    for old, new, module in (("shop.py", "lib/shop.py", "pathlib"), ("lib/shop.py", "lib/orders.py", "secrets")):
        world.person.rename(old, new)
        world.person.edit(new, FIRST_IMPORT, f"{FIRST_IMPORT}\nimport {module}")
        world.commit(f"to {new}")


@scenario()
def move_inside(world: World) -> None:
    """A person moves the agent's function up in the file, in a later commit."""
    a_shop(world, SHIPPING, SEARCH)
    adds(world.agent(), DISCOUNT, below=last(SEARCH))
    world.commit()
    world.person.move(f"\n{block(DISCOUNT)}", "shop.py", "shop.py", LAST_OF_SHOP)
    world.commit("moved")


@scenario()
def move_inside_before(world: World) -> None:
    """A person moves the agent's function up in the file before the commit."""
    a_shop(world, SHIPPING, SEARCH)
    adds(world.agent(), DISCOUNT, below=last(SEARCH))
    world.person.move(f"\n{block(DISCOUNT)}", "shop.py", "shop.py", LAST_OF_SHOP)
    world.commit()


@scenario()
def move_across(world: World) -> None:
    """A person moves the agent's function to another file, in a later commit."""
    world.person.write("stock.py", STOCK)
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()
    world.person.move(f"\n\n{block(DISCOUNT)}", "shop.py", "stock.py", last(STOCK))
    world.commit("moved")


@scenario()
def move_across_to_new_file(world: World) -> None:
    """A person splits the agent's function off into a new file with a head of their own, before the commit."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    adds(agent, REPORT, below=last(DISCOUNT))
    world.person.write("reports.py", "from shop import Order")
    world.person.move(f"\n\n{block(REPORT)}", "shop.py", "reports.py", "from shop import Order")
    world.commit()


@scenario()
def move_of_a_person_by_agent(world: World) -> None:
    """An agent moves a person's function inside the file in one Write: it stays the person's."""
    a_shop(world, SHIPPING, SEARCH)
    page = world.pages["shop.py"]
    first, final = page.at(f"\n\n{block(SEARCH)}")
    without = put(page, (first, final), ())
    place = without.at(LAST_OF_SHOP)[1]
    agent = world.agent()
    own = [Line("", agent.who), Line("", agent.who), Line("ORDERS_PER_PAGE = 20", agent.who)]
    agent.write_as("shop.py", put(without, (place, place), [*own, *page.lines[first:final]]))
    world.commit()


@scenario()
def move_script_method(world: World) -> None:
    """A person moves the agent's method in front of another one."""
    world.person.write("cart.js", CART)
    world.commit()
    world.agent().edit("cart.js", "    return this;\n  }", f"    return this;\n  }}\n\n{block(CART_TOTAL)}")
    world.commit()
    page = world.pages["cart.js"]
    first, final = page.at(f"\n{block(CART_TOTAL)}")
    carried = page.lines[first:final]
    rest = put(page, (first, final), ())
    place = rest.at("    this.items = [];\n  }")[1]
    world.lay("cart.js", put(rest, (place, place), carried))
    world.commit("moved")


@scenario()
def renamed_identifier(world: World) -> None:
    """An agent renames an identifier everywhere: changed lines are disputed, the others stay a person's."""
    a_shop(world, SEARCH, SHIPPING)
    agent = world.agent()
    agent.replace_all("shop.py", "customer", "client")
    adds(agent, DISCOUNT, below=last(SHIPPING))
    world.commit()


SCENARIOS = (
    formatter_before,
    formatter_after,
    formatter_wrapping_only,
    formatter_joining,
    formatter_after_person,
    formatter_run_by_agent,
    reindent_into_class,
    reindent_whole_file,
    reindent_to_two_spaces,
    reindent_by_agent,
    rename_before,
    rename_after,
    rename_of_a_new_file,
    rename_by_agent_then_edit,
    rename_twice,
    move_inside,
    move_inside_before,
    move_across,
    move_across_to_new_file,
    move_of_a_person_by_agent,
    move_script_method,
    renamed_identifier,
)
