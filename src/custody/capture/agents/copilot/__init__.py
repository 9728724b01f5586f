"""GitHub Copilot, in VS Code and as a CLI."""
