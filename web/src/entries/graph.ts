// The page of the graph: picture, legend, rows and what is said of one part, kept together. When the region is fetched
// again, by a filter or because records are new, it is drawn again where one was looking.

import type { Core } from "cytoscape";

import { block } from "../data";
import { all, canvas, fill, frame, type View } from "../graph/canvas";
import { wordsOf, type GraphData, type GraphEdge, type GraphNode } from "../graph/data";
import { closer, keys } from "../graph/keys";
import { legend } from "../graph/legend";
import { opened, said } from "../graph/said";
import { styleOf } from "../graph/style";
import { table } from "../graph/table";

/** The box of the picture; whoever tests it finds here what was drawn. */
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
  const words = said(root, data, choose);
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
    if ("kind" in one) words.node(one);
    else words.edge(one);
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

  /** Draws everything in the colours of now, as gently as the first time: restyling all at once stops the page. */
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

/** The view moves only as far as it must. */
function bring(cy: Core, id: string): void {
  const one = cy.getElementById(id);
  if (!one.isNode()) return;
  const { x, y } = one.renderedPosition();
  const [wide, tall] = [cy.width(), cy.height()];
  if (x < 40 || y < 30 || x > wide - 160 || y > tall - 30) cy.panBy({ x: wide / 3 - x, y: tall / 2 - y });
}

/** Pictures of one shape are looked at from the same place. */
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

/** What a fetched page hands to the picture: what is swapped in comes without any script element, and this is one. */
function told(page: string): GraphData | null {
  const found = new DOMParser().parseFromString(page, "text/html").getElementById("graph-data");
  return found ? (JSON.parse(found.textContent ?? "null") as GraphData) : null;
}

/** Ends the picture that is about to go, and remembers from where it was looked at. */
function leave(): void {
  if (!current) return;
  const { cy, data, root } = current;
  const focused = root.querySelector("#graph-canvas") === document.activeElement;
  kept = { view: { zoom: cy.zoom(), pan: { ...cy.pan() } }, shape: shape(data), focused };
  cy.destroy();
  current = null;
  // Attributes of the old element are put on the new one for a moment, and our policy has no style attributes.
  for (const styled of root.querySelectorAll("[id][style]")) styled.removeAttribute("style");
}

// Apart from the reading of this script, so that no single task is long.
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => setTimeout(mount, 0));
else setTimeout(mount, 0);
