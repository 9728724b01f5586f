"""Who may send requests, and how often."""

from typing import Any

import pytest

from custody.core.errors import InputError, StoreError
from custody.server.app.tenancy import Grant, TokenScope
from custody.server.auth import LOOPBACK_NAMES, CallerLimits, PerStartKeeper, TlsSettings
from custody.server.endpoints import Endpoint
from custody.server.gatekeeper import Rates, is_over_tls
from custody.server.routes import ENDPOINTS
from tests.builders.service import ALL, OTHER, Asked, TestKeeper, a_trace, asked, bearer

GUARDED = [endpoint for endpoint in ENDPOINTS if endpoint.scope is not None]
STRANGERS: tuple[dict[str, str], ...] = (
    {},
    bearer("wrong"),
    bearer("expired"),
    bearer(""),
    {"Authorization": ALL},
    {"Authorization": f"Basic {ALL}"},
)


def call(made: Asked, endpoint: Endpoint, headers: dict[str, str], question: str = "") -> Any:
    path = endpoint.path
    for place in endpoint.places:
        path = path.replace("{" + place + "}", "x")
    if endpoint.method == "POST":
        typed = {**headers, "content-type": "application/json"}
        return made.client.post(path + question, content=b"[]", headers=typed)
    return made.client.get(path + question, headers=headers)


@pytest.mark.parametrize("endpoint", GUARDED, ids=lambda endpoint: endpoint.name)
def test_a_stranger_gets_in_nowhere(service: Asked, endpoint: Endpoint) -> None:
    for headers in STRANGERS:
        answer = call(service, endpoint, headers)
        assert answer.status_code == 401, headers
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert service.kept() == []


@pytest.mark.parametrize("endpoint", GUARDED, ids=lambda endpoint: endpoint.name)
def test_a_token_without_the_scope_or_of_another_project_gets_in_nowhere(service: Asked, endpoint: Endpoint) -> None:
    for scope in set(TokenScope) - {endpoint.scope}:
        assert call(service, endpoint, bearer(scope.value)).status_code == 403, scope
    assert call(service, endpoint, bearer(OTHER), "?project=default").status_code == 403
    assert service.kept() == []


def test_what_needs_no_token_is_known_by_name() -> None:
    assert {endpoint.path for endpoint in ENDPOINTS if endpoint.scope is None} == {"/health", "/github/webhook"}


def test_only_health_is_open(service: Asked) -> None:
    assert service.client.get("/health").json()["status"] == "up"
    for path in ("/", "/nothing", "/openapi.json", "/ready", "/metrics", "/api/v1/nothing"):
        assert service.client.get(path).status_code == 401, path


def test_every_path_and_method_that_is_not_there_is_said_so(service: Asked) -> None:
    assert service.get("/api/v1/nothing").status_code == 404
    answer = service.client.delete("/api/v1/traces", headers=bearer())
    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_projects_records_are_seen_by_its_tokens_alone(service: Asked) -> None:
    service.send("traces", a_trace("mine"))
    service.send("traces", a_trace("theirs"), token=OTHER)

    assert [item["id"] for item in service.get("/api/v1/traces").json()["items"]] == ["mine"]
    assert [item["id"] for item in service.get("/api/v1/traces", token=OTHER).json()["items"]] == ["theirs"]


def test_other_hosts_and_other_sites_are_refused(keeper: TestKeeper) -> None:
    with asked(keeper, hosts=LOOPBACK_NAMES) as made:
        for host in ("127.0.0.1:80", "localhost", "LocalHost:1", "[::1]:80", "[::1]"):
            assert made.get("/", host=host).status_code == 200, host
        evil = (
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "",
            "localhost.",
            "::1",
            "localhost:evil.example",
        )
        for host in evil:
            assert made.get("/", host=host).status_code == 403, host
            assert made.client.get("/health", headers={"host": host}).status_code == 403, host
        assert made.get("/", host="localhost:1", origin="http://localhost:1").status_code == 200
        for origin in ("http://evil.example", "null", "http://localhost:2", "localhost:1"):
            assert made.get("/", host="localhost:1", origin=origin).status_code == 403, origin
        assert made.send("traces", a_trace(), origin="http://evil.example").status_code == 403
        assert made.kept() == []


def test_a_browser_trades_the_token_in_its_address_for_a_cookie(keeper: TestKeeper) -> None:
    with asked(keeper, token_in_address=True) as made:
        made.client.follow_redirects = False
        answer = made.client.get(f"/openapi.json?a=1&token={ALL}&b=2")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/openapi.json?a=1&b=2"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie

        held = {"cookie": cookie.partition(";")[0]}
        made.client.cookies.clear()
        assert made.client.get("/openapi.json", headers=held).status_code == 200
        assert made.client.post("/api/v1/traces", json=a_trace(), headers=held).status_code == 401, "never by cookie"
        made.client.cookies.clear()
        assert made.client.get("/openapi.json?token=wrong").status_code == 401
        for odd in ("custody_token", "custody_token=\x80", "=;=;;", "custody_token=wrong"):
            assert made.client.get("/", headers={b"cookie": odd.encode("latin-1")}).status_code == 401, odd


def test_a_stale_token_in_an_address_takes_nothing_from_whoever_is_let_in(keeper: TestKeeper) -> None:
    with asked(keeper, token_in_address=True) as made:
        made.client.follow_redirects = False
        held = {"cookie": f"custody_token={ALL}", "accept": "text/html"}
        moved = made.client.get("/blame?file=a+b&token=stale", headers=held)
        assert moved.status_code == 303 and moved.headers["location"] == "/blame?file=a+b"
        assert "set-cookie" not in moved.headers
        stranger = made.client.get("/blame?file=%C3%A4&token=stale", headers={"accept": "text/html"})
        assert stranger.status_code == 401
        assert 'name="next" value="/blame?file=%C3%A4"' in stranger.text and "stale" not in stranger.text


PROXY = TlsSettings.of(None, ["10.0.0.0/8", "::1"])
PUBLIC = TlsSettings.of("https://custody.example/", [])


@pytest.mark.parametrize(
    ("expected", "tls", "client", "headers", "scheme"),
    [
        (True, PROXY, "10.1.2.3", {"x-forwarded-proto": "https"}, "http"),
        (True, PROXY, "::1", {"x-forwarded-proto": "http, HTTPS"}, "http"),
        (False, PROXY, "10.1.2.3", {"x-forwarded-proto": "https, http"}, "http"),
        (False, PROXY, "10.1.2.3", {"x-forwarded-proto": "http", "origin": "https://custody.example"}, "http"),
        (False, PROXY, "192.0.2.1", {"x-forwarded-proto": "https"}, "http"),
        (False, TlsSettings(), "127.0.0.1", {"x-forwarded-proto": "https"}, "http"),
        (False, PROXY, "a socket", {"x-forwarded-proto": "https"}, "http"),
        (True, TlsSettings(), "192.0.2.1", {}, "https"),
        (True, PUBLIC, "192.0.2.1", {}, "http"),
        (False, PUBLIC, "127.0.0.1", {"host": "127.0.0.1:8787"}, "http"),
        (False, TlsSettings.of("http://custody.example", []), "192.0.2.1", {}, "http"),
        (True, TlsSettings(), "192.0.2.1", {"origin": "https://custody.example"}, "http"),
        (False, TlsSettings(), "192.0.2.1", {"origin": "http://custody.example"}, "http"),
        (False, TlsSettings(), "127.0.0.1", {"host": "localhost:8787", "origin": "https://localhost:8787"}, "http"),
        (False, TlsSettings(), "127.0.0.1", {"host": "127.0.0.1:8787"}, "http"),
    ],
)
def test_tls_is_known_from_whoever_can_know_it(
    expected: bool, tls: TlsSettings, client: str, headers: dict[str, str], scheme: str
) -> None:
    pairs = {"host": "custody.example", **headers}.items()
    encoded = [(name.encode(), value.encode()) for name, value in pairs]
    assert is_over_tls({"headers": encoded, "client": (client, 1234), "scheme": scheme}, tls) is expected


def test_the_cookie_of_a_url_is_secure_over_tls_only(keeper: TestKeeper) -> None:
    tls = TlsSettings.of("https://127.0.0.1:8001", [])
    with asked(keeper, hosts=LOOPBACK_NAMES, token_in_address=True, tls=tls) as made:
        for host, secure in (("127.0.0.1:8001", True), ("127.0.0.1:8002", False)):
            moved = made.client.get(f"/?token={ALL}", headers={"host": host}, follow_redirects=False)
            assert moved.headers["set-cookie"].endswith("; Secure") is secure
            made.client.cookies.clear()


@pytest.mark.parametrize(("url", "proxy"), [("custody.example", None), ("ftp://x", None), (None, "proxy.example")])
def test_invalid_settings_of_tls_are_refused(url: str | None, proxy: str | None) -> None:
    with pytest.raises(InputError, match="invalid URL|IPv4 or IPv6"):
        TlsSettings.of(url, [] if proxy is None else [proxy])


def test_services_on_other_ports_and_their_cookies_do_not_interfere(keeper: TestKeeper) -> None:
    with asked(keeper, token_in_address=True) as made:
        made.client.follow_redirects = False
        moved = made.client.get(f"/?token={ALL}", headers={"host": "127.0.0.1:8001"})
        assert moved.headers["set-cookie"].startswith(f"custody_token_8001={ALL};")
        made.client.cookies.clear()
        theirs = 'other={"json": [1]}; a[b]=c; @'
        held = f"{theirs}; custody_token_8001={ALL}; custody_token_8002=theirs; custody_token=old"
        for port, status in (("8001", 200), ("8002", 401), ("8003", 401)):
            there = {"host": f"127.0.0.1:{port}", "cookie": held}
            assert made.client.get("/openapi.json", headers=there).status_code == status, port


def test_elsewhere_an_address_opens_nothing_and_a_cookie_asks_only(service: Asked) -> None:
    cookie = {"cookie": f"custody_token={ALL}"}
    assert service.client.get(f"/?token={ALL}").status_code == 401
    assert service.client.get("/", headers=cookie).status_code == 200
    assert service.client.post("/api/v1/traces", headers=cookie, json=[]).status_code == 401


def test_a_token_that_asks_too_often_waits(keeper: TestKeeper) -> None:
    with asked(keeper, limits=CallerLimits(rate_per_second=0.01, rate_burst=3)) as made:
        answers = [made.get("/") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 100
        assert made.get("/", token="read").status_code == 200, "another token is not held up"
        assert made.send("traces", a_trace()).status_code == 429
        assert made.kept() == []


def test_rates_are_given_back_with_time() -> None:
    rates = Rates(per_second=2.0, burst=4)

    assert [rates.wait("a", 0.0) > 0 for _ in range(5)] == [False] * 4 + [True]
    assert rates.wait("a", 0.25) == pytest.approx(0.25)
    assert rates.wait("a", 0.5) == 0.0
    assert [rates.wait("a", 1e9) > 0 for _ in range(5)] == [False] * 4 + [True], "never more than the burst"


def test_too_many_requests_at_once_get_a_retry_time(keeper: TestKeeper) -> None:
    with asked(keeper, limits=CallerLimits(in_flight=0)) as made:
        answer = made.get("/")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0


def test_a_head_over_the_limit_is_refused(service: Asked) -> None:
    assert service.get("/", x="a" * 40_000).status_code == 431
    assert service.get("/?" + "a" * 40_000).status_code == 431


def test_a_gatekeeper_that_cannot_answer_rejects_everyone(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise StoreError("gone")

    monkeypatch.setattr(service.keeper, "grant", fails)
    answer = service.get("/")

    assert answer.status_code == 503
    assert "gone" not in answer.text
    assert service.client.get("/health").status_code == 200


def test_a_token_that_ends_is_refused_from_then_on(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    now = service.workspace.now_ns()
    service.keeper.grants["short"] = Grant("default", frozenset(TokenScope), "t-short", now + 10**12)
    assert service.get("/", token="short").status_code == 200

    service.keeper.grants["short"] = Grant("default", frozenset(TokenScope), "t-short", now - 1)
    assert service.get("/", token="new-" + "short").status_code == 401


def test_the_token_of_a_start_opens_its_project_and_others_are_asked_of_others(service: Asked) -> None:
    keeper = PerStartKeeper(service.workspace, "sesame", service.keeper)

    own = keeper.grant("sesame", 0)
    assert own is not None and own.scopes == frozenset(TokenScope) and own.project == "default"
    assert keeper.grant("sesam", 0) is None and keeper.grant("", 0) is None and keeper.grant("\udcff", 0) is None
    assert keeper.grant(OTHER, 0) == service.keeper.grants[OTHER]
    assert (
        keeper.workspace("other") is service.keeper.workspaces["other"]
        and keeper.workspace("default") is service.workspace
    )
    keeper.record_text_read(own, "x")
    keeper.record_text_read(service.keeper.grants[OTHER], "y")
    assert service.keeper.reads == [("t-other", "y")]


def test_answers_are_not_kept_and_not_guessed_at(service: Asked) -> None:
    for answer in (service.get("/"), service.client.get("/"), service.client.get("/health")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_counts_are_by_route_and_never_by_what_a_caller_made_up(service: Asked) -> None:
    service.get("/made-up-path")
    service.client.request("MADEUP", "/", headers=bearer())
    service.send("traces", a_trace())

    text = service.get("/metrics").text
    assert "made-up" not in text and "MADEUP" not in text and ALL not in text
    assert 'custody_requests_total{method="POST",route="/api/v1/traces",status="201"} 1.0' in text
    assert 'custody_ingested_total{fate="new"} 1.0' in text
