"""Facts of TypeScript, TSX and JavaScript files."""

import pytest

from custody.dupes.facts.extractor import extract_file_facts
from tests.unit.dupes.facts.fact_rows import declared, exports, imports, names_of_tests, suites

SERVICE = b"""\
import fs from 'node:fs';
import type { User } from "./types.js";
import legacy = require('legacy-pkg');
export { hash as digest, salt } from '../crypto/index.ts';
export * from './errors';
export * as names from './names.tsx';

export const LIMIT = 10, OTHER = 20;
let counter = 0;

/** Loads users. */
export async function load(id: string): Promise<User> {
  const local = 1;
  const retry = async () => local;
  function inner() { return retry(); }
  return inner();
}

export abstract class Store<T> extends Base {
  private readonly items = new Map();
  #secret = 1;
  onChange = (x: T) => {
    this.items.clear();
  };
  constructor(private db: Db) { super(); }
  get size() { return 1; }
  static create<T>(): Store<T> { return null!; }
  async *each(): AsyncIterable<T> {}
  abstract drop(): void;
}

export interface Shape { area(): number }
export type Id = string | number;
export enum Color { Red, Green }
declare function external(a: string): void;
export namespace Geo { export function distance() {} }

export const api = {
  get: async (path: string) => path,
  post(path: string) { return path; },
  nested: { deep: function () {} },
  value: 1,
};
const { first, second: [third = 1], ...rest } = api;
export const Wrapped = memo(() => { const inside = 1; return inside; });
function helper() {}
export { helper, helper as assist };
export default class extends Store<string> {
  run() {}
}
const lazy = () => import('./lazy.js');
"""


# Conformance: 002-026
def test_a_typescript_file_declares() -> None:
    facts = extract_file_facts("src/service.ts", SERVICE)
    assert (facts.language, facts.degraded, facts.is_test) == ("typescript", None, False)
    assert declared(facts) == [
        "const LIMIT 8 *",
        "const OTHER 8 *",
        "const counter 9",
        "function load 12-17 *",
        "function load.retry 14 *",
        "function load.inner 15 *",
        "class Store 19-30 *",
        "method Store.onChange 22-24 *",
        "method Store.constructor 25 *",
        "method Store.size 26 *",
        "method Store.create 27 *",
        "method Store.each 28 *",
        "method Store.drop 29 *",
        "interface Shape 32 *",
        "type Id 33 *",
        "enum Color 34 *",
        "function external 35",
        "namespace Geo 36 *",
        "function Geo.distance 36 *",
        "const api 38-43 *",
        "method api.get 39 *",
        "method api.post 40 *",
        "method api.nested.deep 41 *",
        "const first 44",
        "const third 44",
        "const rest 44",
        "const Wrapped 45 *",
        "function helper 46 *",
        "class default 48-50 *",
        "method default.run 49 *",
        "function lazy 51",
    ]


# Conformance: 002-027, 002-028
def test_a_typescript_file_exports_and_imports() -> None:
    facts = extract_file_facts("src/service.ts", SERVICE)
    assert exports(facts) == [
        *("digest 4", "salt 4", "* 5", "names 6", "LIMIT 8", "OTHER 8", "load 12-17", "Store 19-30", "Shape 32"),
        *("Id 33", "Color 34", "Geo 36", "api 38-43", "Wrapped 45", "helper 46", "assist 46", "default 48-50"),
    ]
    assert imports(facts) == [
        *("node:fs", "./types", "legacy-pkg", "../crypto", "./errors", "./names", "./lazy"),
    ]


COMMON = b"""\
'use strict';
const path = require('path');
const { join } = require("./util/index.js");
require.resolve('./x.cjs');

function Parser(options) {}
Parser.prototype.parse = function (text) {
  this.last = function () {};
};
Parser.make = () => new Parser();

exports.VERSION = '1';
exports.read = function read(file) {};
module.exports.write = async (file) => {};
module.exports = { Parser, helper, open() {}, close: () => {}, 'with-dash': 1 };

function* helper() {}
class Queue { static #n = 0; push = () => {}; pop() {} }
(function () { var hidden = 1; function wrapped() {} })();
"""


def test_a_javascript_file_in_the_old_style() -> None:
    facts = extract_file_facts("lib/parser.js", COMMON)
    assert facts.degraded is None
    assert declared(facts) == [
        "const path 2",
        "const join 3",
        "function Parser 6 *",
        "method Parser.parse 7-9 *",
        "method Parser.make 10 *",
        "function read 13 *",
        "function write 14 *",
        "method open 15 *",
        "method close 15 *",
        "function helper 17 *",
        "class Queue 18",
        "method Queue.push 18",
        "method Queue.pop 18",
        "function wrapped 19",
    ]
    assert exports(facts) == [
        *("VERSION 12", "read 13", "write 14", "Parser 6", "helper 17", "open 15", "close 15", "with-dash 15"),
    ]
    assert imports(facts) == ["path", "./util", "./x"]


TESTS = b"""\
import { describe, it, expect, vi } from 'vitest';
import { render } from '@testing-library/react';
import { Queue } from '../queue.js';

describe('Queue: the basics', () => {
  beforeEach(() => { vi.clearAllMocks(); });
  it.only("adds, and doesn't drop!", async () => {
    expect(new Queue().size).toBe(0);
    expect(a).not.toEqual(expect.any(Number));
    await expect(load()).rejects
      .toThrow('x');
  });
  describe.each([[1], [2]])('with %i items', (n) => {
    test.skip(`pops ${n} of ${n + 1}`, () => { expect.soft(n).toBe(1); });
  });
  it.each`a | b`('table of $a', () => {});
  it.todo('later');
});
describe(Queue, function () { specify('chai', () => { expect(x).to.be.true; assert.equal(1, 2); assert(x); }) });
"""


# Conformance: 002-030, 002-031
@pytest.mark.parametrize("path", ["src/queue.ts", "src/queue.tsx", "src/queue.jsx"])
def test_intent_of_tests(path: str) -> None:
    facts = extract_file_facts(path, TESTS)
    assert facts.is_test
    assert suites(facts) == ["queue the basics 5-18", "with i items 13-15", "queue 19"]
    assert names_of_tests(facts) == ["adds and doesn t drop 7-12", "pops of 14", "table of a 16", "later 17", "chai 19"]
    assert facts.intent.matchers == (
        ("assert", 1),
        ("equal", 1),
        ("not.toEqual", 1),
        ("rejects.toThrow", 1),
        ("to.be.true", 1),
        ("toBe", 2),
    )
    assert [one.module for one in facts.intent.imports] == ["../queue"]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("test.describe('pages', () => { test.step('x', f); test.beforeEach('y', f); })", ["pages"]),
        ("QUnit.module('admin'); QUnit.test('opens', f)", ["admin", "opens"]),
        ("Deno.test('reads', f)", ["reads"]),
        ("suite('s', f); context('c', f); xit('x', f); fdescribe('f', f)", ["s", "c", "f", "x"]),
        ("it(1); test(); test(name); describe({}); unit('x'); a.it('y', f)", []),
    ],
)
def test_which_calls_are_suites_and_tests(content: str, names: list[str]) -> None:
    intent = extract_file_facts("a.js", content.encode()).intent
    assert [one.name for one in (*intent.suites, *intent.tests)] == names


TSX = b"""\
export const Button: FC<Props> = ({ onClick }) => {
  const handle = useCallback(() => { const x = 1; }, []);
  const later = () => onClick();
  return <button onClick={() => { const y = () => 1; }}>{later}</button>;
};
export default function App() { return <Button<string> a="1" />; }
"""


def test_components() -> None:
    facts = extract_file_facts("App.tsx", TSX)
    assert (facts.language, facts.degraded) == ("tsx", None)
    assert declared(facts) == [
        "function Button 1-5 *",
        "function Button.later 3 *",
        "function Button.y 4 *",
        "function App 6 *",
    ]
    assert exports(facts) == ["Button 1-5", "default 6"]


def test_a_file_with_errors_still_has_facts() -> None:
    facts = extract_file_facts("a.ts", b"export function ok() {}\nfunction broken( {\nexport class Fine { go() {} }\n")
    assert facts.degraded is not None and "syntax error" in facts.degraded
    assert "function ok 1 *" in declared(facts)
