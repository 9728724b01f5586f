// Find in the whole file: lines with the text are marked, Enter goes to the next one, Shift and Enter to the previous.

export interface Finder {
  /** Whether a line contains the text. */
  has(index: number): boolean;
  /** Mark the words in the rows that exist now. */
  paint(box: HTMLElement): void;
}

export function finder(texts: string[], show: (index: number) => void, changed: () => void): Finder {
  const field = document.getElementById("find") as HTMLInputElement | null;
  const count = document.getElementById("found");
  let hits: number[] = [];
  let found = new Set<number>();
  let at = -1;

  const say = (): void => {
    if (!count || !field) return;
    count.textContent = field.value ? (hits.length ? `${at + 1} of ${hits.length}` : "none") : "";
  };
  const step = (by: number): void => {
    if (!hits.length) return say();
    at = (at + by + hits.length) % hits.length;
    show(hits[at] ?? 0);
    say();
  };
  field?.addEventListener("input", () => {
    const text = field.value.toLowerCase();
    hits = text ? texts.flatMap((line, index) => (line.toLowerCase().includes(text) ? [index] : [])) : [];
    found = new Set(hits);
    at = -1;
    changed();
    step(1);
  });
  field?.addEventListener("keydown", (event) => {
    if (event.key === "Escape") field.blur();
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  });

  return {
    has: (index) => found.has(index),
    paint(box) {
      const registry = (CSS as unknown as { highlights?: Map<string, unknown> }).highlights;
      const Highlight = (globalThis as unknown as { Highlight?: new (...ranges: Range[]) => unknown }).Highlight;
      const text = field?.value.toLowerCase();
      if (!registry || !Highlight) return;
      registry.delete("found");
      if (!text) return;
      const ranges: Range[] = [];
      for (const code of box.querySelectorAll(".hit code")) {
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const value = (node.textContent ?? "").toLowerCase();
          for (let place = value.indexOf(text); place >= 0; place = value.indexOf(text, place + text.length)) {
            const range = document.createRange();
            range.setStart(node, place);
            range.setEnd(node, place + text.length);
            ranges.push(range);
          }
        }
      }
      registry.set("found", new Highlight(...ranges));
    },
  };
}
