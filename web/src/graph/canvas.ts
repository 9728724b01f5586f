// The picture: elements are added in small portions, so that the page stays responsive; positions come from the page.

import cytoscape, { type Core, type ElementDefinition } from "cytoscape";

import type { GraphData } from "./data";
import { styleOf } from "./style";

const AT_ONCE = 60;
const READABLE = 0.55;
const PADDING = 30;

export interface View {
  zoom: number;
  pan: { x: number; y: number };
}

export function canvas(box: HTMLElement, data: GraphData): Core {
  box.replaceChildren();
  const cy = cytoscape({
    container: box,
    elements: [],
    style: styleOf(data, box),
    layout: { name: "preset" },
    minZoom: 0.02,
    maxZoom: 4,
    autoungrabify: true,
    boxSelectionEnabled: false,
    // The wheel scrolls the page until the picture has the focus.
    userZoomingEnabled: false,
    hideEdgesOnViewport: data.edges.length > 1_000,
  });
  box.addEventListener("focusin", () => cy.userZoomingEnabled(true));
  box.addEventListener("focusout", () => cy.userZoomingEnabled(false));
  return cy;
}

/** Add every element, nodes before edges, in small portions while `wanted`; resolves when all are added. */
export async function fill(cy: Core, data: GraphData, away: (words: string[]) => boolean, wanted: () => boolean): Promise<void> {
  const waiting = definitions(data, away);
  for (let at = 0; at < waiting.length; at += AT_ONCE) {
    await nextTask();
    if (!wanted()) return;
    cy.batch(() => {
      cy.add(waiting.slice(at, at + AT_ONCE));
    });
  }
}

function definitions(data: GraphData, away: (words: string[]) => boolean): ElementDefinition[] {
  const nodes = data.nodes.map(({ x, y, ...node }) => ({
    group: "nodes" as const,
    data: node,
    position: { x, y },
    classes: [node.kind, ...(away([node.kind]) ? ["away"] : [])],
  }));
  const edges = data.edges.map((edge) => {
    const words = [edge.edge_type, edge.edge_source, edge.change ?? ""];
    return {
      group: "edges" as const,
      data: edge,
      classes: [edge.edge_type, edge.edge_source, ...(away(words) ? ["away"] : [])],
    };
  });
  return [...nodes, ...edges];
}

function nextTask(): Promise<void> {
  return new Promise((next) => setTimeout(next, 0));
}

/** Fit the picture if it is readable; else show its start, the leftmost node, at a readable size. */
export function frame(cy: Core, data: GraphData): void {
  const whole = bounds(data);
  const zoom = Math.min((cy.width() - 2 * PADDING) / whole.wide, (cy.height() - 2 * PADDING) / whole.tall, 1.4);
  if (zoom >= READABLE) {
    center(cy, whole, zoom);
    return;
  }
  const first = data.nodes.reduce((best, node) => (node.x < best.x || (node.x === best.x && node.y < best.y) ? node : best));
  const size = Math.max(Math.min((cy.width() - 2 * PADDING) / whole.wide, 1), READABLE + 0.2);
  cy.viewport({ zoom: size, pan: { x: PADDING + 20 - (first.x - (first.wide ?? 0) / 2) * size, y: cy.height() / 2 - first.y * size } });
}

export function all(cy: Core, data: GraphData): void {
  const whole = bounds(data);
  center(cy, whole, Math.min((cy.width() - 2 * PADDING) / whole.wide, (cy.height() - 2 * PADDING) / whole.tall, 1.4));
}

interface Bounds {
  left: number;
  top: number;
  wide: number;
  tall: number;
}

const NAME_WIDE = 190;

/** Computed from positions, without drawing. */
function bounds(data: GraphData): Bounds {
  const wide = data.view === "lanes" ? 0 : NAME_WIDE;
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const node of data.nodes) {
    const half = (node.wide ?? 20) / 2;
    left = Math.min(left, node.x - half);
    right = Math.max(right, node.x + half + wide);
    top = Math.min(top, node.y - 14);
    bottom = Math.max(bottom, node.y + 14);
  }
  return { left, top, wide: right - left, tall: bottom - top };
}

function center(cy: Core, whole: Bounds, zoom: number): void {
  const x = cy.width() / 2 - (whole.left + whole.wide / 2) * zoom;
  const y = cy.height() / 2 - (whole.top + whole.tall / 2) * zoom;
  cy.viewport({ zoom, pan: { x, y } });
}
