"""The shipped configuration of Neovim in a real Neovim, without a window."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.lsp import AGENTS_LINE, a_long_file
from tests.house.not_run import WORDS

CONFIGURATION = Path(__file__).parents[3] / "editors" / "nvim" / "custody.lua"
SCRIPT = """
vim.g.custody = { cmd = { PYTHON, '-m', 'custody', 'lsp' }, diagnostics = false }
dofile(CONFIGURATION)
vim.cmd('edit app.py')
local function marks()
  local found = {}
  for name, space in pairs(vim.api.nvim_get_namespaces()) do
    if name:find('codelens') then
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
        table.insert(found, mark[2] + 1 .. ' ' .. mark[4].virt_text[1][1])
      end
    end
  end
  return found
end
local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    end
  end
end
local function show(title, lines)
  print('== ' .. title)
  for _, line in ipairs(lines or { 'nothing' }) do print(line) end
end
local function hover(line, ask)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  ask()
  vim.wait(20000, function() return floating() ~= nil end, 20)
  show('hover ' .. line, floating())
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then vim.api.nvim_win_close(window, true) end
  end
end
vim.wait(20000, function() return #marks() > 0 end, 20)
show('lens', marks())
hover(AGENTS_LINE, vim.lsp.buf.hover)
vim.api.nvim_buf_set_lines(0, 0, 0, false, { '-- typed 😀', 'and = this' })
vim.cmd('doautocmd InsertLeave')
vim.wait(20000, function() return (marks()[1] or ''):find('^' .. AGENTS_LINE + 2 .. ' ') ~= nil end, 20)
show('lens of the unsaved buffer', marks())
hover(AGENTS_LINE + 2, function() vim.cmd('CustodyWhy') end)
hover(1, vim.lsp.buf.hover)
show('modified', { tostring(vim.bo.modified) })
vim.cmd('quitall!')
"""


def test_neovim_shows_hovers_and_lenses_of_a_long_unsaved_file(tmp_path: Path) -> None:
    program = shutil.which("nvim")
    if program is None:
        pytest.skip(f"{WORDS}: Neovim cannot be had here (install the package neovim)")
    root, after = a_long_file(tmp_path / "repository")
    script = tmp_path / "drive.lua"
    names = {"PYTHON": repr(sys.executable), "CONFIGURATION": repr(str(CONFIGURATION)), "AGENTS_LINE": str(AGENTS_LINE)}
    driven = "".join(f"local {name} = {value}\n" for name, value in names.items()) + SCRIPT
    script.write_text(driven)
    ran = subprocess.run(
        [program, "--headless", "--clean", "-c", f"luafile {script}"],
        cwd=root,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    shown = dict(part.split("\n", 1) for part in ran.stderr.replace("\r", "").split("== ")[1:] if "\n" in part)
    assert shown["lens"].startswith(f"{AGENTS_LINE} claude-code · "), ran.stderr
    assert "“add a discount”" in shown[f"hover {AGENTS_LINE}"]
    assert shown["lens of the unsaved buffer"].startswith(f"{AGENTS_LINE + 2} claude-code · ")
    assert "“add a discount”" in shown[f"hover {AGENTS_LINE + 2}"]
    assert "not committed" not in shown[f"hover {AGENTS_LINE + 2}"]
    assert "unknown author" in shown["hover 1"]
    assert shown["modified"].strip() == "true"
    assert (root / "app.py").read_text() == after
