// The graph page: picture, legend, rows and the details of a selection. When the region is fetched again, by a filter
// or for new records, it is drawn again at the same position.

import type { Core } from "cytoscape";

import { block } from "../data";
import { all, canvas, fill, frame, type View } from "../graph/canvas";
import { wordsOf, type GraphData, type GraphEdge, type GraphNode } from "../graph/data";
import { closer, keys } from "../graph/keys";
import { legend } from "../graph/legend";
import { details, opened } from "../graph/details";
import { styleOf } from "../graph/style";
import { table } from "../graph/table";

/** The box of the picture; tests read from it what was drawn. */
export interface GraphBox extends HTMLElement {
  cy?: Core;
}

const CLOSER = 1.3;
let current: { cy: Core; data: GraphData; root: HTMLElement; paint: () => Promise<void> } | null = null;
let arrived: GraphData | null = null;
let kept: { view: View; shape: string; focused: boolean } | null = null;

function mount(): void {
  const root = document.getElementById("graph-region");
  const box = root?.querySelector<GraphBox>("#graph-canvas");
  const data = arrived ?? block<GraphData>("graph-data");
  arrived = null;
  if (!root || !box || !data || box.cy) return;
  draw(root, box, data);
}

function draw(root: HTMLElement, box: GraphBox, data: GraphData): void {
  const known = new Map<string, GraphNode | GraphEdge>([...data.nodes, ...data.edges].map((one) => [one.id, one]));
  const switches = legend(root, () => {
    sift();
    list.sift();
  });
  const isAway = (id: string): boolean => {
    const one = known.get(id);
    return !one || switches.away(wordsOf(one));
  };
  const cy = canvas(box, data);
  const selection = details(root, data, choose);
  const list = table(root.querySelector<HTMLElement>("#graph-rows")!, data, isAway, choose);
  box.cy = cy;

  function choose(id: string): void {
    const one = known.get(id);
    const drawn = cy.getElementById(id);
    if (!one || drawn.empty()) return;
    cy.$(":selected").unselect();
    drawn.select();
    bring(cy, id);
    list.mark(id);
    if ("kind" in one) selection.node(one);
    else selection.edge(one);
  }

  function sift(): void {
    cy.batch(() => {
      cy.elements().forEach((one) => {
        one.toggleClass("away", isAway(one.id()));
      });
    });
  }

  cy.on("tap", "node, edge", (event) => {
    box.focus({ preventScroll: true });
    choose(event.target.id() as string);
  });
  keys(box, cy, {
    choose: (node) => choose(node.id()),
    open: (node) => {
      const place = opened(root, node.data() as GraphNode);
      if (place) location.assign(place);
      else root.querySelector<HTMLElement>("#graph-said")?.focus();
    },
    fit: () => all(cy, data),
  });
  const tools: Record<string, () => void> = {
    in: () => closer(cy, CLOSER),
    out: () => closer(cy, 1 / CLOSER),
    fit: () => all(cy, data),
  };
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-tool]")) {
    button.addEventListener("click", () => tools[button.dataset.tool ?? ""]?.());
  }
  if (kept?.shape === shape(data)) {
    cy.viewport(kept.view);
    if (kept.focused) box.focus({ preventScroll: true });
  } else frame(cy, data);
  kept = null;

  /** Draw everything in the current theme, in small portions: restyling all at once would block the page. */
  let turn = 0;
  async function paint(): Promise<void> {
    const mine = ++turn;
    const chosen = cy.$(":selected").map((one) => one.id());
    delete box.dataset.drawn;
    cy.elements().remove();
    cy.style(styleOf(data, box));
    await fill(cy, data, switches.away, () => mine === turn && !cy.destroyed());
    if (mine !== turn || cy.destroyed()) return;
    sift();
    for (const id of chosen) cy.getElementById(id).select();
    box.dataset.drawn = String(cy.elements().length);
  }
  current = { cy, data, root, paint };
  void paint();
}

/** Scroll a node into view. */
function bring(cy: Core, id: string): void {
  const one = cy.getElementById(id);
  if (!one.isNode()) return;
  const { x, y } = one.renderedPosition();
  const [wide, tall] = [cy.width(), cy.height()];
  if (x < 40 || y < 30 || x > wide - 160 || y > tall - 30) cy.panBy({ x: wide / 3 - x, y: tall / 2 - y });
}

/** Pictures with the same key have the same position. */
function shape(data: GraphData): string {
  return `${data.view} ${new URL(location.href).searchParams.get("session") ?? ""} ${new URL(location.href).searchParams.get("open") ?? ""}`;
}

document.addEventListener("custody:theme", () => {
  if (current && !current.cy.destroyed()) void current.paint();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, shouldSwap, xhr } = (event as CustomEvent).detail as { target?: Element; shouldSwap: boolean; xhr: XMLHttpRequest };
  if (target?.id !== "graph-region" || !shouldSwap) return;
  arrived = told(xhr.responseText);
  leave();
});
document.addEventListener("htmx:afterSwap", mount);

/** The data of a fetched page; htmx swaps content in without its script elements. */
function told(page: string): GraphData | null {
  const found = new DOMParser().parseFromString(page, "text/html").getElementById("graph-data");
  return found ? (JSON.parse(found.textContent ?? "null") as GraphData) : null;
}

/** Remove the current picture, and store its position. */
function leave(): void {
  if (!current) return;
  const { cy, data, root } = current;
  const focused = root.querySelector("#graph-canvas") === document.activeElement;
  kept = { view: { zoom: cy.zoom(), pan: { ...cy.pan() } }, shape: shape(data), focused };
  cy.destroy();
  current = null;
  // htmx briefly copies attributes of the old element to the new one, and our policy forbids style attributes.
  for (const styled of root.querySelectorAll("[id][style]")) styled.removeAttribute("style");
}

// In a separate task, so that no single task is long.
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => setTimeout(mount, 0));
else setTimeout(mount, 0);
