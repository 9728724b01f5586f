"""Git rewrites, moves and joins commits; the lines keep their authors."""

from pathlib import Path

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import FIRST_IMPORT, a_shop, adds, last
from bench.attribution.texts import DISCOUNT, REFUND, REPORT, SEARCH, SHIPPING, SHOP, STOCK, block, line, lines
from bench.attribution.truth import PERSON, Declared, Line, Page, put
from bench.attribution.world import World

IMPORTED = f"{FIRST_IMPORT}\nimport pathlib\nimport secrets"
"""A person's change in another part of the file."""


@scenario()
def amend_by_agent(world: World) -> None:
    """The agent's second edit is folded into the first commit."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    world.commit()
    adds(agent, REPORT, below=last(DISCOUNT))
    world.amend()


@scenario()
def amend_by_person(world: World) -> None:
    """A person's lines are folded into the commit of an agent's lines."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit()
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.amend()


@scenario()
def amend_from_the_shell(world: World) -> None:
    """The agent commits and amends by itself, twice."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    agent.commit()
    for piece, below in ((REPORT, DISCOUNT), (SEARCH, REPORT)):
        adds(agent, piece, below=last(below))
        agent.bash("git add --all && git commit --quiet --amend --no-edit", kind="amended")
        world.remember(world.pages)


def _topic(world: World) -> None:
    """Make a branch with one commit by an agent and one by a person, while main changes elsewhere in the file."""
    a_shop(world)
    world.switch("topic", "-b")
    adds(world.agent(), DISCOUNT)
    world.commit("the agent's")
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit("the person's")
    world.switch("main")
    world.person.edit("shop.py", FIRST_IMPORT, IMPORTED)
    world.commit("main goes on")


@scenario()
def rebase(world: World) -> None:
    """A branch of both authors is rebased onto a main with new commits."""
    _topic(world)
    world.switch("topic")
    world.git("rebase", "--quiet", "main")
    world.settle()


@scenario()
def rebase_with_conflict(world: World) -> None:
    """Main added a person's function at the same place; the person keeps both, and adds a line while resolving."""
    a_shop(world)
    world.switch("topic", "-b")
    adds(world.agent(), DISCOUNT)
    ours = world.pages["shop.py"].lines[-7:]
    world.commit("the agent's")
    world.switch("main")
    world.person.append("shop.py", f"\n\n{block(REFUND)}")
    world.commit("main's function")
    theirs = world.pages["shop.py"]
    world.switch("topic")
    world.git_stops("rebase", "main")
    gap = [Line("", PERSON), Line("# kept both while rebasing onto main", PERSON), Line("", PERSON)]
    world.lay("shop.py", theirs.with_lines((*theirs.lines, *gap, *ours)))
    world.git("add", "--all")
    world.git("rebase", "--continue")
    world.settle()


@scenario()
def rebase_drops_a_commit(world: World) -> None:
    """Only the second of an agent's two commits is moved to main."""
    start = a_shop(world)
    agent = world.agent()
    agent.edit("shop.py", FIRST_IMPORT, f"{FIRST_IMPORT}\nimport statistics  # for the median")
    first = world.commit("dropped later")
    adds(agent, REPORT)
    world.commit("kept")
    world.git("rebase", "--quiet", "--onto", start, first)
    world.settle()


@scenario()
def autosquash(world: World) -> None:
    """An agent's fixup is squashed into its first commit across a person's commit."""
    start = a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    world.commit("add a discount")
    world.person.edit("shop.py", FIRST_IMPORT, IMPORTED)
    world.commit("the person's imports")
    agent.edit("shop.py", line(DISCOUNT, 6), "    metrics.increment('discounts', tags={'percent': percent})")
    world.commit("fixup! add a discount")
    world.git("rebase", "--quiet", "--interactive", "--autosquash", start)
    world.settle()


@scenario()
def autosquash_of_a_person(world: World) -> None:
    """A person's fixup is squashed into the agent's commit."""
    start = a_shop(world)
    adds(world.agent(), REPORT)
    world.commit("add a report")
    world.person.append("shop.py", f"\n\n{block(STOCK)}")
    world.commit("restock")
    world.person.insert("shop.py", line(REPORT, 3), "    orders = [order for order in orders if not order.cancelled]")
    world.commit("fixup! add a report")
    world.git("rebase", "--quiet", "--interactive", "--autosquash", start)
    world.settle()


@scenario()
def squash_merge(world: World) -> None:
    """Three commits of a branch become one on main."""
    _topic(world)
    world.switch("topic")
    adds(world.agent("two"), REPORT, below=last(DISCOUNT))
    world.commit("the second agent's")
    world.switch("main")
    world.git("merge", "--quiet", "--squash", "topic")
    world.git("commit", "--quiet", "--message", "all of the topic")
    world.settle()


@scenario()
def squash_by_reset(world: World) -> None:
    """A soft reset turns the last three commits into one."""
    start = a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    world.commit("one")
    world.person.insert("shop.py", line(DISCOUNT, 4), "    percent = campaign_percent(order, default=percent)")
    world.commit("two")
    adds(agent, SEARCH, below=last(DISCOUNT))
    world.commit("three")
    world.git("reset", "--quiet", "--soft", start)
    world.commit("all three")


def _squashed_on_server(world: World) -> None:
    """Squash the topic into one commit on a server without hooks, and delete the local branch."""
    server = world.folder.parent / "server.git"
    world.git("clone", "--quiet", "--bare", ".", str(server))
    world.git("remote", "add", "origin", str(server))
    tree = _on(world, server, "merge-tree", "--write-tree", "main", "topic").split()[0]
    squashed = _on(world, server, "commit-tree", tree, "-p", "main", "-m", "the topic (#1)").strip()
    _on(world, server, "update-ref", "refs/heads/main", squashed)
    world.git("fetch", "--quiet", "origin")
    world.git("reset", "--quiet", "--hard", "origin/main")
    world.git("branch", "--quiet", "-D", "topic")
    world.settle()


def _on(world: World, server: Path, *words: str) -> str:
    return world.git("--git-dir", str(server), *words)


@scenario()
def squash_on_server(world: World) -> None:
    """A pull request is squashed on the server while main did not change."""
    a_shop(world)
    world.switch("topic", "-b")
    agent = world.agent()
    adds(agent, DISCOUNT)
    world.commit("the agent's")
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")
    world.commit("the person's")
    adds(agent, REPORT, below=last(DISCOUNT))
    world.commit("more of the agent's")
    world.switch("main")
    _squashed_on_server(world)


@scenario()
def squash_on_server_behind(world: World) -> None:
    """A pull request is squashed on the server after main changed the same file."""
    _topic(world)
    _squashed_on_server(world)


@scenario()
def cherry_pick(world: World) -> None:
    """One commit of an agent is cherry-picked onto a main with new commits."""
    a_shop(world)
    world.switch("topic", "-b")
    adds(world.agent(), DISCOUNT)
    picked = world.commit("the agent's")
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit("not picked")
    world.switch("main")
    world.person.edit("shop.py", FIRST_IMPORT, IMPORTED)
    world.commit("main goes on")
    world.git("cherry-pick", picked)
    world.settle()


@scenario()
def cherry_pick_by_agent(world: World) -> None:
    """An agent cherry-picks a person's commit: the lines stay the person's."""
    a_shop(world)
    world.switch("topic", "-b")
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    picked = world.commit("the person's")
    world.switch("main")
    agent = world.agent()
    agent.edit("shop.py", FIRST_IMPORT, f"{FIRST_IMPORT}\nimport statistics")
    agent.commit()
    agent.bash(f"git cherry-pick {picked}", kind="cherry-picked")
    world.settle()


@scenario()
def stash(world: World) -> None:
    """An agent's edit waits in a stash while a person commits something else."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.git("stash", "push", "--quiet")
    world.pages = dict(world.commits[world.head()])
    world.person.edit("shop.py", FIRST_IMPORT, IMPORTED)
    world.commit("the person's")
    world.git("stash", "pop", "--quiet")
    world.take_over()
    world.commit("from the stash")


@scenario()
def stash_to_another_branch(world: World) -> None:
    """A stash of both authors' lines is applied on another branch, and more is added there."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")
    mixed = world.pages["shop.py"]
    world.git("stash", "push", "--quiet")
    world.pages = dict(world.commits[world.head()])
    world.switch("other", "-b")
    world.git("stash", "apply", "--quiet")
    world.hold("shop.py", mixed)
    adds(world.agent("two"), REPORT, below=last(DISCOUNT))
    world.commit("on the other branch")


@scenario()
def commit_days_later(world: World) -> None:
    """The work waits four days for its commit."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.clock.skip(days=4)
    world.commit("at last")


@scenario()
def commit_days_later_after_others(world: World) -> None:
    """Two weeks of other commits of the file precede the commit with the agent's lines."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.git("stash", "push", "--quiet")
    world.pages = dict(world.commits[world.head()])
    for days, module in ((2, "pathlib"), (5, "secrets"), (7, "typing")):
        world.clock.skip(days=days)
        world.person.edit("shop.py", FIRST_IMPORT, f"{FIRST_IMPORT}\nimport {module}")
        world.commit(f"use {module}")
    world.git("stash", "pop", "--quiet")
    world.take_over()
    world.commit("two weeks later")


def _staged(world: World, page: Page, message: str) -> None:
    """Commit the file as ``page``, without regard to the work tree."""
    blob = world.git("hash-object", "-w", "--stdin", given=page.text.encode()).strip()
    world.git("update-index", "--cacheinfo", f"100644,{blob},shop.py")
    world.commit_staged({"shop.py": page}, message)


@scenario()
def partial_staging(world: World) -> None:
    """Only the second of an agent's two functions is committed; the first stays in the work tree."""
    a_shop(world)
    agent = world.agent()
    adds(agent, DISCOUNT)
    whole_before = world.pages["shop.py"].lines
    adds(agent, REPORT, below=last(DISCOUNT))
    page = world.pages["shop.py"]
    start = len(lines(SHOP))
    _staged(world, put(page, (start, len(whole_before)), ()), "only the second")


@scenario()
def partial_staging_of_a_person(world: World) -> None:
    """The person's lines are committed first, the agent's, around them, in the next commit."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.person.insert("shop.py", line(DISCOUNT, 4), "    percent = campaign_percent(order, default=percent)")
    page = world.pages["shop.py"]
    _staged(world, page.with_lines(one for one in page.lines if one.who is PERSON), "only the person's")
    world.commit("the rest")


@scenario()
def partial_staging_left(world: World) -> None:
    """The agent's lines are committed, the person's stay in the work tree."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    agents = world.pages["shop.py"]
    world.person.insert("shop.py", line(DISCOUNT, 4), "    percent = campaign_percent(order, default=percent)")
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    _staged(world, agents, "only the agent's")


@scenario()
def revert_of_revert(world: World) -> None:
    """An agent's commit is reverted and the revert is reverted."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit("the agent's")
    world.git("revert", "--no-edit", "HEAD")
    world.git("revert", "--no-edit", "HEAD")
    world.settle()


@scenario()
def revert_of_revert_in_between(world: World) -> None:
    """Between the two reverts a person works at the same place and elsewhere."""
    a_shop(world)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit("shipping")
    adds(world.agent(), DISCOUNT)
    world.commit("the agent's")
    world.git("revert", "--no-edit", "HEAD")
    reverted = world.settle()
    world.person.edit("shop.py", FIRST_IMPORT, IMPORTED)
    world.person.append("shop.py", f"\n\n{block(STOCK)}")
    world.commit("a person's")
    world.git("revert", "--no-edit", reverted)
    world.settle()


@scenario()
def reverted(world: World) -> None:
    """An agent's commit is reverted for good; a person writes new lines in its place."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.commit("the agent's")
    world.git("revert", "--no-edit", "HEAD")
    world.settle()
    world.person.append("shop.py", f"\n\n{block(REFUND)}")
    world.commit("the person's own")


@scenario()
def merge(world: World) -> None:
    """A branch of both authors is merged without conflict."""
    _topic(world)
    world.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    world.settle()


def _conflict(world: World) -> tuple[list[Line], list[Line]]:
    """Stop a merge: main has a person's function where the topic has an agent's."""
    a_shop(world)
    world.switch("topic", "-b")
    adds(world.agent(), DISCOUNT)
    agents = list(world.pages["shop.py"].lines[-7:])
    world.commit("the agent's")
    world.switch("main")
    world.person.append("shop.py", f"\n\n{block(REFUND)}")
    persons = list(world.pages["shop.py"].lines[-6:])
    world.commit("the person's")
    world.git_stops("merge", "--no-edit", "topic")
    return agents, persons


@scenario()
def merge_resolved_by_person(world: World) -> None:
    """A person resolves by keeping both functions and adding a line."""
    agents, persons = _conflict(world)
    base = world.pages["shop.py"].lines[: len(lines(SHOP)) + 2]
    gap = [Line("", PERSON), Line("", PERSON), Line("PERCENT_MAX_WITHOUT_APPROVAL = 25", PERSON), Line("", PERSON)]
    world.lay("shop.py", Page((*base, *persons, *gap, *agents)))
    world.commit("merged by hand")


@scenario()
def merge_resolved_by_agent(world: World) -> None:
    """Another session resolves by keeping both functions and adding a line."""
    agents, persons = _conflict(world)
    world.take_conflict("shop.py")
    found = [one.text for one in world.pages["shop.py"].lines]
    first, final = found.index("<<<<<<< HEAD"), found.index(">>>>>>> topic")
    kept = [one.text for one in (*persons, *agents)]
    own = "APPROVAL_LIMIT = 25  # percent, above which somebody must approve"
    body = "\n".join([*kept[: len(persons)], "", "", own, "", *kept[len(persons) :]])
    world.agent("resolver").edit("shop.py", "\n".join(found[first : final + 1]), body, Declared(keeps=kept))
    world.commit("merged by the agent")


@scenario()
def merge_takes_one_side(world: World) -> None:
    """The conflict is resolved by dropping the agent's function: none of it is left."""
    _agents, persons = _conflict(world)
    base = world.pages["shop.py"].lines[: len(lines(SHOP)) + 2]
    world.lay("shop.py", Page((*base, *persons)))
    world.commit("ours")


@scenario()
def delete_and_recreate(world: World) -> None:
    """An agent's file is deleted and brought back from history a commit later."""
    a_shop(world)
    world.agent().write("reports.py", REPORT)
    world.commit("a report")
    world.person.remove("reports.py")
    world.commit("gone")
    world.git("checkout", "--quiet", "HEAD~1", "--", "reports.py")
    world.take_over()
    world.commit("back again")


@scenario()
def delete_and_write_anew(world: World) -> None:
    """An agent's file is deleted; a person later writes another file of the same name."""
    a_shop(world)
    world.agent().write("reports.py", REPORT)
    world.commit("a report")
    world.person.remove("reports.py")
    world.commit("gone")
    world.person.write("reports.py", f"import shop\n\n\n{SEARCH}")
    world.commit("a person's")


@scenario()
def delete_and_recreate_by_agent(world: World) -> None:
    """A person's file is deleted in the agent's shell; the agent writes another one in its place."""
    world.person.write("reports.py", f"import shop\n\n\n{SEARCH}")
    a_shop(world)
    agent = world.agent()
    agent.bash("git rm --quiet reports.py && git commit --quiet -m gone", without=["reports.py"], kind="committed")
    world.remember(world.pages)
    agent.write("reports.py", REPORT)
    agent.commit()


SCENARIOS = (
    amend_by_agent,
    amend_by_person,
    amend_from_the_shell,
    rebase,
    rebase_with_conflict,
    rebase_drops_a_commit,
    autosquash,
    autosquash_of_a_person,
    squash_merge,
    squash_by_reset,
    squash_on_server,
    squash_on_server_behind,
    cherry_pick,
    cherry_pick_by_agent,
    stash,
    stash_to_another_branch,
    commit_days_later,
    commit_days_later_after_others,
    partial_staging,
    partial_staging_of_a_person,
    partial_staging_left,
    revert_of_revert,
    revert_of_revert_in_between,
    reverted,
    merge,
    merge_resolved_by_person,
    merge_resolved_by_agent,
    merge_takes_one_side,
    delete_and_recreate,
    delete_and_write_anew,
    delete_and_recreate_by_agent,
)
