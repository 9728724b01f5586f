"""JSON Schemas of everything that crosses the border, made from the types that read and write it."""

from typing import Any

import msgspec

from custody.wire.blame import BlameReport
from custody.wire.cite import CiteAuditReport, CiteConvertReport
from custody.wire.cite_context import CiteContextReport, CiteNearReport, CiteSearchReport, CiteTextReport
from custody.wire.cite_links import CiteLinksReport
from custody.wire.cite_registry import CiteAddReport, CiteListReport, CiteMergeReport, CiteShowReport
from custody.wire.cite_writing import Beside, CiteContractReport, CiteReportReport
from custody.wire.claims_reports import ExportGitAiReport, ImportEntireReport, ImportGitAiReport
from custody.wire.demo import DemoReport
from custody.wire.dupes import (
    DupesBenchReport,
    DupesCheckReport,
    DupesClusterReport,
    DupesIndexReport,
    DupesLabelReport,
    DupesShowReport,
)
from custody.wire.events import AnyEvent
from custody.wire.exports import Line
from custody.wire.gate import GateReport
from custody.wire.github_reports import GitHubBackfillReport, GitHubConnectReport, GitHubListReport
from custody.wire.graph import (
    GraphDagReport,
    GraphDiffReport,
    GraphNextReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphShowReport,
)
from custody.wire.graph_run import GraphRunReport
from custody.wire.otlp_reports import ExportOtlpReport, ImportOtlpReport
from custody.wire.pages import PagesReport
from custody.wire.reports import (
    DoctorReport,
    EraseReport,
    ExportReport,
    ExportTracesReport,
    ImportAgentsReport,
    ImportEventsReport,
    ImportReport,
    ImportTracesReport,
    ImportTranscriptsReport,
    InitReport,
    LogReport,
    RecordsReport,
    Report,
    RulesReport,
    SessionReport,
    ShowReport,
    UninstallReport,
    VerifyReport,
)
from custody.wire.serving import ServeReport
from custody.wire.sharing import PullReport, PushReport, RemoteReport
from custody.wire.stats import StatsReport
from custody.wire.tenancy import (
    ProjectInitReport,
    ProjectListReport,
    ProjectReadsReport,
    ProjectReport,
    TokenCreateReport,
    TokenListReport,
    TokenRevokeReport,
    WorkerListReport,
    WorkerReport,
    WorkerRetryReport,
)
from custody.wire.trust import (
    TrustApproveReport,
    TrustListReport,
    TrustOutcomeReport,
    TrustRecordReport,
    TrustRevertsReport,
    TrustShowReport,
    TrustVerifyReport,
    TrustWhyReport,
)
from custody.wire.trust_chance import TrustBenchReport, TrustSimulateReport
from custody.wire.verdict import VerdictReport
from custody.wire.why import WhyReport

REPORTS: tuple[type[Report], ...] = (
    DemoReport,
    DoctorReport,
    EraseReport,
    ExportGitAiReport,
    ExportOtlpReport,
    ExportReport,
    ExportTracesReport,
    ImportAgentsReport,
    ImportEventsReport,
    ImportEntireReport,
    ImportGitAiReport,
    ImportOtlpReport,
    ImportReport,
    ImportTracesReport,
    ImportTranscriptsReport,
    InitReport,
    LogReport,
    PagesReport,
    RecordsReport,
    RulesReport,
    ServeReport,
    SessionReport,
    ShowReport,
    UninstallReport,
    VerdictReport,
    VerifyReport,
    PushReport,
    PullReport,
    RemoteReport,
    BlameReport,
    WhyReport,
    StatsReport,
    GateReport,
    GitHubBackfillReport,
    GitHubConnectReport,
    GitHubListReport,
    GraphRunReport,
    GraphShowReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphNextReport,
    GraphDagReport,
    GraphDiffReport,
    CiteAuditReport,
    CiteConvertReport,
    CiteReportReport,
    CiteContractReport,
    CiteAddReport,
    CiteListReport,
    CiteMergeReport,
    CiteShowReport,
    CiteLinksReport,
    CiteContextReport,
    CiteTextReport,
    CiteNearReport,
    CiteSearchReport,
    TrustApproveReport,
    TrustListReport,
    TrustShowReport,
    TrustWhyReport,
    TrustRecordReport,
    TrustOutcomeReport,
    TrustRevertsReport,
    TrustVerifyReport,
    TrustBenchReport,
    TrustSimulateReport,
    DupesIndexReport,
    DupesCheckReport,
    DupesShowReport,
    DupesClusterReport,
    DupesLabelReport,
    DupesBenchReport,
    ProjectInitReport,
    ProjectListReport,
    ProjectReadsReport,
    ProjectReport,
    TokenCreateReport,
    TokenListReport,
    TokenRevokeReport,
    WorkerListReport,
    WorkerReport,
    WorkerRetryReport,
)


def schemas() -> dict[str, dict[str, Any]]:
    """Name → JSON Schema."""
    made = {
        "event": msgspec.json.schema(AnyEvent),
        "export-line": msgspec.json.schema(Line),
        "citations": msgspec.json.schema(Beside),
    }
    for report in REPORTS:
        made[f"report-{report.__struct_config__.tag}"] = msgspec.json.schema(report)
    return {
        name: {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema} for name, schema in made.items()
    }
