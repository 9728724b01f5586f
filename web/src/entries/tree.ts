// The calls of a session as a virtual tree. A row is expanded or collapsed; equal calls in a row without children share
// one line until it is expanded. Everything is in the data of the page: nothing is fetched.

import { block, element } from "../data";
import { someRows } from "../paper";
import { rows, type Rows } from "../rows";

/** Depth, name, kind, state, start and length in milliseconds, detail; texts are indexes into a list. */
type Row = [number, number, number, number, number | null, number | null, number];

interface Data {
  words: string[];
  states: string[];
  rows: Row[];
  wanted: number;
  span: number;
}

/** One line: a call, or `count` equal calls from `first` on. */
interface Line {
  first: number;
  count: number;
  depth: number;
}

const RUN_MIN = 3;
const ICONS = ["✓", "✕", "…", ""];
const MINUTE = 60_000;

class Tree {
  private readonly closed = new Set<number>();
  private readonly opened = new Set<number>();
  private readonly next: Int32Array;
  private readonly above: Int32Array;
  private lines: Line[] = [];
  private list: Rows | null = null;
  private at = 0;
  private found = "";

  constructor(private readonly data: Data, box: HTMLElement) {
    const many = data.rows.length;
    this.next = new Int32Array(many).fill(many);
    this.above = new Int32Array(many).fill(-1);
    const open: number[] = [];
    for (let n = 0; n < many; n++) {
      while (open.length && this.rowAt(open[open.length - 1]!)[0] >= this.rowAt(n)[0]) this.next[open.pop()!] = n;
      this.above[n] = open[open.length - 1] ?? -1;
      open.push(n);
    }
    this.lay();
    this.list = rows(box, this.lines.length, (index) => this.row(index), 26, (first, last, many) => {
      const some = someRows(first, last, many);
      return some && `${some} All calls: ${box.dataset.whole}`;
    });
    box.firstElementChild?.setAttribute("role", "none");
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => this.click(event));
    box.addEventListener("focusin", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
      if (row) this.at = Number(row.dataset.row);
    });
    if (data.wanted >= 0) this.reveal(data.wanted);
  }

  private rowAt(n: number): Row {
    return this.data.rows[n]!;
  }

  private holds(n: number): boolean {
    return this.next[n]! > n + 1;
  }

  /** Compute the visible lines. */
  private lay(): void {
    const lines: Line[] = [];
    const many = this.data.rows.length;
    for (let n = 0; n < many; ) {
      const depth = this.rowAt(n)[0];
      if (this.holds(n)) {
        lines.push({ first: n, count: 1, depth });
        n = this.closed.has(n) ? this.next[n]! : n + 1;
        continue;
      }
      let end = n + 1;
      while (end < many && !this.holds(end) && this.rowAt(end)[0] === depth && this.alike(n, end)) end++;
      if (end - n < RUN_MIN) end = n + 1;
      lines.push({ first: n, count: end - n, depth });
      if (end - n > 1 && this.opened.has(n)) {
        for (let one = n; one < end; one++) lines.push({ first: one, count: 1, depth: depth + 1 });
      }
      n = end;
    }
    this.lines = lines;
  }

  private alike(one: number, other: number): boolean {
    return this.rowAt(one)[1] === this.rowAt(other)[1] && this.rowAt(one)[2] === this.rowAt(other)[2];
  }

  private isOpen(line: Line): boolean | null {
    if (line.count > 1) return this.opened.has(line.first);
    return this.holds(line.first) ? !this.closed.has(line.first) : null;
  }

  private toggle(index: number, open?: boolean): void {
    const line = this.lines[index];
    const now = line ? this.isOpen(line) : null;
    if (!line || now === null || open === now) return;
    const set = line.count > 1 ? this.opened : this.closed;
    if (set.has(line.first)) set.delete(line.first);
    else set.add(line.first);
    this.again(index);
  }

  private again(index: number): void {
    this.lay();
    this.list?.draw(this.lines.length);
    this.list?.show(Math.min(index, this.lines.length - 1));
  }

  private row(index: number): HTMLElement {
    const line = this.lines[index]!;
    const [, name, kind, state, start, length, detail] = this.rowAt(line.first);
    const words = this.data.words;
    const open = this.isOpen(line);
    const worst = line.count > 1 ? this.worst(line) : state;
    const made = element("div", {
      role: "treeitem",
      tabindex: "-1",
      class: `call of-${words[kind]} is-${this.data.states[worst]}${line.count === 1 && line.first === this.data.wanted ? " wanted" : ""}`,
      "aria-level": String(line.depth + 1),
    });
    if (open !== null) made.setAttribute("aria-expanded", String(open));
    const fold = element("span", { class: "fold", "aria-hidden": "true" }, open === null ? "" : open ? "▾" : "▸");
    const label = element("bdi", { class: "name" }, words[name]!);
    const icon = element("span", { class: "icon", title: this.data.states[worst]! }, ICONS[worst]!);
    const indent = element("span", { class: "indent" });
    indent.style.width = `${Math.min(line.depth, 24) * 16}px`;
    made.append(indent, fold, icon, label);
    if (line.count > 1) made.append(element("b", { class: "times" }, ` ×${line.count.toLocaleString("en")}`));
    else if (open === false) made.append(element("span", { class: "inside" }, ` ${(this.next[line.first]! - line.first - 1).toLocaleString("en")} inside`));
    if (line.count === 1 && detail >= 0) made.append(element("bdi", { class: "detail" }, words[detail]!));
    made.append(element("span", { class: "took" }, line.count > 1 ? "" : length === null ? (state === 2 ? "no end" : "") : formatDuration(length)));
    made.append(this.bar(line, start, length));
    return made;
  }

  private worst(line: Line): number {
    let found = 3;
    const rank = [1, 3, 2, 0];
    for (let n = line.first; n < line.first + line.count; n++) {
      const state = this.rowAt(n)[3];
      if (rank[state]! > rank[found]!) found = state;
    }
    return found;
  }

  /** The position of a line in the time of the session. */
  private bar(line: Line, start: number | null, length: number | null): HTMLElement {
    const bar = element("span", { class: "when", "aria-hidden": "true" });
    if (start === null || this.data.span <= 0) return bar;
    const last = this.rowAt(line.first + line.count - 1);
    const end = line.count > 1 ? (last[4] ?? start) + (last[5] ?? 0) : start + (length ?? 0);
    const part = element("i");
    part.style.left = `${(100 * start) / this.data.span}%`;
    part.style.width = `${Math.max(0.5, (100 * (end - start)) / this.data.span)}%`;
    bar.append(part);
    return bar;
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const line = this.lines[this.at];
    if (!line) return;
    const open = this.isOpen(line);
    const does: Record<string, () => void> = {
      ArrowRight: () => (open === false ? this.toggle(this.at, true) : open ? this.list?.show(this.at + 1) : undefined),
      ArrowLeft: () => (open ? this.toggle(this.at, false) : this.list?.show(this.parent(this.at))),
      Enter: () => this.toggle(this.at),
      " ": () => this.toggle(this.at),
    };
    const act = does[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  private parent(index: number): number {
    const depth = this.lines[index]!.depth;
    for (let n = index - 1; n >= 0; n--) if (this.lines[n]!.depth < depth) return n;
    return index;
  }

  private click(event: MouseEvent): void {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
    if (!row || String(getSelection() ?? "")) return;
    this.at = Number(row.dataset.row);
    if (this.isOpen(this.lines[this.at]!) === null) row.focus({ preventScroll: true });
    else this.toggle(this.at);
  }

  openAll(open: boolean): void {
    this.closed.clear();
    this.opened.clear();
    const many = this.data.rows.length;
    for (let n = 0; n < many; n++) {
      if (open) this.opened.add(n);
      else if (this.holds(n) && this.rowAt(n)[0] > 0) this.closed.add(n);
    }
    this.again(0);
  }

  /** Expand the parents of a call, and go to it. */
  private reveal(n: number): void {
    for (let above = this.above[n]!; above >= 0; above = this.above[above]!) this.closed.delete(above);
    this.lay();
    const run = this.lines.find((line) => line.count > 1 && line.first <= n && n < line.first + line.count);
    if (run) this.opened.add(run.first);
    this.lay();
    const index = this.lines.findIndex((line) => line.count === 1 && line.first === n);
    this.list?.draw(this.lines.length);
    this.list?.show(Math.max(0, index));
  }

  /** Go to the next call that matches, after the focused one; return a status text. */
  seek(wanted: (row: Row) => boolean): string {
    const many = this.data.rows.length;
    const line = this.lines[this.at];
    const from = line ? line.first + (line.count > 1 && !this.isOpen(line) ? 0 : 1) : 0;
    for (let step = 0; step < many; step++) {
      const n = (from + step) % many;
      if (wanted(this.rowAt(n))) {
        this.reveal(n);
        return `row ${(n + 1).toLocaleString("en")} of ${many.toLocaleString("en")}`;
      }
    }
    return "no match";
  }

  find(text: string): string {
    const small = text.toLowerCase();
    if (!small) return "";
    if (small !== this.found) this.at = 0;
    this.found = small;
    const fits = this.data.words.map((word) => word.toLowerCase().includes(small));
    return this.seek((row) => fits[row[1]]! || (row[6] >= 0 && fits[row[6]]!));
  }
}

function formatDuration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < MINUTE) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / 1000)} s`;
}

document.addEventListener("DOMContentLoaded", () => {
  const data = block<Data>("tree-data");
  const box = document.getElementById("tree");
  const tools = document.getElementById("tree-tools");
  if (!data || !box || !tools) return;
  const tree = new Tree(data, box);
  const status = document.getElementById("tree-said");
  const say = (text: string): void => {
    if (status) status.textContent = text;
  };
  const does: Record<string, () => void> = {
    open: () => tree.openAll(true),
    close: () => tree.openAll(false),
    failed: () => say(tree.seek((row) => row[3] === 1)),
  };
  tools.addEventListener("click", (event) => {
    const name = (event.target as HTMLElement).dataset.tree;
    if (name) does[name]?.();
  });
  const find = document.getElementById("tree-find") as HTMLInputElement | null;
  find?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    say(tree.find(find.value.trim()));
  });
  tools.hidden = false;
});
