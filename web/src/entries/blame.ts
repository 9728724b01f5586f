// A file with the author of each line: only visible lines exist, a card shows the evidence, and the URL stores which
// lines are highlighted (?only=, ?agent=) and marked (#L12, #L12-L20).

import { block } from "../data";
import { copying } from "../blame/copy";
import { evidence } from "../blame/evidence";
import type { About, Blamed, Places, LineRun } from "../blame/model";
import { finder } from "../blame/find";
import { line } from "../blame/line";
import { word } from "../paper";
import { rows } from "../rows";

const HEIGHT = 20;
const TAB_WIDTH = 4;

function start(box: HTMLElement, data: Blamed, places: Places): void {
  const last = data.first + data.texts.length - 1;
  const whose = new Int32Array(data.texts.length).fill(-1);
  data.runs.forEach(([from, to], place) => whose.fill(place, from - data.first, to - data.first + 1));
  const run = (number: number): LineRun | undefined => data.runs[whose[number - data.first] ?? -1];
  const about = (number: number): About | undefined => data.about[run(number)?.[2] ?? -1];
  const only = { kind: box.dataset.only ?? null, agent: box.dataset.agent ?? null };
  const isHighlighted = (author: About | undefined): boolean =>
    (only.kind === null || only.kind === author?.kind) && (only.agent === null || only.agent === author?.agent);
  let marked: [number, number] | null = null;

  const withParam = (base: string | undefined, name: string, value: string): string | null => {
    if (!base) return null;
    const url = new URL(base, location.href);
    url.searchParams.set(name, value);
    return url.href;
  };
  const why = (number: number): string | null => 
    withParam(box.dataset.why, "line", String(number)) ?? places.chains[run(number)?.[0] ?? 0] ?? null;
  const then = (commit: string): string | null => withParam(box.dataset.at, "rev", commit);

  const onPaper = (from: number, to: number): string | null =>
    from === 1 && to === data.total
      ? null
      : `Printed: lines ${word(from)} to ${word(to)} of ${word(data.total)}. All lines: ${box.dataset.whole}`;

  const show = (index: number): void => {
    history.replaceState(null, "", `#L${index + data.first}`);
    mark();
  };
  let paint = 0;
  const find = finder(data.texts, show, () => list.draw());
  new MutationObserver(() => {
    cancelAnimationFrame(paint);
    paint = requestAnimationFrame(() => find.paint(box));
  }).observe(box, { childList: true, subtree: true });

  const list = rows(
    box,
    data.texts.length,
    (index) => {
      const number = index + data.first;
      const author = about(number);
      const row = line(number, index, data, author, places, run(number)?.[0] === number, { why: why(number), then });
      row.classList.toggle("hit", find.has(index));
      row.classList.toggle("faded", !isHighlighted(author));
      row.classList.toggle("marked", marked !== null && marked[0] <= number && number <= marked[1]);
      return row;
    },
    HEIGHT,
    (from, to) => onPaper(from + data.first, to + data.first),
  );
  const sheet = box.firstElementChild as HTMLElement;
  sheet.setAttribute("role", "list");
  const longest = data.texts.reduce((most, text) => Math.max(most, width(text)), 0);
  sheet.style.setProperty("--longest", `${longest}ch`);
  box.style.setProperty("--digits", `${String(last).length}ch`);

  /** Scroll to a line without moving the focus. */
  const reveal = (number: number): void => {
    box.scrollTop = Math.max(0, (number - data.first) * HEIGHT - box.clientHeight / 3);
  };
  const say = (text: string): void => {
    const status = document.getElementById("marked");
    if (status) status.textContent = text;
  };

  /** Mark the lines in the hash of the URL. */
  const mark = (): void => {
    const match = /^#L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(location.hash);
    marked = null;
    if (match) {
      const ends = [Number(match[1]), Number(match[2] ?? match[1])].sort((a, b) => a - b) as [number, number];
      if (ends[0] >= 1 && ends[0] <= data.total && (ends[0] < data.first || ends[0] > last)) return elsewhere(ends[0]);
      if (ends[0] < 1 || ends[0] > data.total) say(`no line ${ends[0].toLocaleString("en")}`);
      else {
        marked = ends;
        reveal(ends[0]);
        say(ends[0] === ends[1] ? `line ${ends[0]} marked` : `lines ${ends[0]} to ${ends[1]} marked`);
      }
    }
    const copy = document.getElementById("copy");
    if (copy) copy.hidden = marked === null;
    list.draw();
  };
  const elsewhere = (number: number): void => {
    const url = new URL(location.href);
    url.searchParams.set("from", String(number));
    location.replace(url.href);
  };

  /** Go to the next or previous highlighted block. */
  const onward = (step: 1 | -1): void => {
    const from = marked?.[0] ?? Math.floor(box.scrollTop / HEIGHT) + data.first + (step > 0 ? -1 : 0);
    const wanted = (place: number): boolean => {
      const author = data.about[place];
      return only.kind === null && only.agent === null ? author?.kind !== "none" : isHighlighted(author);
    };
    const ordered = step > 0 ? data.runs : [...data.runs].reverse();
    const next = ordered.find(([first, , place]) => (step > 0 ? first > from : first < from) && wanted(place));
    if (!next) return say(step > 0 ? "no next block" : "no previous block");
    const [first, end] = next;
    history.replaceState(null, "", first === end ? `#L${first}` : `#L${first}-L${end}`);
    mark();
  };

  legend(only, () => {
    box.classList.toggle("choosing", only.kind !== null || only.agent !== null);
    list.draw();
  });
  evidence(box, places, about, run, data, why, then);
  copying(box, data, () => marked);
  window.addEventListener("hashchange", mark);
  box.addEventListener("click", (event) => {
    const number = (event.target as HTMLElement).closest<HTMLElement>(".no")?.textContent;
    if (!number || !event.shiftKey || marked === null) return;
    event.preventDefault();
    const [from, to] = [marked[0], Number(number)].sort((a, b) => a - b);
    location.hash = `#L${from}-L${to}`;
  });
  document.addEventListener("custody:key", (event) => {
    const key = (event as CustomEvent<string>).detail;
    const at = marked?.[0];
    const link = at === undefined ? null : why(at);
    if (key === "n") onward(1);
    else if (key === "p") onward(-1);
    else if (key === "w" && link) location.href = link;
    else if (key === "y" && box.dataset.permalink) {
      const url = new URL(box.dataset.permalink, location.href);
      url.hash = location.hash;
      history.replaceState(null, "", url.href);
      void navigator.clipboard?.writeText(url.href).catch(() => undefined);
    }
  });
  document.getElementById("next")?.addEventListener("click", () => onward(1));
  document.getElementById("previous")?.addEventListener("click", () => onward(-1));
  document.getElementById("go")?.addEventListener("change", (event) => {
    const number = Number((event.target as HTMLInputElement).value.replace(/\D/g, ""));
    if (number) location.hash = `#L${number}`;
  });
  document.querySelector(".strip svg")?.addEventListener("click", (event) => {
    const place = (event.currentTarget as Element).getBoundingClientRect();
    const part = ((event as MouseEvent).clientX - place.left) / place.width;
    location.hash = `#L${Math.min(data.total, Math.floor(part * data.total) + 1)}`;
  });
  document.getElementById("tools")?.toggleAttribute("hidden", false);
  document.getElementById("pages")?.toggleAttribute("hidden", true);
  const begin = Number(box.dataset.start);
  if (begin > data.first) reveal(begin);
  mark();
}

/** The legend highlights lines; a second click shows all lines again. */
function legend(only: { kind: string | null; agent: string | null }, changed: () => void): void {
  const entries = [...document.querySelectorAll<HTMLElement>("#legend [data-only], #legend [data-agent]")];
  for (const entry of entries) {
    entry.addEventListener("click", (event) => {
      event.preventDefault();
      const { only: kind, agent } = entry.dataset;
      if (kind !== undefined) only.kind = only.kind === kind ? null : kind;
      if (agent !== undefined) only.agent = only.agent === agent ? null : agent;
      const url = new URL(location.href);
      for (const [name, value] of [["only", only.kind], ["agent", only.agent]] as const) {
        if (value === null) url.searchParams.delete(name);
        else url.searchParams.set(name, value);
      }
      if (location.protocol !== "file:") history.replaceState(null, "", url.href);
      for (const other of entries) {
        const on = other.dataset.only !== undefined ? other.dataset.only === only.kind : other.dataset.agent === only.agent;
        if (on) other.setAttribute("aria-current", "true");
        else other.removeAttribute("aria-current");
      }
      changed();
    });
  }
}

function width(text: string): number {
  const tabs = text.split("\t").length - 1;
  return text.length + tabs * (TAB_WIDTH - 1);
}

const box = document.getElementById("lines");
const data = block<Blamed>("blame");
const places = block<Places>("places");
if (box && data && places) start(box, data, places);
