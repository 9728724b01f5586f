// The style of a picture: that of the page (color by type, line by source), and additions for the screen.

import type { StylesheetJson } from "cytoscape";

import { theme, type GraphData } from "./data";

const MARKS: Record<string, string> = { new: "+ new", gone: "− gone", more: "▲ more", less: "▼ less", same: "" };

export function styleOf(data: GraphData, box: HTMLElement): StylesheetJson {
  const ground = data.grounds[theme()];
  const focus = resolved(box, "var(--focus)");
  const block = resolved(box, "var(--block)");
  return [
    ...data.styles[theme()],
    {
      selector: "node",
      style: {
        width: 18,
        height: 18,
        "font-size": 12,
        "text-halign": "right",
        "text-valign": "center",
        "text-margin-x": 5,
        "text-background-color": ground,
        "text-background-opacity": 0.85,
        "text-background-padding": "1px",
        "min-zoomed-font-size": 5,
      },
    },
    { selector: "node[?inner]", style: { "text-halign": "center", "text-valign": "top", "text-margin-x": 0, "text-margin-y": -3 } },
    { selector: "edge", style: { "arrow-scale": 0.9, "overlay-padding": 4 } },
    {
      selector: "edge[bow]",
      style: {
        "curve-style": "unbundled-bezier",
        "control-point-distances": "data(bow)",
        "control-point-weights": "0.5",
        "edge-distances": "node-position",
      },
    },
    { selector: "node[?closed]", style: { "border-width": 4, "border-style": "double", "border-color": ground } },
    { selector: "node[?failed]", style: { "background-color": block } },
    ...(data.view === "lanes" ? lanes(ground) : []),
    ...(data.view === "difference" ? changes(ground) : []),
    {
      selector: ":selected",
      style: { "underlay-color": focus, "underlay-opacity": 0.45, "underlay-padding": 6 },
    },
    { selector: ".away", style: { display: "none" } },
  ] as unknown as StylesheetJson;
}

function lanes(ground: string): object[] {
  return [
    {
      selector: "node, node[?inner]",
      style: {
        shape: "round-rectangle",
        width: "data(wide)",
        height: 22,
        color: ground,
        "text-halign": "center",
        "text-valign": "center",
        "text-margin-x": 0,
        "text-margin-y": 0,
        "text-background-opacity": 0,
        "text-wrap": "ellipsis",
        "text-max-width": "data(wide)",
      },
    },
    { selector: "edge", style: { "source-endpoint": "90deg", "target-endpoint": "270deg" } },
  ];
}

function changes(ground: string): object[] {
  return Object.entries(MARKS)
    .filter(([, mark]) => mark)
    .map(([change, mark]) => ({
      selector: `edge[change = "${change}"]`,
      style: {
        label: mark,
        "font-size": 11,
        // Above the line: a label on the line would be transparent and look crossed out.
        "text-margin-y": -9,
        "text-background-color": ground,
        "text-background-opacity": 0.9,
        "text-background-padding": "2px",
      },
    }));
}

/** The computed value of a color of the style sheet. */
export function resolved(box: HTMLElement, color: string): string {
  const probe = document.createElement("i");
  probe.style.color = color;
  box.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
