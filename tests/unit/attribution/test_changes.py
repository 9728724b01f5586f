"""Removing a word counts as adding one: texts compared word by word, and calls that only delete."""

from custody.attribution.changes import compare_texts
from custody.attribution.lineage import BETWEEN, CapturedStep, LineOrigin, TracedText, carry_origins, replay_step
from custody.attribution.rules import AttributeRules
from tests.builders.table import table

RULES = AttributeRules()
AROUND = ["import alpha_module", "price = read_price(source)"]
LONG = " + ".join(f"value_{n}" for n in range(40))
GUARDED = "    if user.is_known and user.may_pay(total_price):"


@table(
    ("before", "after"),
    [
        (GUARDED, "    if user.is_known:"),
        ("    if not user.is_blocked:", "    if user.is_blocked:"),
        ("    if (!user.isBlocked(account)) {", "    if (user.isBlocked(account)) {"),
        ("    if total_price >= least_price:", "    if total_price > least_price:"),
        ("    total_price = net_price + vat", "    total_price = net_price - vat"),
        (f"return {LONG} + last_value", f"return {LONG}"),
        (GUARDED, "    if user.is_known or user.may_pay(total_price):"),
    ],
)
def test_a_call_that_only_deletes_or_flips_something_wrote_the_line(before: str, after: str) -> None:
    for known in (None, TracedText([*AROUND, before], [LineOrigin(1)] * 3)):
        replayed = replay_step(CapturedStep(2, [*AROUND, before], [*AROUND, after]), known, RULES)
        assert [origin.state for origin in replayed.origins] == [known is not None, known is not None, 2]


@table(
    ("before", "after"),
    [
        (["send(alpha, beta, gamma)"], ["send(", "    alpha,", "    beta,", "    gamma,", ")"]),
        (["send(", "    'alpha', 'beta'", ")"], ['send("alpha", "beta")']),
        (
            ["the first words of a paragraph", "and the last words of it"],
            ["the first words of a paragraph and", "the last words of it"],
        ),
        (["- an item of a list"], ["* an item of a list"]),
        (
            ["alpha_line = read_everything(first)", "beta_line = read_nothing(second)"],
            ["beta_line = read_nothing(second)", "alpha_line = read_everything(first)"],
        ),
    ],
)
def test_a_call_that_only_reformats_joins_or_reorders_wrote_nothing(before: list[str], after: list[str]) -> None:
    replayed = replay_step(CapturedStep(2, before, after), None, RULES)
    assert {origin.state for origin in replayed.origins} == {0}


def test_removed_words_lower_the_share_as_added_words_do() -> None:
    line, longer = "total = price * count * rate", "total = price * count * rate + tax"
    (added,) = carry_origins(TracedText([line], [LineOrigin(1)]), [longer], BETWEEN, 0.7).origins
    (removed,) = carry_origins(TracedText([longer], [LineOrigin(1)]), [line], BETWEEN, 0.7).origins
    assert added == removed == LineOrigin(1, 0.8)
    assert carry_origins(TracedText([GUARDED], [LineOrigin(1)]), ["    if user.is_known:"], BETWEEN, 0.7).origins == (
        BETWEEN,
    )


def test_the_edit_of_a_line_has_its_added_and_removed_words_and_its_former_line() -> None:
    compared = compare_texts(
        [*AROUND, GUARDED, "        pay(total_price)"],
        [*AROUND, "    if user.is_trusted:", "        pay(total_price)", "done = settle_account(user)"],
    )
    assert {j: (edit.added, edit.removed, edit.old) for j, edit in compared.edits.items()} == {
        2: (1, ("is_known", "and", "user", "may_pay", "total_price"), 2),
        4: (3, (), None),
    }
    assert list(compared.list_gone(4)) == []


def test_a_deleted_line_is_gone_and_a_few_common_words_elsewhere_are_not_its_rest() -> None:
    old = [
        *AROUND,
        "    if not user.may_pay(total_price):",
        "        raise Refused(user)",
        "settle_account(user, total_price)",
    ]
    compared = compare_texts(old, [*AROUND, "settle_account(user, total_price, currency)"])
    assert list(compared.list_gone(len(old))) == [2, 3]
    assert [edit.removed for edit in compared.edits.values()] == [()]
