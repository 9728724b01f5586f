// A virtual list: rows of one height, and only visible rows exist. The caller creates a row on demand; text goes in as
// text. Keys move through it as in any list, and a screen reader gets its length. A print contains the rows out of view.

import { onPaper, printed, someRows, type PrintNote } from "./paper";

export interface Rows {
  /** Draw again after a change of the rows or their number. */
  draw(count?: number): void;
  /** Scroll to a row and focus it. */
  show(index: number): void;
}

const AHEAD = 12;

export function rows(
  box: HTMLElement,
  count: number,
  make: (index: number) => HTMLElement,
  height = 22,
  note: PrintNote = someRows,
): Rows {
  let many = count;
  let at = 0;
  let printing = false;
  const sheet = document.createElement("div");
  sheet.className = "sheet";
  box.replaceChildren(sheet);
  box.tabIndex = 0;
  const made = new Map<number, HTMLElement>();

  function draw(): void {
    if (printing) return;
    sheet.style.height = `${many * height}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / height) - AHEAD);
    const last = Math.min(many, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / height) + AHEAD);
    for (const [index, row] of made) {
      if (index < first || index >= last) {
        row.remove();
        made.delete(index);
      }
    }
    for (let index = first; index < last; index++) {
      if (made.has(index)) continue;
      const row = drawn(index);
      // In reading order, in both scroll directions.
      const next = [...sheet.children].find((other) => Number((other as HTMLElement).dataset.row) > index);
      sheet.insertBefore(row, next ?? null);
    }
  }

  function drawn(index: number): HTMLElement {
    const row = make(index);
    row.style.top = `${index * height}px`;
    row.dataset.row = String(index);
    row.setAttribute("aria-setsize", String(many));
    row.setAttribute("aria-posinset", String(index + 1));
    made.set(index, row);
    return row;
  }

  /** Create every printed row before and after the visible ones. */
  function fill(): [number, number, number] {
    printing = true;
    if (!made.size) return [0, many - 1, many];
    const [seen, end] = [Math.min(...made.keys()), Math.max(...made.keys()) + 1];
    const [first, last] = printed(seen, many);
    const [before, after] = [document.createDocumentFragment(), document.createDocumentFragment()];
    for (let index = first; index < seen; index++) before.append(drawn(index));
    for (let index = end; index <= last; index++) after.append(drawn(index));
    sheet.prepend(before);
    sheet.append(after);
    return [first, last, many];
  }

  function show(index: number): void {
    at = Math.max(0, Math.min(many - 1, index));
    const top = at * height;
    if (top < box.scrollTop || top + height > box.scrollTop + box.clientHeight) {
      box.scrollTop = Math.max(0, top - box.clientHeight / 3);
    }
    draw();
    const row = made.get(at);
    const focus = row?.matches("[tabindex],a,button") ? row : row?.querySelector<HTMLElement>("[tabindex],a,button");
    focus?.focus({ preventScroll: true });
  }

  const steps: Record<string, () => number> = {
    ArrowDown: () => at + 1,
    ArrowUp: () => at - 1,
    PageDown: () => at + Math.floor(box.clientHeight / height),
    PageUp: () => at - Math.floor(box.clientHeight / height),
    Home: () => 0,
    End: () => many - 1,
  };
  box.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(step());
  });
  box.addEventListener("focusin", (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
    if (row) at = Number(row.dataset.row);
  });
  let waiting = false;
  box.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  });
  new ResizeObserver(draw).observe(box);
  draw();
  const back = (): void => {
    printing = false;
    draw();
  };
  onPaper(box, fill, back, note);

  return {
    draw(changed?: number): void {
      many = changed ?? many;
      for (const row of made.values()) row.remove();
      made.clear();
      draw();
    },
    show,
  };
}
