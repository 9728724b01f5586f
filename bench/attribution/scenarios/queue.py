"""Merge queues: a server stacks pull requests on top of main, tests the stack, and moves main to it."""

from collections.abc import Sequence

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import FIRST_IMPORT, a_shop, adds, last
from bench.attribution.texts import DISCOUNT, REFUND, REPORT, STOCK, block, line
from bench.attribution.world import World


class MergeQueue:
    """A server without hooks that merges branches in order; ``is_squash`` joins the commits of each."""

    def __init__(self, world: World, *, is_squash: bool = False) -> None:
        self.world = world
        self.is_squash = is_squash
        self.server = world.folder.parent / "queue.git"
        world.git("clone", "--quiet", "--bare", ".", str(self.server))
        world.git("remote", "add", "origin", str(self.server))

    def stack(self, *branches: str) -> str:
        """Return the commit with these branches stacked on main, each as one entry."""
        head = self._git("rev-parse", "main").strip()
        for number, branch in enumerate(branches, start=1):
            tree = self._git("merge-tree", "--write-tree", head, branch).split()[0]
            parents = ["-p", head] if self.is_squash else ["-p", head, "-p", branch]
            head = self._git("commit-tree", tree, *parents, "-m", f"{branch} (#{number})").strip()
        return head

    def land(self, head: str, branches: Sequence[str]) -> None:
        """Move main to a stack; the clone takes it over and deletes the branches."""
        self._git("update-ref", "refs/heads/main", head)
        self.world.git("fetch", "--quiet", "origin")
        self.world.git("checkout", "--quiet", "main")
        self.world.git("reset", "--quiet", "--hard", "origin/main")
        self.world.git("branch", "--quiet", "-D", *branches)
        self.world.settle()

    def _git(self, *words: str) -> str:
        return self.world.git("--git-dir", str(self.server), *words)


def _three_requests(world: World) -> None:
    """Make a branch of an agent, one of a person and one of another agent, all from the same main."""
    a_shop(world)
    world.switch("first", "-b")
    adds(world.agent(), DISCOUNT)
    world.commit("the agent's")
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")
    world.commit("a person's line in it")
    world.switch("main")
    world.switch("second", "-b")
    world.person.edit("shop.py", FIRST_IMPORT, f"{FIRST_IMPORT}\nimport pathlib\nimport secrets")
    world.person.write("stock.py", STOCK)
    world.commit("the person's")
    world.switch("main")
    world.switch("third", "-b")
    agent = world.agent("two")
    agent.write("report.py", REPORT)
    agent.commit("the other agent's")
    agent.edit("report.py", last(REPORT), f"{last(REPORT)}\n\n\n{block(REFUND)}")
    world.commit("more of it")
    world.switch("main")


REQUESTS = ("first", "second", "third")


@scenario()
def merge_queue(world: World) -> None:
    """Three pull requests are stacked as merges, and main moves to all of them at once."""
    _three_requests(world)
    queue = MergeQueue(world)
    queue.land(queue.stack(*REQUESTS), REQUESTS)


@scenario()
def merge_queue_squash(world: World) -> None:
    """Three pull requests are stacked as one commit each."""
    _three_requests(world)
    queue = MergeQueue(world, is_squash=True)
    queue.land(queue.stack(*REQUESTS), REQUESTS)


@scenario()
def merge_queue_after_a_failure(world: World) -> None:
    """The first entry fails its checks in the queue; the others are stacked again without it."""
    _three_requests(world)
    queue = MergeQueue(world, is_squash=True)
    queue.stack(*REQUESTS)
    queue.land(queue.stack("third", "second"), REQUESTS)


@scenario()
def merge_queue_behind(world: World) -> None:
    """Main changes the same file on the server after the pull requests were made, and the stack is made on top."""
    _three_requests(world)
    world.person.insert("shop.py", "    prices: list[float]", "    currency: str = STANDARD_CURRENCY")
    world.commit("main goes on")
    queue = MergeQueue(world, is_squash=True)
    queue.land(queue.stack("third", "first", "second"), REQUESTS)


SCENARIOS = (merge_queue, merge_queue_squash, merge_queue_after_a_failure, merge_queue_behind)
