"""Pieces of source text that the stories are made of."""

SHOP = '''\
"""A small shop: orders, prices and customers."""

import logging
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass
class Order:
    """What somebody bought."""

    number: int
    customer: str
    prices: list[float]

    def total(self) -> float:
        """All prices together."""
        return sum(self.prices)


def greeting(customer: str) -> str:
    """What the first page says."""
    return f"Welcome back, {customer}!"
'''

DISCOUNT = '''\
def discounted(order: Order, percent: float) -> float:
    """The total after a discount, never below zero."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a discount of {percent} percent makes no sense")
    reduction = order.total() * percent / 100
    logger.debug("order %s reduced by %.2f", order.number, reduction)
    return max(0.0, order.total() - reduction)
'''

REPORT = '''\
def monthly_report(orders: list[Order]) -> dict[str, float]:
    """Revenue by customer, largest first."""
    revenue: dict[str, float] = {}
    for order in orders:
        revenue[order.customer] = revenue.get(order.customer, 0.0) + order.total()
    ranking = sorted(revenue.items(), key=lambda pair: pair[1], reverse=True)
    return dict(ranking)
'''

SHIPPING = '''\
def shipping_cost(weight_kg: float, country: str) -> float:
    """What sending a parcel costs, from the table of zones."""
    zone = ZONES.get(country, DEFAULT_ZONE)
    base, per_kilogram = TARIFFS[zone]
    surcharge = 4.5 if weight_kg > HEAVY_PARCEL_KG else 0.0
    return base + per_kilogram * weight_kg + surcharge
'''

REFUND = '''\
def refund(order: Order, reason: str) -> float:
    """Give the money back and say why in the log."""
    amount = order.total()
    logger.info("refunding %.2f for order %s because %s", amount, order.number, reason)
    order.prices.clear()
    return amount
'''

SEARCH = '''\
def find_orders(orders: list[Order], customer: str) -> list[Order]:
    """Orders of one customer, whatever the spelling."""
    wanted = customer.strip().casefold()
    return [order for order in orders if order.customer.casefold() == wanted]
'''

STOCK = '''\
def restock(levels: dict[str, int], deliveries: list[tuple[str, int]]) -> list[str]:
    """Add deliveries to the stock and name the articles that are still scarce."""
    for article, pieces in deliveries:
        levels[article] = levels.get(article, 0) + pieces
    scarce = [article for article, pieces in levels.items() if pieces < SCARCE_BELOW]
    return sorted(scarce)
'''

CART = """\
import { formatMoney } from "./money.js";

export class Cart {
  constructor(currency) {
    this.currency = currency;
    this.items = [];
  }

  add(article, quantity) {
    this.items.push({ article, quantity });
    return this;
  }
}
"""

CART_TOTAL = """\
  subtotal(priceList) {
    let cents = 0;
    for (const { article, quantity } of this.items) {
      cents += Math.round(priceList[article] * 100) * quantity;
    }
    return formatMoney(cents / 100, this.currency);
  }
"""


def block(text: str) -> str:
    """Return a piece without its last line end, as in the input of an edit."""
    return text.removesuffix("\n")


def after(base: str, *pieces: str) -> str:
    """Return a file of ``base`` and further pieces, two blank lines between them."""
    return "\n\n".join((base, *pieces))


def lines(text: str) -> list[str]:
    """Return the lines of a piece."""
    return block(text).split("\n")


def line(text: str, number: int) -> str:
    """Return one line of a piece, from 1."""
    return lines(text)[number - 1]
