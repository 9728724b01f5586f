// The evidence card of a line. It opens on hover or focus of a mark; on a touch screen the first tap opens it, and its
// link leads on. Tab enters it, Escape closes it.

import { element } from "../data";
import { bars } from "./line";
import type { About, Blamed, Places, LineRun } from "./model";

const OPEN_AFTER = 120;
const CLOSE_AFTER = 250;
const GAP = 6;
const WIDE_MIN = 640;
/** A card that stays open asks for the prompt of its line; in a very long file that takes too long. */
const MORE_WAIT = 400;
const MORE_LINES = 3_000;
const MORE_AFTER = 1_500;
const MORE_TRIES = 10;
/** Minimum height below the mark; longer content scrolls. */
const BELOW_MIN = 260;

export function evidence(
  box: HTMLElement,
  places: Places,
  about: (number: number) => About | undefined,
  run: (number: number) => LineRun | undefined,
  data: Blamed,
  why: (number: number) => string | null,
  then: (commit: string) => string | null,
): void {
  const card = document.getElementById("evidence");
  if (!card) return;
  const panel = card;
  let mark: HTMLElement | null = null;
  let timer = 0;

  const later = (work: () => void, wait: number): void => {
    clearTimeout(timer);
    timer = window.setTimeout(work, wait);
  };
  const markOf = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>(".who") : null;

  function open(target: HTMLElement): void {
    clearTimeout(timer);
    if (target === mark && !panel.hidden) return;
    mark?.removeAttribute("aria-describedby");
    mark = target;
    const number = Number(target.closest<HTMLElement>("[data-row]")?.querySelector(".no")?.textContent);
    panel.replaceChildren(...content(describe(number, run(number)), about(number), places, data, why(number), then));
    panel.hidden = false;
    if (about(number)?.agent && data.total <= MORE_LINES) setTimeout(() => void more(number, target), MORE_WAIT);
    target.setAttribute("aria-describedby", panel.id);
    place();
  }

  /** What was asked, read and tested before this line was written; the card is complete without it. */
  async function more(number: number, target: HTMLElement): Promise<void> {
    const url = new URL(why(number) ?? location.href, location.href);
    if (url.pathname !== "/why") return;
    url.pathname = "/why-card";
    for (let tries = 0; tries < MORE_TRIES && mark === target; tries += 1) {
      try {
        const answer = await fetch(url, { headers: { "hx-request": "true" } });
        if (answer.status === 200) {
          const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".asked-card");
          if (part && mark === target) panel.querySelector(".head")?.after(part);
          return place();
        }
        if (answer.status !== 202) return;
      } catch {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, MORE_AFTER));
    }
  }

  function close(): void {
    clearTimeout(timer);
    mark?.removeAttribute("aria-describedby");
    mark = null;
    panel.hidden = true;
  }

  /** Place the card below the mark, or above it if there is more space; on a small screen at the bottom. */
  function place(): void {
    if (!mark) return;
    const at = mark.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    if (!mark.isConnected || at.bottom < frame.top || at.top > frame.bottom) return close();
    for (const name of ["left", "top", "max-height"]) panel.style.removeProperty(name);
    if (window.innerWidth < WIDE_MIN) return;
    const size = panel.getBoundingClientRect();
    const [above, below] = [at.top - 2 * GAP, window.innerHeight - at.bottom - 2 * GAP];
    const under = below >= Math.min(size.height, BELOW_MIN) || below >= above;
    const tall = Math.min(size.height, under ? below : above);
    panel.style.maxHeight = `${tall}px`;
    panel.style.left = `${Math.max(GAP, Math.min(at.left, window.innerWidth - size.width - GAP))}px`;
    panel.style.top = `${under ? at.bottom + GAP : at.top - GAP - tall}px`;
  }

  box.addEventListener("pointerover", (event) => {
    const over = markOf(event.target);
    if (over && event.pointerType === "mouse") later(() => open(over), OPEN_AFTER);
  });
  box.addEventListener("pointerout", (event) => {
    if (markOf(event.target) && event.pointerType === "mouse") leave();
  });
  const leave = (): void =>
    later(() => {
      if (!panel.contains(document.activeElement) && document.activeElement !== mark) close();
    }, CLOSE_AFTER);
  panel.addEventListener("pointerenter", () => clearTimeout(timer));
  panel.addEventListener("pointerleave", leave);
  box.addEventListener("focusin", (event) => {
    const focused = markOf(event.target);
    if (focused) open(focused);
  });
  for (const part of [box, panel]) {
    part.addEventListener("focusout", (event) => {
      const next = (event as FocusEvent).relatedTarget as Node | null;
      if (next && !panel.contains(next) && !markOf(next)) close();
    });
  }
  let touched = false;
  box.addEventListener("pointerdown", (event) => {
    touched = event.pointerType !== "mouse";
  });
  box.addEventListener("click", (event) => {
    const clicked = markOf(event.target);
    if (!clicked || (!touched && clicked.tagName === "A")) return;
    event.preventDefault();
    open(clicked);
    touched = false;
  });
  document.addEventListener("pointerdown", (event) => {
    if (!panel.hidden && !panel.contains(event.target as Node) && !markOf(event.target)) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    if (panel.contains(document.activeElement)) (mark ?? box).focus();
    close();
  });
  box.addEventListener("scroll", () => requestAnimationFrame(place));
  window.addEventListener("scroll", () => requestAnimationFrame(place), { passive: true });
  window.addEventListener("resize", place);
}

/** The line, and its block if that has more lines. */
function describe(number: number, run: LineRun | undefined): string {
  const [first, last] = run ?? [number, number];
  return first === last ? `line ${number}` : `line ${number} of block ${first}–${last}`;
}

function content(
  line: string,
  about: About | undefined,
  places: Places,
  data: Blamed,
  why: string | null,
  then: (commit: string) => string | null,
): HTMLElement[] {
  const kind = about?.kind ?? "none";
  const author = element("span", {}, badge(kind, places.classes[kind] ?? kind), ` · ${line}`);
  const head = element("p", { class: "head" }, author, ...(why ? [link(why, "Why?")] : []));
  const parts = [head];
  if (about?.reason) parts.push(element("p", {}, sentence(about.reason)));
  if (about?.searched) parts.push(element("p", { class: "dim" }, sentence(about.searched)));
  const facts = element("dl", { class: "facts" });
  const fact = (name: string, ...value: (Node | string | undefined)[]): void => {
    const present = value.filter((part): part is Node | string => part !== undefined && part !== "");
    if (present.length) facts.append(element("dt", {}, name), element("dd", {}, ...present));
  };
  if (about) {
    fact("Agent", about.agent && link(places.agents[about.agent] ?? null, about.title), about.model && `, ${about.model}`);
    fact("Share", about.share);
    fact("Certainty", about.sure && bars(about.sure), about.sure && ` ${about.sure}`);
    if (about.session !== undefined) {
      fact("Session", link(places.sessions[about.session] ?? null, data.sessions[about.session] ?? ""));
    }
    const last = data.commits[about.commits?.[about.commits.length - 1] ?? ""];
    if (last) fact("Message", `${last[0]} · ${last[1]}`);
    const commits = (about.commits ?? []).flatMap((commit, n) => [n ? " … " : "", link(then(commit), commit.slice(0, 12))]);
    if (about.kind !== "none" && !commits.length) commits.push("not committed");
    fact(about.commits?.length === 2 ? "Commits" : "Commit", ...commits);
  }
  if (facts.childElementCount) parts.push(facts);
  if (about?.signals?.length) parts.push(fold(about, signals(about.signals.flatMap((index) => [data.signals[index] ?? []] as [string, string, string][]))));
  if (about?.claims?.length) {
    parts.push(element("p", {}, "Also claimed:"));
    parts.push(element("ul", {}, ...about.claims.map((claim) => element("li", {}, claim))));
  }
  return parts;
}

/** The points behind the word of certainty. */
function fold(about: About, list: HTMLElement): HTMLElement {
  const basis = `tier ${about.tier ?? "none"}, confidence ${about.confidence ?? "none"}, ${about.grade ?? "not recorded"}`;
  return element("details", {}, element("summary", {}, "How sure is this?"), element("p", { class: "dim small" }, basis), list);
}

function signals(list: [string, string, string][]): HTMLElement {
  const rows = list.map(([name, points, reason]) =>
    element("li", {}, element("b", {}, points), " ", element("span", { class: "mono" }, name), `: ${reason}`),
  );
  return element("ul", { class: "signals" }, ...rows);
}

function badge(kind: string, text: string): HTMLElement {
  return element("span", { class: `badge k-${kind}` }, element("i", { "aria-hidden": "true" }), text);
}

function link(url: string | null, text: string): HTMLElement {
  return url ? element("a", { href: url }, element("bdi", {}, text)) : element("bdi", {}, text);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
