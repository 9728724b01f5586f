// The details of a selected node or edge, and the runs with an edge.

import { block, element } from "../data";
import type { GraphData, GraphEdge, GraphNode } from "./data";
import { setUrlParam } from "./legend";

const EDGES_MAX = 24;

export interface Details {
  node(node: GraphNode): void;
  edge(edge: GraphEdge): void;
}

export function details(root: HTMLElement, data: GraphData, choose: (id: string) => void): Details {
  const box = root.querySelector<HTMLElement>("#graph-said")!;
  const status = root.querySelector<HTMLElement>("#graph-status")!;
  const served = root.hasAttribute("data-served");
  const names = new Map(data.nodes.map((node) => [node.id, node.name]));

  function say(title: string, ...inside: Node[]): void {
    box.replaceChildren(element("h2", {}, element("bdi", {}, title)), ...inside);
  }

  function button(edge: GraphEdge): HTMLElement {
    const made = element("button", { type: "button", class: "quiet" }, words(edge, names));
    made.addEventListener("click", () => choose(edge.id));
    return element("li", {}, made);
  }

  return {
    node(node) {
      const around = data.edges.filter((edge) => edge.source === node.id || edge.target === node.id);
      const shown = around.slice(0, EDGES_MAX).map(button);
      if (around.length > EDGES_MAX) shown.push(element("li", {}, `and ${(around.length - EDGES_MAX).toLocaleString("en")} more, in the table`));
      const parts: Node[] = [facts([["kind", node.kind], ...node.said])];
      const place = opened(root, node);
      if (place) parts.push(element("p", {}, element("a", { href: place, id: "graph-open" }, "Show its content")));
      if (shown.length) parts.push(element("h3", {}, "Edges"), element("ul", { class: "graph-edges" }, ...shown));
      say(node.name, ...parts);
      status.textContent = [node.name, node.kind, ...node.said.map(([term, told]) => `${term} ${told}`)].join(", ");
    },
    edge(edge) {
      const told: [string, string][] = [
        ["type", edge.edge_type],
        ["source", edge.edge_source],
        ["seen", edge.count.toLocaleString("en")],
      ];
      if (edge.change) told.push(["change", edge.change]);
      const below = element("p", {}, element("a", { href: "#graph-runs" }, "Runs with this edge ↓"));
      say(words(edge, names), facts(told), served ? below : seen(edge));
      status.textContent = `${words(edge, names)}, ${edge.edge_source}, seen ${edge.count.toLocaleString("en")}`;
      if (served) ask(root, decodeURIComponent(edge.runs));
    },
  };
}

/** The URL of the content of a collapsed box: this page with other parameters, or a file of a report. */
export function opened(root: HTMLElement, node: GraphNode): string | null {
  if (!node.open) return null;
  if (!root.hasAttribute("data-served")) return block<Record<string, string>>("graph-opens")?.[node.id] ?? null;
  const place = new URL(location.href);
  place.searchParams.set("open", decodeURIComponent(node.open));
  place.searchParams.delete("edge");
  return place.pathname + place.search;
}

function words(edge: GraphEdge, names: Map<string, string>): string {
  return `${names.get(edge.source) ?? ""} → ${names.get(edge.target) ?? ""} (${edge.edge_type})`;
}

function facts(told: [string, string][]): HTMLElement {
  const rows = told.filter(([, value]) => value).flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]);
  return element("dl", { class: "facts" }, ...rows);
}

/** Fetch the runs with htmx. */
function ask(root: HTMLElement, runs: string): void {
  const field = root.querySelector<HTMLInputElement>("#graph-edge");
  if (!field) return;
  field.value = runs;
  setUrlParam("edge", runs);
  root.querySelector("#graph-runs")?.dispatchEvent(new Event("runs"));
}

/** The runs in the data of the page: a report cannot fetch others. */
function seen(edge: GraphEdge): HTMLElement {
  if (!edge.seen.length) return element("p", { class: "dim" }, "Its runs are not in this report.");
  const rows = edge.seen.map(([execution, at]) => element("li", {}, element("bdi", { class: "mono" }, execution), at ? ` at ${at}` : ""));
  return element("div", {}, element("h3", {}, "Newest runs"), element("ul", {}, ...rows));
}
