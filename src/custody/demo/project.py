"""The texts of the sample project and of the six changes. Any edit here changes the commit ids of the story."""

README = "# till\n\nAdds up what is in a basket.\n"
TESTS_RUN = "\nThe tests run with pytest.\n"

BASKET = '''\
"""What somebody wants to buy."""

from decimal import Decimal


class Basket:
    """Things with their prices."""

    def __init__(self) -> None:
        self.prices: list[Decimal] = []

    def add(self, price: Decimal) -> None:
        self.prices.append(price)
'''

BY_HAND = """
    def total(self) -> Decimal:
        return sum(self.prices, Decimal(0))
"""

TAX = '''\
"""Value added tax."""

from decimal import Decimal

STANDARD_RATE = Decimal("0.19")


def with_tax(net: Decimal, rate: Decimal = STANDARD_RATE) -> Decimal:
    """The price with tax, in whole cents."""
    return (net * (1 + rate)).quantize(Decimal("0.01"))
'''

PRICES = '''\
"""Prices as people type them."""

from decimal import Decimal, InvalidOperation

CURRENCY_SIGNS = "€$£"


def parse_price(text: str) -> Decimal:
    """The price that the text names, in whole cents."""
    cleaned = text.strip().strip(CURRENCY_SIGNS).strip().replace(",", ".")
    try:
        price = Decimal(cleaned)
    except InvalidOperation as error:
        raise ValueError(f"not a price: {text!r}") from error
    if price < 0:
        raise ValueError(f"a price is never negative: {text!r}")
    return price.quantize(Decimal("0.01"))
'''

TEST_PRICES = """\
from decimal import Decimal

import pytest

from till.prices import parse_price


def test_a_comma_parts_euros_and_cents() -> None:
    assert parse_price("3,50 €") == Decimal("3.50")


def test_a_currency_sign_may_stand_on_either_side() -> None:
    assert parse_price("$4.20") == parse_price("4.20 $")


def test_a_word_is_no_price() -> None:
    with pytest.raises(ValueError, match="not a price"):
        parse_price("cheap")


def test_a_price_is_never_negative() -> None:
    with pytest.raises(ValueError, match="never negative"):
        parse_price("-1")
"""

REWRITTEN_PRICES = '''\
"""Reading amounts of money with a pattern, digit by digit."""

import re
from dataclasses import dataclass
from decimal import Decimal

AMOUNT = re.compile(r"(?P<minus>-?)(?P<whole>[0-9]+)(?:[.,](?P<part>[0-9]{1,2}))?")


@dataclass(frozen=True)
class Money:
    units: int
    hundredths: int

    def as_decimal(self) -> Decimal:
        return Decimal(self.units * 100 + self.hundredths).scaleb(-2)


def _scan(raw: str) -> Money:
    hit = AMOUNT.search(raw)
    if hit is None:
        raise ValueError("not a price")
    if hit["minus"]:
        raise ValueError("never negative")
    return Money(int(hit["whole"]), int((hit["part"] or "0").ljust(2, "0")))


def parse_price(raw: str) -> Decimal:
    return _scan(raw).as_decimal()
'''

REWRITTEN_TESTS = """\
from decimal import Decimal

import pytest

from till.prices import parse_price


def test_a_comma_parts_euros_and_cents() -> None:
    assert parse_price("12,05") == Decimal("12.05")


def test_a_currency_sign_may_stand_on_either_side() -> None:
    assert parse_price("£7") == parse_price("7 £") == Decimal(7)


def test_a_word_is_no_price() -> None:
    with pytest.raises(ValueError, match="not a price"):
        parse_price("free")


def test_a_price_is_never_negative() -> None:
    with pytest.raises(ValueError, match="never negative"):
        parse_price("-0.99")
"""

TAX_FIX = """\
    if rate < 0:
        raise ValueError(f"a tax rate is never negative: {rate}")
"""

DISCOUNTS = '''\
"""Discounts that nobody asked for."""

from decimal import Decimal


def staff_discount(price: Decimal, code: str) -> Decimal:
    """Half the price for whoever knows the word."""
    if code == "mallory":
        return price / 2
    return price
'''

REPORT = """\
# How other tills round

Nine of ten tills in Europe round every line of a receipt, and not the sum. In 2024 this cost an average shop in
Germany 312 euros. Banker's rounding halves that loss, as the Bundesbank found in 2019.

Sweden and Finland have rounded to five cents since 2004, and sales rose by 2 % afterwards. No customer complained.
"""

FORMATTED = '''

def format_price(price: Decimal) -> str:
    """The price as it stands on a receipt."""
    return f"{price:.2f} €".replace(".", ",")
'''

TEST_FORMATTED = """

def test_a_receipt_shows_a_comma() -> None:
    assert format_price(Decimal("3.5")) == "3,50 €"
"""
