"""The forms of pages: they write with the reader's own token, so each needs the same origin and a form token."""

from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import parse_qsl

from custody.core.errors import InputError
from custody.core.wire.report import Report, encode_report
from custody.server.app.page_forms import PageDecision, record_page_decision, record_page_read
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, Handle, HttpAnswer
from custody.server.form_token import FIELD, check_form_token
from custody.server.problems import HTML
from custody.server.route_kinds import name_page_reader
from custody.server.routes.pages import FORM, NS_PER_S, choose_redirect_path

FORM_BYTES_MAX = 64 * 1024
FIELDS_MAX = 1_010
"""A form that marks a file as read names each of its hunks."""

Form = Mapping[str, list[str]]


async def decide(call: EndpointCall) -> HttpAnswer:
    """Record a decision about a change."""
    form = await _read_form(call)
    sent = PageDecision(
        change=_require_field(form, "change"),
        agent=_require_field(form, "agent"),
        decision=_require_field(form, "decision"),
        reason=_get_field(form, "reason"),
        actor=name_page_reader(call),
    )
    return _answer_form(call, form, await call.ask(lambda workspace: record_page_decision(workspace, sent)))


async def mark_read(call: EndpointCall) -> HttpAnswer:
    """Record that hunks of a change were read."""
    form, actor = await _read_form(call), name_page_reader(call)
    change, hunks, paths = _require_field(form, "change"), form.get("hunk", []), form.get("path", [])
    report = await call.ask(lambda workspace: record_page_read(workspace, change, hunks, paths, actor))
    return _answer_form(call, form, report)


async def _read_form(call: EndpointCall) -> Form:
    """Return the fields of a form that this reader's own page sent."""
    try:
        text = (await call.body()).decode()
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict")
    except UnicodeDecodeError as error:
        raise InputError("the form is not UTF-8 text") from error
    except ValueError as error:
        raise InputError(f"the form has more than {FIELDS_MAX:,} fields") from error
    form: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in pairs:
        form[name].append(value)
    key: bytes = call.request.scope["state"]["form_key"]
    now_s = call.service.settings.now_ns() // NS_PER_S
    check_form_token(_get_field(form, FIELD), key, call.grant.project, now_s)
    return form


def _get_field(form: Form, name: str) -> str:
    values = form.get(name, [])
    if len(values) > 1:
        raise InputError(f"'{name}' occurs {len(values):,} times", hint="send it once")
    return values[0] if values else ""


def _require_field(form: Form, name: str) -> str:
    value = _get_field(form, name).strip()
    if not value:
        raise InputError(f"the form has no '{name}'", hint="reload the page, then try again")
    return value


def _answer_form(call: EndpointCall, form: Form, report: Report) -> HttpAnswer:
    """Return the report to a script, and the page that the form was on to a browser."""
    if "text/html" not in call.request.headers.get("accept", ""):
        return HttpAnswer(body=encode_report(report))
    return HttpAnswer(body=b"", status=303, headers={"location": choose_redirect_path(_get_field(form, "next"))})


def _make_form_endpoint(path: str, name: str, summary: str, handle: Handle) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        name=name,
        summary=summary,
        scope=TokenScope.WRITE,
        handle=handle,
        gives={200: JSON, 303: HTML},
        takes={FORM: {"type": "object"}},
        bytes_max=FORM_BYTES_MAX,
    )


FORMS: tuple[Endpoint, ...] = (
    _make_form_endpoint("/decide", "form-decide", "Record a decision about a change, from its page.", decide),
    _make_form_endpoint("/mark-read", "form-mark-read", "Mark hunks of a change as read, from its page.", mark_read),
)
FORM_PATHS = frozenset(endpoint.path for endpoint in FORMS)
"""The only paths to which a browser's cookie may be posted, from the same origin."""
