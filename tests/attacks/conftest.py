"""The repositories that are attacked: one for each policy, built once for each worker."""

from collections.abc import Callable

import pytest

from tests.attacks.ground import Ground
from tests.attacks.model import Setting


@pytest.fixture(scope="session")
def ground_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Setting], Ground]:
    """Return the repository with a policy on its base branch."""
    made: dict[Setting, Ground] = {}

    def build(setting: Setting) -> Ground:
        if setting not in made:
            made[setting] = Ground(setting, tmp_path_factory.mktemp("ground") / setting.name.lower())
        return made[setting]

    return build
