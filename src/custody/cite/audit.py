"""Say what is wrong with a report's citations. Nothing is changed: the audit never adds a citation to pass itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType

from custody.cite.checks import list_checks as listed
from custody.cite.checks import marker_checks as pointing
from custody.cite.checks import numbering, shape
from custody.cite.codes import Code, Finding
from custody.cite.coverage import Coverage, coverage_of
from custody.cite.rules import CiteRules
from custody.cite.subject import Found, Subject

Check = Callable[[Subject, CiteRules], Iterable[Found]]

CHECKS: MappingProxyType[Code, Check] = MappingProxyType(
    {
        Code.NONE: pointing.cites_nothing,
        Code.UNKNOWN: pointing.without_source,
        Code.UNUSED: listed.never_cited,
        Code.GAP: numbering.gaps,
        Code.ORDER: numbering.out_of_order,
        Code.TWICE: listed.listed_twice,
        Code.CLASH: listed.same_label,
        Code.DOMAIN: listed.bare_domain,
        Code.SCHEME: listed.no_page,
        Code.EMPTY: listed.says_nothing,
        Code.LIST: shape.list_does_not_show,
        Code.RANGE: pointing.backwards,
        Code.CIRCLE: shape.in_a_circle,
        Code.TEXT: shape.no_text,
    }
)
"""Every check by the code that it gives; coverage and support are looked at beside them."""

_ORDER = {code: at for at, code in enumerate(Code)}


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit says of one report; it passes if there is no finding."""

    findings: tuple[Finding, ...]
    coverage: Coverage
    markers: int
    sources: int

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit(data: bytes, rules: CiteRules) -> Audit:
    """Look at every check; findings in the order of the text."""
    return audit_of(Subject.of(data), rules)


def audit_of(subject: Subject, rules: CiteRules, more: Iterable[Found] = ()) -> Audit:
    """The same for a report that was read already, with what other checks found."""
    coverage = coverage_of(subject, rules)
    found = [one for check in CHECKS.values() for one in check(subject, rules)]
    found += [*_uncovered(subject, coverage, rules), *more]
    found.sort(key=lambda one: (one.at, _ORDER[one.code], one.message))
    findings = []
    for one in found:
        line, column = subject.layout.place(one.at)
        findings.append(Finding(one.code, line, column, one.message))
    return Audit(tuple(findings), coverage, len(subject.markers), len(subject.listing.entries))


def _uncovered(subject: Subject, coverage: Coverage, rules: CiteRules) -> Iterable[Found]:
    if coverage.ratio < rules.coverage_min:
        share = f"{coverage.cited} of {coverage.total} sentences with evidence are cited"
        yield Found(Code.COVERAGE, 0, f"{share}: {coverage.ratio:.2f}, below {rules.coverage_min:g}")
