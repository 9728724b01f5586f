// What is said of a node or an edge that was chosen, and the runs behind an edge.

import { block, element } from "../data";
import type { GraphData, GraphEdge, GraphNode } from "./data";
import { address } from "./legend";

const EDGES_MAX = 24;

export interface Said {
  node(node: GraphNode): void;
  edge(edge: GraphEdge): void;
}

export function said(root: HTMLElement, data: GraphData, choose: (id: string) => void): Said {
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
      if (place) parts.push(element("p", {}, element("a", { href: place, id: "graph-open" }, "Open what is inside")));
      if (shown.length) parts.push(element("h3", {}, "Edges"), element("ul", { class: "graph-edges" }, ...shown));
      say(node.name, ...parts);
      status.textContent = [node.name, node.kind, ...node.said.map(([term, told]) => `${term} ${told}`)].join(", ");
    },
    edge(edge) {
      const told: [string, string][] = [
        ["type", edge.edge_type],
        ["known", edge.edge_source],
        ["seen", edge.count.toLocaleString("en")],
      ];
      if (edge.change) told.push(["change", edge.change]);
      const below = element("p", {}, element("a", { href: "#graph-runs" }, "The runs behind it ↓"));
      say(words(edge, names), facts(told), served ? below : seen(edge));
      status.textContent = `${words(edge, names)}, ${edge.edge_source}, seen ${edge.count.toLocaleString("en")}`;
      if (served) ask(root, decodeURIComponent(edge.runs));
    },
  };
}

/** Where the inside of a closed box is drawn: an address with what the page is asked now, or a file of a report. */
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

/** The runs, fetched by the element that htmx watches. */
function ask(root: HTMLElement, runs: string): void {
  const field = root.querySelector<HTMLInputElement>("#graph-edge");
  if (!field) return;
  field.value = runs;
  address("edge", runs);
  root.querySelector("#graph-runs")?.dispatchEvent(new Event("runs"));
}

/** The runs that the page itself has: nothing can be fetched by a report. */
function seen(edge: GraphEdge): HTMLElement {
  if (!edge.seen.length) return element("p", { class: "dim" }, "Its runs are not in this report.");
  const rows = edge.seen.map(([execution, at]) => element("li", {}, element("bdi", { class: "mono" }, execution), at ? ` at ${at}` : ""));
  return element("div", {}, element("h3", {}, "The newest runs"), element("ul", {}, ...rows));
}
