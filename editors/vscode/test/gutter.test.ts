import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { isAgents, listAgentSpans, openCommand } from "../src/gutter";

test("a block goes on to the next one, and only agents' blocks are marked", () => {
  const blocks = [
    { line: 4, title: "claude-code · strong · add a discount" },
    { line: 0, title: "unknown author" },
    { line: 7, title: "a person · certain" },
    { line: 9, title: "codex · 60% of each line · likely" },
  ];
  deepEqual(listAgentSpans(blocks, 12), [
    { first: 4, last: 6, title: "claude-code · strong · add a discount" },
    { first: 9, last: 11, title: "codex · 60% of each line · likely" },
  ]);
});

test("blocks outside of the file and numbers that are not lines are left out", () => {
  const blocks = [-1, 5, 0.5, Number.NaN].map((line) => ({ line, title: "codex" }));
  deepEqual(listAgentSpans(blocks, 5), []);
  deepEqual(listAgentSpans([], 5), []);
});

test("an agent may be called like a person only in part", () => {
  equal(isAgents({ line: 0, title: "a personal agent · likely" }), true);
  equal(isAgents({ line: 0, title: "a person · certain" }), false);
  equal(isAgents({ line: 0, title: "unknown author" }), false);
});

test("a target can neither be an option nor have control characters", () => {
  deepEqual(openCommand(["/bin/custody", "lsp"], "src/app.py:3"), ["/bin/custody", "serve", "--open", "src/app.py:3"]);
  for (const target of ["--host=0.0.0.0", "", "a\nb", 3, null, undefined]) equal(openCommand(["custody"], target), null);
  equal(openCommand([], "x"), null);
});
