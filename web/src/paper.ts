// A long list on paper: all of its rows are made while it is printed, up to a bound; where that is not the whole, a
// sentence on the paper says which rows are there and where the others are.

import { element } from "./data";

/** What stands on paper beside rows `first` to `last`, counted from 0, out of `many`; null where they are the whole. */
export type Said = (first: number, last: number, many: number) => string | null;

/** So many a browser prints in a few seconds; with more it takes minutes, since every sheet looks at every row. */
const PRINTED_MAX = 2_000;

export const someRows: Said = (first, last, many) =>
  last - first + 1 === many ? null : `Only rows ${word(first + 1)} to ${word(last + 1)} of ${word(many)} are printed.`;

export function word(number: number): string {
  return number.toLocaleString("en");
}

/** Which rows are printed: all, or as many as are allowed, of which the first is `seen` where enough come after it. */
export function printed(seen: number, many: number): [number, number] {
  const first = Math.max(0, Math.min(seen, many - PRINTED_MAX));
  return [first, Math.min(many, first + PRINTED_MAX) - 1];
}

/** Have `make` called before `box` is printed, which gives the rows that it made, and `back` after it. */
export function onPaper(box: HTMLElement, make: () => [number, number, number], back: () => void, said: Said): void {
  const words = element("p", { class: "paper", hidden: "" });
  box.before(words);
  let top = 0;
  const over = new AbortController();
  window.addEventListener(
    "beforeprint",
    () => {
      if (!box.isConnected) return over.abort();
      top = box.scrollTop;
      const text = said(...make());
      words.hidden = text === null;
      words.textContent = text;
    },
    { signal: over.signal },
  );
  window.addEventListener(
    "afterprint",
    () => {
      words.hidden = true;
      box.scrollTop = top;
      back();
    },
    { signal: over.signal },
  );
}
