"""The OpenAPI description is true: requests made from it get the described answers."""

import json
from pathlib import Path

import pytest

from bench.service_fuzz import TOKEN, a_service, fuzz
from custody.server.routes import ENDPOINTS
from tests.builders.service import Asked

SEEDS = range(5)
EXAMPLES = 1_100
"""Requests per seed, in total a little over 5,000. The first seed takes 17 seconds; others are slow."""


def test_every_endpoint_is_described_with_what_it_may_answer(service: Asked) -> None:
    said = service.get("/openapi.json").json()

    assert said["openapi"] == "3.1.0"
    for endpoint in ENDPOINTS:
        operation = said["paths"][endpoint.path][endpoint.method.lower()]
        assert operation["operationId"] == endpoint.name
        assert {"401", "403", "413", "422", "429", "503"} <= set(operation["responses"])
        assert ("requestBody" in operation) == bool(endpoint.takes)
        assert (operation.get("security") == []) == (endpoint.scope is None)
    names = [endpoint.name for endpoint in ENDPOINTS]
    assert len(names) == len(set(names))


def test_no_pattern_is_in_pythons_own_dialect(service: Asked) -> None:
    text = json.dumps(service.get("/openapi.json").json())

    assert "(?!" not in text and "ud800" not in text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])])
def test_requests_made_from_the_description_are_answered_as_it_says(tmp_path: Path, seed: int) -> None:
    done = fuzz(a_service(tmp_path), TOKEN, EXAMPLES, seed=seed)

    assert done.wrong == []
    assert done.bugs == 0
    assert done.count * len(SEEDS) >= 5_000
    statuses = {status for _, status in done.answers}
    assert {200, 201, 401, 404, 422} <= statuses
