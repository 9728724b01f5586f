"""Files that a shell command certainly writes, and no claims about the rest."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture.shell import COMMAND_CHARS_MAX, Write, parse_shell_writes

HERE = "cat > a.txt <<'END'\nhello $USER `x`\nEND\n"


def written(command: str) -> list[tuple[str, str, bool]]:
    return [(write.path, write.text, write.append) for write in parse_shell_writes(command)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (HERE, [("a.txt", "hello $USER `x`\n", False)]),
        ("cat <<EOF > a\nx\nEOF", [("a", "x\n", False)]),
        ("cat >> a <<EOF\nx\nEOF", [("a", "x\n", True)]),
        ("cat > a <<EOF\ncosts \\$5 \\\\ \\`q\\`\nEOF", [("a", "costs $5 \\ `q`\n", False)]),
        ('cat > a <<-"EOF"\n\t\tx\n\tEOF\n', [("a", "x\n", False)]),
        ("tee a <<'E'\nx\nE", [("a", "x\n", False)]),
        ("tee -a a b > /dev/null <<'E'\nx\nE", [("a", "x\n", True), ("b", "x\n", True)]),
        ("cat <<'E' | tee a\nx\nE", [("a", "x\n", False)]),
        ("cat > a <<'E' && cat > b <<'F'\nx\nE\ny\nF\n", [("a", "x\n", False), ("b", "y\n", False)]),
        ("mkdir -p d && cd d && cat > 'a b' <<'E'\nx\nE\npytest -q", [("d/a b", "x\n", False)]),
        ("(cd d && echo q > e); echo r > s", [("d/e", "q\n", False), ("s", "r\n", False)]),
        ("echo 'a  b' c > f", [("f", "a  b c\n", False)]),
        ('echo -n "x" >> f', [("f", "x", True)]),
        ("printf 'x\\ty\\n' > f", [("f", "x\ty\n", False)]),
        ("printf '%s\\n' a b > f", [("f", "a\nb\n", False)]),
        ("printf '100%%' > f", [("f", "100%", False)]),
        ("echo a > f 2>&1", [("f", "a\n", False)]),
        ("A=1 echo a >| f", [("f", "a\n", False)]),
        ("cd d; echo a > ../f", [("f", "a\n", False)]),
        ("cd $HOME; echo a > f; echo b > /abs/f", [("/abs/f", "b\n", False)]),
        ('git commit -m "$(cat <<\'E\'\nsay "hi" (yes\nE\n)" && echo x > z', [("z", "x\n", False)]),
        ("if true; then echo x > f; fi\necho y > g", [("g", "y\n", False)]),
        ("echo x > f # > g", [("f", "x\n", False)]),
    ],
)
def test_writes_that_are_certain(command: str, expected: list[tuple[str, str, bool]]) -> None:
    assert written(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "cat > a <<EOF\nhello $USER\nEOF",
        "cat > a <<EOF\n`date`\nEOF",
        "cat > $F <<'E'\nx\nE",
        "cat > ~/a <<'E'\nx\nE",
        "cat > *.txt <<'E'\nx\nE",
        "cat > a <<'E'\nx",
        "cat b > a",
        "cat - b > a <<'E'\nx\nE",
        "sort > a <<'E'\nx\nE",
        "python3 - > a <<'E'\nx\nE",
        "false || echo x > f",
        "for i in 1 2; do echo x > f; done",
        "while true; do cat > f <<'E'\nx\nE\ndone",
        "f() { echo x > f; }",
        "echo -e 'a\\nb' > f",
        "echo 'a\\nb' > f",
        "printf '%d\\n' 3 > f",
        "printf '\\x41' > f",
        "echo $'a' > f",
        "echo x > /dev/null",
        "echo x &> f",
        "echo x | tee f | wc",
        "sed -i 's/a/b/' f",
        "cat > f <<< word",
        "exit 1; echo x > f",
        "popd && echo x > f",
        "echo 'unfinished > f",
        "cat > f <<E | wc\nx\nE",
    ],
)
def test_writes_that_are_not_claimed(command: str) -> None:
    assert written(command) == []


def test_a_write_before_anything_that_may_fail_is_sure() -> None:
    command = "mkdir -p d && cat > d/a <<'E'\nx\nE\npytest && echo done > b"
    assert [(write.path, write.sure) for write in parse_shell_writes(command)] == [("d/a", True), ("b", False)]


def test_a_command_over_the_limit_is_skipped() -> None:
    assert parse_shell_writes("echo " + "x" * COMMAND_CHARS_MAX + " > f") == ()


def test_deep_nesting_is_skipped() -> None:
    assert parse_shell_writes("echo " + "$(" * 5000 + ")" * 5000 + " > f") == ()


@given(st.text(alphabet="cat echo>\n<EOF'\"$`()&|;\\ {}#=-", max_size=80))
def test_any_text_gives_an_answer(command: str) -> None:
    assert all(isinstance(write, Write) for write in parse_shell_writes(command))


@pytest.mark.parametrize(
    "command",
    [
        "cat > a <<EOF\nx \\$y \\\\ \"q\" 'r' \\n $ $. \n\tz\nEOF\necho 'p q' >> a; printf 'm\\tn\\n' >> a",
        "mkdir -p d && cd d && tee ../a > /dev/null <<-'EOF'\n\t\tq\n\tEOF\ncd .. && echo \"it's \\$5\" >> a",
        "cat > a <<'X' ; cat >> a <<\"Y Z\"\none\nX\ntwo\nY Z\n",
    ],
)
def test_a_real_shell_writes_the_same(command: str, tmp_path: Path) -> None:
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    text = ""
    for write in parse_shell_writes(command):
        assert write.path == "a"
        text = text + write.text if write.append else write.text
    assert (tmp_path / "a").read_text() == text
