// Keys in the picture: arrows go to the nearest node in that direction, Enter expands, plus and minus zoom.

import type { Core, NodeSingular } from "cytoscape";

const WAYS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};
const ASIDE = 2.5; // weight of the distance across the direction
const CLOSER = 1.3;

export interface KeyActions {
  choose(node: NodeSingular): void;
  open(node: NodeSingular): void;
  fit(): void;
}

export function keys(box: HTMLElement, cy: Core, actions: KeyActions): void {
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const chosen = cy.nodes(":selected").first();
    const way = WAYS[event.key];
    if (way) {
      const next = chosen.nonempty() ? nearest(cy, chosen, way) : first(cy);
      if (next) actions.choose(next);
    } else if (event.key === "Enter" && chosen.nonempty()) actions.open(chosen);
    else if (event.key === "+" || event.key === "=") closer(cy, CLOSER);
    else if (event.key === "-") closer(cy, 1 / CLOSER);
    else if (event.key === "0") actions.fit();
    else return;
    event.preventDefault();
  });
}

export function closer(cy: Core, times: number): void {
  cy.zoom({ level: cy.zoom() * times, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
}

function first(cy: Core): NodeSingular | undefined {
  let best: NodeSingular | undefined;
  cy.nodes().not(".away").forEach((node) => {
    const [a, b] = [node.position(), best?.position()];
    if (!b || a.x < b.x || (a.x === b.x && a.y < b.y)) best = node;
  });
  return best;
}

function nearest(cy: Core, from: NodeSingular, [right, down]: [number, number]): NodeSingular | undefined {
  const here = from.position();
  let best: NodeSingular | undefined;
  let least = Infinity;
  cy.nodes().not(".away").forEach((node) => {
    const { x, y } = node.position();
    const along = (x - here.x) * right + (y - here.y) * down;
    const aside = Math.abs((x - here.x) * down) + Math.abs((y - here.y) * right);
    const far = along + ASIDE * aside;
    if (along > 0.5 && far < least) [best, least] = [node, far];
  });
  return best;
}
