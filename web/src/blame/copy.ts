// Copying lines: the selection, taken from the data since lines out of view do not exist; without a selection, the
// marked lines.

import type { Blamed } from "./model";

export function copying(box: HTMLElement, data: Blamed, marked: () => [number, number] | null): void {
  const text = (first: number, last: number): string[] => data.texts.slice(first - data.first, last - data.first + 1);

  document.addEventListener("copy", (event) => {
    const selection = document.getSelection();
    const range = selection && selection.rangeCount && !selection.isCollapsed ? selection.getRangeAt(0) : null;
    const lines = range ? selected(range) : focused() ? markedText() : null;
    if (lines === null || !event.clipboardData) return;
    event.clipboardData.setData("text/plain", lines);
    event.preventDefault();
  });
  document.getElementById("copy")?.addEventListener("click", () => {
    const lines = markedText();
    const status = document.getElementById("marked");
    if (lines === null || !status) return;
    const failed = (): void => void (status.textContent = "cannot copy: press Ctrl+C in the lines");
    if (!navigator.clipboard) return failed();
    navigator.clipboard.writeText(lines).then(() => (status.textContent = "copied"), failed);
  });

  const focused = (): boolean => box.contains(document.activeElement);
  const markedText = (): string | null => {
    const ends = marked();
    return ends && `${text(...ends).join("\n")}\n`;
  };

  /** The selected text, if both ends of the selection are in lines of the file. */
  function selected(range: Range): string | null {
    const [from, to] = [end(range.startContainer, range.startOffset, 0), end(range.endContainer, range.endOffset, Infinity)];
    if (!from || !to) return null;
    const lines = text(from.number, to.number);
    const last = lines.length - 1;
    lines[last] = (lines[last] ?? "").slice(0, to.at);
    lines[0] = (lines[0] ?? "").slice(from.at);
    return lines.join("\n");
  }

  function end(node: Node, offset: number, fallback: number): { number: number; at: number } | null {
    const row = (node instanceof Element ? node : node.parentElement)?.closest<HTMLElement>("[data-row]");
    if (!row || !box.contains(row)) return null;
    const number = Number(row.dataset.row) + data.first;
    const code = (node instanceof Element ? node : node.parentElement)?.closest("code");
    if (!code) return { number, at: fallback };
    const before = document.createRange();
    before.setStart(code, 0);
    before.setEnd(node, offset);
    return { number, at: before.toString().length };
  }
}
