"""Edits that were thrown away or weakened and then meet a person, another branch or a formatter."""

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.hostile import CHECKED, IDIOM
from bench.attribution.scenarios.stage import a_shop, adds
from bench.attribution.texts import REFUND, SHIPPING, STOCK, block, line
from bench.attribution.truth import Declared
from bench.attribution.world import World


@scenario()
def deleted_words_picked_to_a_release(world: World) -> None:
    """An agent deletes words on a branch, and the commit is picked to another branch that has other new lines."""
    a_shop(world, CHECKED, STOCK)
    world.git("branch", "release")
    world.agent().edit("shop.py", " and not order.is_settled", "")
    picked = world.commit("allow it twice")
    world.switch("release")
    world.person.insert("shop.py", line(STOCK, 2), "    warehouse.lock_shelf_of(article, seconds=30)")
    world.commit("a lock")
    world.git("cherry-pick", picked)
    world.settle()


@scenario()
def words_deleted_by_two_agents_in_turn(world: World) -> None:
    """One agent deletes a condition of a person's line, and another one deletes a second condition."""
    a_shop(world, CHECKED)
    world.agent("one").edit("shop.py", " and not order.is_settled", "")
    world.commit()
    world.agent("two").edit("shop.py", " and account.may_pay(order.total())", "")
    world.commit()


@scenario()
def discarded_function_typed_by_a_person(world: World) -> None:
    """An agent's function is discarded; a person types two of its lines between their own into another function."""
    a_shop(world, SHIPPING)
    before = world.path("shop.py").read_text("utf-8")
    adds(world.agent(), REFUND)
    world.person.write("shop.py", before)
    world.commit("something else", "--allow-empty")
    world.person.insert(
        "shop.py",
        line(SHIPPING, 3),
        f"    parcel = weigh_again(order, scale=SECOND_SCALE)\n{block(IDIOM)}\n    record_weight(parcel, order)",
    )
    world.commit("weigh again")


@scenario()
def agent_repeats_a_persons_block(world: World) -> None:
    """An agent copies a person's guard into a new function of its own; each copy stays with who typed it."""
    a_shop(world, CHECKED)
    guard = f"{line(CHECKED, 5)}\n{line(CHECKED, 6)}"
    head, last = (
        "def refund_in_cash(order: Order, account: Account) -> None:",
        "    till.pay_out(order.total(), by=account)",
    )
    world.agent().write("refunds.py", f"{head}\n{guard}\n{last}\n")
    world.commit()


@scenario()
def guard_removed_and_put_back_by_a_person(world: World) -> None:
    """An agent removes a guard; later a person writes another guard with one changed word in its place."""
    a_shop(world, CHECKED)
    guard = f"{line(CHECKED, 5)}\n{line(CHECKED, 6)}\n"
    world.agent().edit("shop.py", guard, "    journal.note_without_guard(order, account)\n")
    world.commit()
    mended = '    if order.total() < account.smallest_payment:\n        raise PaymentTooSmall(order, by="card")\n'
    world.person.edit("shop.py", "    journal.note_without_guard(order, account)\n", mended)
    world.commit("put a guard back")


@scenario()
def one_word_changed_below_a_new_line(world: World) -> None:
    """An agent adds a line and changes one word of another one, which makes the author disputed."""
    a_shop(world, SHIPPING)
    old, agent = line(SHIPPING, 4), world.agent()
    new = old.replace("TARIFFS", "PRICES_BY_ZONE")
    agent.edit("shop.py", old, new, Declared(either=[new]))
    agent.edit("shop.py", line(SHIPPING, 2), f"{line(SHIPPING, 2)}\n    assert parcels_are_weighed(order, scale=1)")
    world.commit()


SCENARIOS = (
    deleted_words_picked_to_a_release,
    words_deleted_by_two_agents_in_turn,
    discarded_function_typed_by_a_person,
    agent_repeats_a_persons_block,
    guard_removed_and_put_back_by_a_person,
    one_word_changed_below_a_new_line,
)
