"""A kind of secret, a sample of it, and what may surround it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bench.redaction_corpus.draw import Draw

Place = Callable[[Draw, str, str], str]
"""From a variable's name and its secret to a text that holds the secret once."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text as an agent's event may hold it, and the secrets in it."""

    text: str
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of secret: its family, and how a sample of it is made."""

    name: str
    family: str
    sample: Callable[[Draw], Sample]


@dataclass(frozen=True, slots=True)
class Places:
    """Surroundings: those that name the variable, and those that hold nothing but the secret itself."""

    named: Sequence[Place]
    bare: Sequence[Place]


def in_places(
    family: str, name: str, places: Places, variable: str, make: Callable[[Draw], str], *, alone: bool = True
) -> Kind:
    """A kind whose secret is one token; ``alone`` when its shape says what it is, so that no name need stand by."""
    chosen = [*places.named, *places.bare] if alone else list(places.named)

    def sample(draw: Draw) -> Sample:
        secret = make(draw)
        return Sample(draw.random.choice(chosen)(draw, variable, secret), (secret,))

    return Kind(name, family, sample)


def written(family: str, name: str, write: Callable[[Draw, str], str], make: Callable[[Draw], str]) -> Kind:
    """A kind that stands in surroundings of its own."""

    def sample(draw: Draw) -> Sample:
        secret = make(draw)
        return Sample(write(draw, secret), (secret,))

    return Kind(name, family, sample)


def samples(kind: Kind, seed: int, count: int) -> Iterator[Sample]:
    """The first ``count`` samples of ``kind``; the same for the same seed."""
    for number in range(count):
        yield kind.sample(Draw(Random(f"{seed}:{kind.name}:{number}")))


@dataclass(frozen=True, slots=True)
class Harmless:
    """A text without a secret, and the ids and hashes in it that must stay whole whatever happens."""

    text: str
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HarmlessKind:
    """One kind of harmless text and how a text of it is made."""

    name: str
    text: Callable[[Draw], Harmless]


def harmless_texts(kind: HarmlessKind, seed: int, count: int) -> Iterator[Harmless]:
    """The first ``count`` texts of ``kind``; the same for the same seed (and the same Python installation)."""
    for number in range(count):
        yield kind.text(Draw(Random(f"{seed}:{kind.name}:{number}")))
