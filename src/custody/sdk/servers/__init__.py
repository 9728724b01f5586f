"""MCP servers that a user names: programs that are started, asked for their tools, and ended.

May touch: the programs of the configuration that it is handed, through the official Python SDK, which this door alone
imports; and what those programs write on their standard error. The SDK gives them an environment without our secrets,
plus what the configuration says.
"""

from custody.sdk.servers.stdio import start_server_session

__all__ = ["start_server_session"]
