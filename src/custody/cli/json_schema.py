"""JSON Schemas of everything that crosses the border, made from the types that read and write it."""

from typing import Any

import msgspec

from custody.attribution.wire.blame import BlameReport
from custody.attribution.wire.stats import StatsReport
from custody.cite.wire.audit import CiteAuditReport, CiteConvertReport
from custody.cite.wire.context import CiteContextReport, CiteNearReport, CiteSearchReport, CiteTextReport
from custody.cite.wire.links import CiteLinksReport
from custody.cite.wire.registry import CiteAddReport, CiteListReport, CiteMergeReport, CiteShowReport
from custody.cite.wire.writing import CiteContractReport, CiteReportReport, SavedReportInfo
from custody.core.wire.event import AnyEvent
from custody.core.wire.report import (
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
from custody.demo.report import DemoReport
from custody.dupes.wire.report import (
    DupesCheckReport,
    DupesClusterReport,
    DupesIndexReport,
    DupesLabelReport,
    DupesShowReport,
)
from custody.gate.wire.report import GateReport
from custody.gate.wire.verdict import VerdictReport
from custody.graph.otlp.report import ExportOtlpReport, ImportOtlpReport
from custody.graph.wire.report import (
    GraphDagReport,
    GraphDiffReport,
    GraphNextReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphShowReport,
)
from custody.intake.wire.claims import ExportGitAiReport, ImportEntireReport, ImportGitAiReport
from custody.sdk.run_report import GraphRunReport
from custody.server.github.report import GitHubBackfillReport, GitHubConnectReport, GitHubListReport
from custody.server.wire.pages import PagesReport
from custody.server.wire.serve import ServeReport
from custody.server.wire.tenancy import (
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
from custody.share.wire.export import ExportLine
from custody.share.wire.sharing import PullReport, PushReport, RemoteReport
from custody.trust.wire.chance import TrustSimulateReport
from custody.trust.wire.report import (
    TrustApproveReport,
    TrustListReport,
    TrustOutcomeReport,
    TrustRecordReport,
    TrustRevertsReport,
    TrustShowReport,
    TrustVerifyReport,
    TrustWhyReport,
)
from custody.why.report import WhyReport

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
    TrustSimulateReport,
    DupesIndexReport,
    DupesCheckReport,
    DupesShowReport,
    DupesClusterReport,
    DupesLabelReport,
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
        "export-line": msgspec.json.schema(ExportLine),
        "citations": msgspec.json.schema(SavedReportInfo),
    }
    for report in REPORTS:
        made[f"report-{report.__struct_config__.tag}"] = msgspec.json.schema(report)
    return {
        name: {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema} for name, schema in made.items()
    }
