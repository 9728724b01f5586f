"""JSON Schemas of all input and output, generated from the types that read and write it."""

from typing import Any

import msgspec

from custody.attribution.wire import BlameReport, RemovedReport, StatsReport, TrailerReport
from custody.cite.wire import (
    CiteAddReport,
    CiteAuditReport,
    CiteContextReport,
    CiteContractReport,
    CiteConvertReport,
    CiteLinksReport,
    CiteListReport,
    CiteMergeReport,
    CiteNearReport,
    CiteReportReport,
    CiteSearchReport,
    CiteShowReport,
    CiteTextReport,
    SavedReportInfo,
)
from custody.core.wire.event import AnyEvent
from custody.core.wire.report import (
    DoctorReport,
    EraseReport,
    ExportReport,
    ExportTracesReport,
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
    StoreReport,
    TeamPolicyReport,
    UninstallReport,
    VerifyReport,
)
from custody.demo.narrator import DemoReport
from custody.dupes.wire import DupesCheckReport, DupesClusterReport, DupesIndexReport, DupesLabelReport, DupesShowReport
from custody.gate.wire.report import GateReport, VerdictReport
from custody.graph.wire.report import (
    ExportOtlpReport,
    GraphDagReport,
    GraphDiffReport,
    GraphNextReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphShowReport,
    ImportOtlpReport,
)
from custody.intake.wire import ExportGitAiReport, ImportAgentsReport, ImportEntireReport, ImportGitAiReport
from custody.people.wire import AuthorReport, ReadReport, ReadShareReport
from custody.review.wire import ReviewReport
from custody.runs.wire import RunsReport
from custody.sdk.script_run import GraphRunReport
from custody.search.wire import SearchReport
from custody.server.github.shapes import (
    GitHubBackfillReport,
    GitHubCommentReport,
    GitHubConnectReport,
    GitHubListReport,
)
from custody.server.wire.tenancy import (
    PagesReport,
    ProjectInitReport,
    ProjectListReport,
    ProjectReadsReport,
    ProjectReport,
    ServeReport,
    TokenCreateReport,
    TokenListReport,
    TokenRevokeReport,
    WorkerListReport,
    WorkerReport,
    WorkerRetryReport,
)
from custody.share.wire import ExportLine, PullReport, PushReport, RemoteReport, ShareReport
from custody.trust.wire import (
    TrustApproveReport,
    TrustListReport,
    TrustOutcomeReport,
    TrustRecordReport,
    TrustRevertsReport,
    TrustShowReport,
    TrustSimulateReport,
    TrustVerifyReport,
    TrustWhyReport,
)
from custody.undo.wire import UndoReport
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
    RunsReport,
    ShareReport,
    SearchReport,
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
    RemovedReport,
    WhyReport,
    UndoReport,
    StatsReport,
    StoreReport,
    TrailerReport,
    TeamPolicyReport,
    GateReport,
    ReviewReport,
    GitHubBackfillReport,
    GitHubCommentReport,
    GitHubConnectReport,
    GitHubListReport,
    GraphRunReport,
    GraphShowReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphNextReport,
    GraphDagReport,
    GraphDiffReport,
    AuthorReport,
    ReadReport,
    ReadShareReport,
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


def collect_report_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of every report, of events and of export lines, by name."""
    schemas = {
        "event": msgspec.json.schema(AnyEvent),
        "export-line": msgspec.json.schema(ExportLine),
        "citations": msgspec.json.schema(SavedReportInfo),
    }
    for report in REPORTS:
        schemas[f"report-{report.__struct_config__.tag}"] = msgspec.json.schema(report)
    return {
        name: {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema} for name, schema in schemas.items()
    }
