// The picture as a table: a virtual list, with levels if it is a tree.

import { element } from "../data";
import { rows, type Rows } from "../rows";
import type { GraphData, GraphRow } from "./data";

const HEIGHT = 30;

export interface Table {
  /** Show the rows of visible elements. */
  sift(): void;
  /** Mark the row of an element, and scroll to it. */
  mark(id: string): void;
}

export function table(box: HTMLElement, data: GraphData, isAway: (id: string) => boolean, choose: (id: string) => void): Table {
  let shown: GraphRow[] = [];
  let marked = "";
  const list = element("div", { class: "rows", role: "rowgroup", "aria-label": "Rows" });
  const head = element("div", { class: "graph-row head", role: "row" });
  head.append(...data.columns.map((column) => element("span", { role: "columnheader", class: column.number ? "num" : "" }, column.name)));
  const grid = element("div", { role: "treegrid", class: `graph-grid v-${data.view}`, "aria-labelledby": "graph-rows-title" });
  grid.append(element("div", { role: "rowgroup" }, head), list);
  const nothing = element("p", { class: "dim", hidden: "" }, "Everything is hidden by the legend.");
  box.replaceChildren(grid, nothing);

  function make(index: number): HTMLElement {
    const row = shown[index]!;
    const made = element("div", { class: "graph-row", role: "row", tabindex: "-1", "aria-level": String(row.level), "data-of": row.of });
    row.cells.forEach((cell, at) => {
      const column = data.columns[at]!;
      const item = element("span", { role: "gridcell", class: column.number ? "num" : "", title: cell }, element("bdi", {}, cell));
      if (at === 0) item.style.paddingLeft = `${8 + Math.min(row.level - 1, 12) * 16}px`;
      made.append(item);
    });
    made.setAttribute("aria-selected", String(row.of === marked));
    return made;
  }

  list.addEventListener("click", (event) => pick(event));
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter") pick(event);
  });
  function pick(event: Event): void {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-of]");
    if (row?.dataset.of) choose(row.dataset.of);
  }

  let drawn: Rows | null = null;
  function sift(): void {
    shown = data.rows.filter((row) => !isAway(row.of));
    list.hidden = !shown.length;
    nothing.hidden = shown.length > 0;
    if (drawn) drawn.draw(shown.length);
    else drawn = rows(list, shown.length, make, HEIGHT);
    list.firstElementChild?.setAttribute("role", "none");
    head.style.paddingRight = `${list.offsetWidth - list.clientWidth}px`; // the room of a scroll bar
  }
  sift();
  return {
    sift,
    mark(id) {
      marked = id;
      const at = shown.findIndex((row) => row.of === id);
      if (at >= 0 && (at * HEIGHT < list.scrollTop || (at + 1) * HEIGHT > list.scrollTop + list.clientHeight)) {
        list.scrollTop = Math.max(0, at * HEIGHT - list.clientHeight / 3);
      }
      for (const row of list.querySelectorAll("[data-of]")) {
        row.setAttribute("aria-selected", String(row.getAttribute("data-of") === id));
      }
    },
  };
}
