"""Where a module of attacks lists them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.attacks.model import Attack, Attacker, Step, WayIn, do_nothing


@dataclass
class AttackBook:
    """The attacks of one module, in its order."""

    attacks: list[Attack] = field(default_factory=list)

    def attack(
        self,
        attacker: Attacker,
        *ways: WayIn,
        does: str,
        name: str | None = None,
        prepare: Step = do_nothing,
        check: Step = do_nothing,
        writes_records: bool = True,
    ) -> Callable[[Step], Step]:
        """List the decorated function as an attack; its name is the function's unless another is passed."""

        def register(perform: Step) -> Step:
            named = name or perform.__name__.replace("_", "-")
            made = Attack(
                name=named,
                attacker=attacker,
                ways=ways,
                does=does,
                perform=perform,
                prepare=prepare,
                check=check,
                writes_records=writes_records,
            )
            self.attacks.append(made)
            return perform

        return register
