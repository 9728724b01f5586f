"""Shells, line endings, work trees, several sessions, and commits without agents."""

from bench.attribution.scenario import scenario
from bench.attribution.scenarios.stage import FIRST_IMPORT, a_shop, adds, last
from bench.attribution.texts import DISCOUNT, REFUND, REPORT, SEARCH, SHIPPING, SHOP, STOCK, after, block, line, lines
from bench.attribution.truth import EITHER, Line, lines_of, page_of, put
from bench.attribution.world import World

BOT = {"GIT_AUTHOR_NAME": "dependabot[bot]", "GIT_AUTHOR_EMAIL": "49699333+dependabot[bot]@users.noreply.github.com"}


@scenario()
def heredoc(world: World) -> None:
    """An agent writes a new file by a here-document."""
    a_shop(world)
    agent = world.agent()
    agent.bash(f"cat > reports.py <<'EOF'\n{REPORT}EOF", {"reports.py": page_of(REPORT, agent.who)})
    world.commit()


@scenario()
def heredoc_appends(world: World) -> None:
    """An agent appends to a person's file by a here-document; a person adds a line inside."""
    a_shop(world)
    agent = world.agent()
    page = world.pages["shop.py"]
    piece = f"\n\n{DISCOUNT}"
    agent.bash(
        f"cat >> shop.py <<'EOF'\n{piece}EOF",
        {"shop.py": page.with_lines((*page.lines, *lines_of(piece, agent.who)))},
    )
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")
    world.commit()


@scenario(by_program=True)
def sed_inserts(world: World) -> None:
    """An agent inserts a line with sed."""
    a_shop(world, SHIPPING)
    agent = world.agent()
    page = world.pages["shop.py"]
    end = page.at(FIRST_IMPORT)[1]
    added = "from decimal import ROUND_HALF_EVEN, Decimal"
    agent.bash(
        f"sed -i '/^{FIRST_IMPORT}$/a {added}' shop.py",
        {"shop.py": put(page, (end, end), [Line(added, agent.who)])},
    )
    world.commit()


@scenario(by_program=True)
def sed_replaces_words(world: World) -> None:
    """An agent changes a word everywhere with sed: those lines are disputed, the others stay a person's."""
    a_shop(world, SEARCH)
    page = world.pages["shop.py"]
    changed = page.with_lines(
        Line(one.text.replace("customer", "client"), EITHER) if "customer" in one.text else one for one in page.lines
    )
    world.agent().bash("sed -i 's/customer/client/g' shop.py", {"shop.py": changed})
    world.commit()


@scenario(by_program=True)
def script_writes(world: World) -> None:
    """An agent's shell runs a program that writes a file; the command does not show the lines."""
    a_shop(world)
    agent = world.agent()
    rows = [f"ZONE_{n:02d}_TARIFF = ({n * 3 + 2}.5, {n * 7 % 11 + 1}.25)" for n in range(1, 13)]
    command = (
        """for n in $(seq 1 12); do printf 'ZONE_%02d_TARIFF = (%d.5, %d.25)\\n' $n $((n*3+2)) $((n*7%11+1)); done"""
    )
    agent.bash(f"{command} > tariffs.py", {"tariffs.py": page_of("\n".join(rows), agent.who)})
    world.commit()


@scenario()
def shell_touches_nothing(world: World) -> None:
    """A person changes a file while an agent's test run is under way in another session: nothing is the agent's."""
    a_shop(world)
    agent = world.agent()
    agent.bash("echo '3 passed'")
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    agent.bash("echo '4 passed'")
    world.commit()


@scenario()
def crlf(world: World) -> None:
    """A file with Windows line endings, which the agent keeps."""
    world.person.write("shop.py", SHOP, eol="\r\n")
    world.commit()
    adds(world.agent(), DISCOUNT)
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")
    world.commit()


@scenario()
def crlf_unseen_by_agent(world: World) -> None:
    """The agent sees LF line endings and keeps those on disk."""
    world.person.write("shop.py", SHOP, eol="\r\n")
    world.commit()
    adds(world.agent(unix_ends=True), DISCOUNT)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit()


@scenario()
def crlf_only_in_work_tree(world: World) -> None:
    """Git converts line endings: CRLF in the work tree, LF in the repository."""
    world.git("config", "core.autocrlf", "true")
    world.person.write("shop.py", SHOP, eol="\r\n")
    world.commit()
    adds(world.agent(unix_ends=True), DISCOUNT)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit()


@scenario()
def crlf_converted(world: World) -> None:
    """A later commit of a person converts every line ending."""
    a_shop(world, SHIPPING)
    adds(world.agent(), DISCOUNT)
    world.commit()
    world.turn_ends("shop.py", "\r\n")
    world.commit("line ends of Windows")


@scenario()
def worktree_merged(world: World) -> None:
    """An agent works in a second work tree; its branch is merged in the first one."""
    a_shop(world)
    other = world.worktree(world.folder.parent / "other", "-b", "topic")
    adds(other.agent(), DISCOUNT)
    other.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    other.commit("in the other work tree")
    world.person.edit("shop.py", FIRST_IMPORT, f"{FIRST_IMPORT}\nimport pathlib")
    world.commit("in the first one")
    world.git("merge", "--quiet", "--no-edit", "topic")
    world.settle()


@scenario()
def worktree_asked_there(world: World) -> World:
    """The query runs in the second work tree, with uncommitted changes."""
    a_shop(world)
    adds(world.agent("first"), REPORT)
    world.commit("in the first one")
    other = world.worktree(world.folder.parent / "other", "-b", "topic")
    agent = other.agent()
    adds(agent, DISCOUNT)
    other.commit("in the other work tree")
    adds(agent, SEARCH, below=last(DISCOUNT))
    return other


@scenario()
def two_sessions(world: World) -> None:
    """Two sessions take turns on one file, and a person in between."""
    a_shop(world)
    one, two = world.agent("one"), world.agent("two")
    adds(one, DISCOUNT)
    adds(two, REPORT, below=last(DISCOUNT))
    world.person.insert("shop.py", line(REPORT, 3), "    orders = [order for order in orders if not order.cancelled]")
    adds(one, SEARCH, below=last(REPORT))
    world.commit()


@scenario()
def two_sessions_overwriting(world: World) -> None:
    """A second session rewrites half of the first one's function, in another commit."""
    a_shop(world)
    adds(world.agent("one"), REPORT)
    world.commit()
    new = "    totals = Counter()\n    for purchase in orders:\n        totals[purchase.customer] += purchase.total()"
    world.agent("two").edit("shop.py", "\n".join(lines(REPORT)[2:5]), new)
    world.commit()


@scenario()
def two_agents(world: World) -> None:
    """Two agents of different models, before one commit; the second writes the whole file."""
    a_shop(world)
    adds(world.agent("one", "claude-sonnet-4-5"), DISCOUNT)
    world.agent("two", "claude-opus-4-1").write("shop.py", after(SHOP, DISCOUNT, STOCK))
    world.commit()


@scenario()
def two_agents_same_lines(world: World) -> None:
    """Two sessions write the same boilerplate in two files; each keeps its own."""
    head = "import argparse\nimport sys\n\n\ndef main() -> int:\n    parser = argparse.ArgumentParser()\n"
    a_shop(world)
    world.agent("one").write(
        "tool_a.py", f"{head}    parser.add_argument('--orders')\n    return export_orders(parser)\n"
    )
    world.agent("two").write(
        "tool_b.py", f"{head}    parser.add_argument('--stock')\n    return export_stock(parser)\n"
    )
    world.commit()


@scenario()
def nothing_committed(world: World) -> None:
    """Everything is still in the work tree: an agent's lines, and a person's among them."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.person.insert("shop.py", line(DISCOUNT, 2), "    require_permission('discounts')")


@scenario()
def thrown_away(world: World) -> None:
    """A person throws the agent's edit away and writes a function of their own."""
    a_shop(world)
    adds(world.agent(), DISCOUNT)
    world.git("checkout", "--quiet", "--", "shop.py")
    world.take_over()
    world.person.append("shop.py", f"\n\n{block(REFUND)}")
    world.commit()


@scenario(unrecorded=True)
def bots_only(world: World) -> None:
    """A history of people and bots without any agent."""
    a_shop(world)
    world.person.write("requirements.txt", "click==8.1.7\nrich==13.7.0\nmsgspec==0.18.6\n")
    world.commit()
    world.person.edit("requirements.txt", "rich==13.7.0", "rich==13.9.4")
    world.commit("Bump rich from 13.7.0 to 13.9.4", extra=BOT)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit("a person's")


@scenario(unrecorded=True)
def bots_beside_an_agent(world: World) -> None:
    """Bots and people commit while an agent works, to files that the agent never touches."""
    a_shop(world)
    agent = world.agent()
    agent.write("reports.py", REPORT)
    agent.commit()
    world.person.write("requirements.txt", "click==8.1.7\nrich==13.7.0\nmsgspec==0.18.6\n")
    world.commit("Bump everything", extra=BOT)
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    world.commit("a person's")


@scenario(unrecorded=True)
def bots_on_the_agents_file(world: World) -> None:
    """A bot rewrites lines of a file that an agent edited before, and a person adds to it."""
    world.person.write("versions.py", "CLIENT = '1.4.0'\nSERVER = '2.0.3'\nPROTOCOL = '7'\n")
    a_shop(world)
    agent = world.agent()
    agent.edit("versions.py", "PROTOCOL = '7'", "PROTOCOL = '7'\nDATABASE_MIGRATION = '20240131-orders'")
    agent.commit()
    world.person.edit("versions.py", "SERVER = '2.0.3'", "SERVER = '2.1.0'")
    world.commit("Release server 2.1.0", extra=BOT)
    world.person.append("versions.py", "SUPPORTED_BROWSERS = ['firefox', 'chromium']")
    world.commit("a person's")


@scenario(unrecorded=True)
def agent_that_only_reads(world: World) -> None:
    """An agent runs commands and commits what a person wrote: no line is its own."""
    a_shop(world)
    agent = world.agent()
    world.person.append("shop.py", f"\n\n{block(SHIPPING)}")
    agent.bash("git diff --stat")
    agent.commit("commit what the person wrote")


SCENARIOS = (
    heredoc,
    heredoc_appends,
    sed_inserts,
    sed_replaces_words,
    script_writes,
    shell_touches_nothing,
    crlf,
    crlf_unseen_by_agent,
    crlf_only_in_work_tree,
    crlf_converted,
    worktree_merged,
    worktree_asked_there,
    two_sessions,
    two_sessions_overwriting,
    two_agents,
    two_agents_same_lines,
    nothing_committed,
    thrown_away,
    bots_only,
    bots_beside_an_agent,
    bots_on_the_agents_file,
    agent_that_only_reads,
)
