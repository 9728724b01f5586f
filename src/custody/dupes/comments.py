"""Which lines are comments and nothing else, by the ending of their file."""

from collections.abc import Mapping
from types import MappingProxyType

_SLASHES = ("//", "/*", "*/", "* ")
_HASH = ("#",)
_ENDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("c", "cc", "cpp", "cs", "go", "h", "hpp", "java", "js", "jsx", "kt", "mjs"), _SLASHES),
        **dict.fromkeys(("php", "rs", "scala", "scss", "swift", "ts", "tsx"), _SLASHES),
        **dict.fromkeys(("py", "pyi", "rb", "sh", "bash", "toml", "yaml", "yml", "pl", "r", "cfg", "ini"), _HASH),
        **dict.fromkeys(("sql", "lua", "hs"), ("--",)),
        **dict.fromkeys(("html", "xml", "svg", "vue", "md"), ("<!--", "-->")),
    }
)


def is_comment(path: str, line: str) -> bool:
    """Whether a line is blank or only comment; of an unknown kind of file only blank lines are.

    >>> is_comment("a.py", "  # why"), is_comment("a.py", "x = 1  # why"), is_comment("a.txt", "# why")
    (True, False, False)
    """
    said = line.strip()
    return not said or said == "*" or said.startswith(_ENDINGS.get(path.rpartition(".")[2].lower(), ("\0",)))
