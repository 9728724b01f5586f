"""The table of verbs: their sections, their one-line help and the modules that define them."""

from types import MappingProxyType

SECTIONS: MappingProxyType[str, MappingProxyType[str, str]] = MappingProxyType(
    {
        "Ask": MappingProxyType(
            {
                "author": "Record that you wrote lines by hand.",
                "blame": "Show who wrote each line of a file, and how certain that is.",
                "cite": "Register sources and check the reports that cite them.",
                "dupes": "Find changes that duplicate other changes.",
                "gate": "Check whether a change can merge.",
                "graph": "Explore the graph of tool calls.",
                "log": "List recorded sessions, or show one.",
                "read": "Mark hunks of a change as read, or show who read them.",
                "records": "List records, newest first.",
                "report": "Write the pages of 'custody serve' as static files.",
                "review": "Show what to read in a change, the riskiest first.",
                "search": "Search sessions by words of prompts, answers, commands, files and commits.",
                "runs": "List the tests, builds and checks that agents ran, with their results.",
                "show": "Show one record.",
                "stats": "Show how many lines agents wrote.",
                "trailer": "Show, write or check 'Assisted-by' trailers that rest on records.",
                "trust": "Show trust scores and record decisions about agents' changes.",
                "undo": "Print a patch that undoes a session, a call or a prompt.",
                "why": "Show why a line exists: who wrote it, and for which prompt.",
            }
        ),
        "Set up": MappingProxyType(
            {
                "demo": "Run every command on a sample repository.",
                "mcp": "Serve an agent: read-only tools about this repository.",
                "lsp": "Serve an editor: hovers, lenses and diagnostics.",
                "init": "Set up recording for agents in this repository.",
                "uninstall": "Remove what 'custody init' added to settings and hooks.",
                "record": "Record one event of an agent.",
                "rules": "Show the rules in force and where each is set.",
                "completion": "Print the completion script for a shell.",
                "help": "Show help for a command or a topic.",
            }
        ),
        "Store": MappingProxyType(
            {
                "verify": "Check that no stored record was changed.",
                "doctor": "Check the setup and the store, and suggest fixes.",
                "export": "Export records for another store or another tool.",
                "import": "Import sessions, exports, events, traces or spans.",
                "erase": "Erase the contents of a record.",
            }
        ),
        "Team": MappingProxyType(
            {
                "github": "Check pull requests on GitHub.",
                "project": "Manage projects, each with its own store, tokens and retention.",
                "pull": "Fetch records from a git remote or a service.",
                "push": "Send records to a git remote or a service.",
                "remote": "Manage the services to push to and pull from.",
                "share": "Show what others can see of your records at a remote.",
                "serve": "Serve the pages and the HTTP API.",
                "store": "Show the name and public key of this store.",
                "token": "Manage access tokens for a service.",
                "worker": "Run background jobs.",
            }
        ),
    }
)
"""Every verb with its one-line help, so that the overview imports no verb. A test compares it with their docstrings."""

COMMON_VERBS = frozenset(
    (
        *("blame", "cite", "dupes", "gate", "log", "review", "search", "stats", "trust", "why"),
        *("demo", "init", "rules", "verify", "doctor", "import", "pull", "serve"),
    )
)
"""What 'custody --help' lists, so that it fits on a screen; 'custody help' lists all."""

MODULES: MappingProxyType[str, str] = MappingProxyType(
    {
        "author": "custody.people.cli",
        "blame": "custody.attribution.cli",
        "cite": "custody.cite.cli.cite",
        "completion": "custody.cli.rules",
        "demo": "custody.cli.demo",
        "doctor": "custody.intake.cli.setup",
        "dupes": "custody.dupes.cli",
        "erase": "custody.ledger.cli",
        "export": "custody.cli.export",
        "gate": "custody.gate.cli",
        "github": "custody.server.cli.groups",
        "graph": "custody.graph.cli",
        "help": "custody.cli.help",
        "import": "custody.cli.import_",
        "init": "custody.intake.cli.setup",
        "log": "custody.ledger.cli",
        "lsp": "custody.lsp.cli",
        "mcp": "custody.mcp.cli",
        "project": "custody.server.cli.groups",
        "pull": "custody.share.cli",
        "push": "custody.share.cli",
        "read": "custody.people.cli",
        "record": "custody.intake.cli.record",
        "records": "custody.ledger.cli",
        "remote": "custody.share.cli",
        "report": "custody.server.cli.serve",
        "review": "custody.review.cli",
        "rules": "custody.cli.rules",
        "runs": "custody.runs.cli",
        "search": "custody.search.cli",
        "share": "custody.share.cli",
        "serve": "custody.server.cli.serve",
        "show": "custody.ledger.cli",
        "stats": "custody.attribution.cli",
        "store": "custody.ledger.cli",
        "token": "custody.server.cli.groups",
        "trailer": "custody.cli.trailer",
        "trust": "custody.trust.cli.trust",
        "undo": "custody.undo.cli",
        "uninstall": "custody.intake.cli.setup",
        "verify": "custody.cli.verify",
        "why": "custody.why.cli",
        "worker": "custody.server.cli.groups",
    }
)
"""The module that defines ``<verb>_command``: in the package of its question, or here if it combines several."""
