"""The reader threads: a long question blocks no other, and is not started twice."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from custody.server.problems import LATER, HttpProblem
from custody.server.writer_queue import LONG_THREADS, Readers
from tests.builders.service import TestKeeper


def test_long_questions_block_no_other_and_are_not_started_again(keeper: TestKeeper) -> None:
    go_on = threading.Event()
    begun: list[int] = []

    def endless(n: int) -> int:
        begun.append(n)
        go_on.wait()
        return n

    async def ask(readers: Readers, n: int) -> int:
        async with asyncio.timeout(None if go_on.is_set() else 0.2):
            return await readers.ask_long("default", n, lambda _: endless(n))

    async def told() -> None:
        readers = Readers(keeper)
        try:
            for n in range(LONG_THREADS + 1):
                with pytest.raises(TimeoutError):
                    await ask(readers, n)
            assert begun == list(range(LONG_THREADS)), "the last one waited and was cancelled"
            with pytest.raises(HttpProblem) as refused:
                await ask(readers, 0)
            assert (refused.value.status, refused.value.remedy) == (503, LATER)
            assert await readers.ask("default", lambda workspace: workspace.project) == "default"
        finally:
            go_on.set()
        assert await ask(readers, LONG_THREADS) == LONG_THREADS
        await readers.close()

    asyncio.run(told())


def test_a_program_ends_while_a_question_goes_on_unheard(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        """
import asyncio, threading
from custody.server.writer_queue import Readers

async def told():
    readers = Readers(keeper=None)
    readers.workspace = lambda project: project
    asked = asyncio.create_task(readers.ask_long("default", 1, lambda _: threading.Event().wait()))
    await asyncio.sleep(0)
    asked.cancel()
    await readers.close()

asyncio.run(told())
print("ended")
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("ended\n", "")
