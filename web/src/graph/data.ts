// The data of the page: nodes with their positions, edges, style sheets, rows (pages/graph_data.py).

export type Theme = "dark" | "light";

export interface GraphNode {
  id: string;
  label: string;
  name: string;
  kind: string;
  x: number;
  y: number;
  said: [string, string][];
  open?: string;
  failed?: boolean;
  closed?: boolean;
  inner?: boolean;
  wide?: number;
}

export interface GraphEdge {
  id: string;
  source: string;
  target: string;
  edge_type: string;
  edge_source: string;
  count: number;
  width: number;
  runs: string;
  seen: [string, string][];
  bow?: number;
  change?: string;
}

export interface GraphRow {
  cells: string[];
  of: string;
  level: number;
}

export interface GraphData {
  view: "graph" | "tree" | "lanes" | "difference";
  styles: Record<Theme, { selector: string; style: Record<string, unknown> }[]>;
  grounds: Record<Theme, string>;
  nodes: GraphNode[];
  edges: GraphEdge[];
  columns: { name: string; number: boolean }[];
  rows: GraphRow[];
}

/** The legend entries that hide an element. */
export function wordsOf(one: GraphNode | GraphEdge): string[] {
  return "kind" in one ? [one.kind] : [one.edge_type, one.edge_source, one.change ?? ""];
}

export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "dark" || chosen === "light") return chosen;
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
