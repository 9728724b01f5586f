// Copying lines: what is selected, from the data, since lines out of sight are not there; or the marked lines where
// nothing is selected.

import type { Blamed } from "./model";

export function copying(box: HTMLElement, data: Blamed, marked: () => [number, number] | null): void {
  const text = (first: number, last: number): string[] => data.texts.slice(first - data.first, last - data.first + 1);

  document.addEventListener("copy", (event) => {
    const chosen = document.getSelection();
    const range = chosen && chosen.rangeCount && !chosen.isCollapsed ? chosen.getRangeAt(0) : null;
    const lines = range ? selected(range) : focused() ? markedText() : null;
    if (lines === null || !event.clipboardData) return;
    event.clipboardData.setData("text/plain", lines);
    event.preventDefault();
  });
  document.getElementById("copy")?.addEventListener("click", () => {
    const lines = markedText();
    const said = document.getElementById("marked");
    if (lines === null || !said) return;
    const refused = (): void => void (said.textContent = "the browser does not let us copy: press Ctrl+C in the lines");
    if (!navigator.clipboard) return refused();
    navigator.clipboard.writeText(lines).then(() => (said.textContent = "copied"), refused);
  });

  const focused = (): boolean => box.contains(document.activeElement);
  const markedText = (): string | null => {
    const ends = marked();
    return ends && `${text(...ends).join("\n")}\n`;
  };

  /** The text from one end of a selection to the other, if both are in lines of the file. */
  function selected(range: Range): string | null {
    const [from, to] = [end(range.startContainer, range.startOffset, 0), end(range.endContainer, range.endOffset, Infinity)];
    if (!from || !to) return null;
    const lines = text(from.number, to.number);
    const last = lines.length - 1;
    lines[last] = (lines[last] ?? "").slice(0, to.at);
    lines[0] = (lines[0] ?? "").slice(from.at);
    return lines.join("\n");
  }

  function end(node: Node, offset: number, usual: number): { number: number; at: number } | null {
    const row = (node instanceof Element ? node : node.parentElement)?.closest<HTMLElement>("[data-row]");
    if (!row || !box.contains(row)) return null;
    const inText = node.nodeType === Node.TEXT_NODE && node.parentElement?.tagName === "CODE";
    return { number: Number(row.dataset.row) + data.first, at: inText ? offset : node instanceof HTMLElement && node.tagName === "CODE" && offset === 0 ? 0 : usual };
  }
}
