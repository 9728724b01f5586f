// Printing a long list: its rows are created for the print, up to a maximum. If rows are missing, a sentence says which
// rows are printed and how to get the others.

import { element } from "./data";

/** The note for a print of rows `first` to `last`, counted from 0, out of `many`; null if they are complete. */
export type PrintNote = (first: number, last: number, many: number) => string | null;

/** Maximum printed rows: a browser needs seconds for these, and minutes for many more. */
const PRINTED_MAX = 2_000;

export const someRows: PrintNote = (first, last, many) =>
  last - first + 1 === many ? null : `Printed: rows ${word(first + 1)} to ${word(last + 1)} of ${word(many)}.`;

export function word(number: number): string {
  return number.toLocaleString("en");
}

/** The printed rows: all, or the maximum number, starting with the first visible one if enough rows follow it. */
export function printed(visible: number, many: number): [number, number] {
  const first = Math.max(0, Math.min(visible, many - PRINTED_MAX));
  return [first, Math.min(many, first + PRINTED_MAX) - 1];
}

/** Call `make` before `box` is printed, which returns the rows that it created, and `back` after it. */
export function onPaper(box: HTMLElement, make: () => [number, number, number], back: () => void, note: PrintNote): void {
  const line = element("p", { class: "paper", hidden: "" });
  box.before(line);
  let top = 0;
  const over = new AbortController();
  window.addEventListener(
    "beforeprint",
    () => {
      if (!box.isConnected) return over.abort();
      top = box.scrollTop;
      const text = note(...make());
      line.hidden = text === null;
      line.textContent = text;
    },
    { signal: over.signal },
  );
  window.addEventListener(
    "afterprint",
    () => {
      line.hidden = true;
      box.scrollTop = top;
      back();
    },
    { signal: over.signal },
  );
}
