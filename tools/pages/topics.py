"""The page of help topics, from the texts that ``custody help TOPIC`` prints."""

from custody.cli.help import TOPICS, read_help_topic


def topics_page() -> str:
    """``topics.md``."""
    return (
        "# Help topics\n\n"
        "`custody help` lists commands and topics. `custody help TOPIC` prints one of these texts. They are also manual"
        " pages: `man custody-certainty`.\n"
    ) + "".join(f"\n## {topic}\n\n```text\n{read_help_topic(topic)}\n```\n" for topic in TOPICS)
