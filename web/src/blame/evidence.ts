// The box beside a line that says what shows whose it is. It opens when a mark is pointed at or has the focus; where
// nothing can hover, the first touch opens it and its link leads on. Tab goes into it, Escape closes it.

import { element } from "../data";
import type { About, Blamed, Places, Stretch } from "./model";

const OPEN_AFTER = 120;
const CLOSE_AFTER = 250;
const GAP = 6;
const WIDE_MIN = 640;
/** So much room below is enough: what is longer can be scrolled. */
const ENOUGH = 260;

export function evidence(
  box: HTMLElement,
  places: Places,
  about: (number: number) => About | undefined,
  stretch: (number: number) => Stretch | undefined,
  data: Blamed,
  why: (number: number) => string | null,
  then: (commit: string) => string | null,
): void {
  const found = document.getElementById("evidence");
  if (!found) return;
  const panel = found;
  let mark: HTMLElement | null = null;
  let timer = 0;

  const later = (work: () => void, wait: number): void => {
    clearTimeout(timer);
    timer = window.setTimeout(work, wait);
  };
  const markOf = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>(".who") : null;

  function open(wanted: HTMLElement): void {
    clearTimeout(timer);
    if (wanted === mark && !panel.hidden) return;
    mark?.removeAttribute("aria-describedby");
    mark = wanted;
    const number = Number(wanted.closest<HTMLElement>("[data-row]")?.querySelector(".no")?.textContent);
    panel.replaceChildren(...told(where(number, stretch(number)), about(number), places, data, why(number), then));
    panel.hidden = false;
    wanted.setAttribute("aria-describedby", panel.id);
    place();
  }

  function close(): void {
    clearTimeout(timer);
    mark?.removeAttribute("aria-describedby");
    mark = null;
    panel.hidden = true;
  }

  /** Below the mark, or above it where there is more room; on a small screen at its lower end. */
  function place(): void {
    if (!mark) return;
    const at = mark.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    if (!mark.isConnected || at.bottom < frame.top || at.top > frame.bottom) return close();
    for (const name of ["left", "top", "max-height"]) panel.style.removeProperty(name);
    if (window.innerWidth < WIDE_MIN) return;
    const size = panel.getBoundingClientRect();
    const [above, below] = [at.top - 2 * GAP, window.innerHeight - at.bottom - 2 * GAP];
    const under = below >= Math.min(size.height, ENOUGH) || below >= above;
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

/** The line that is pointed at, and the stretch that all of this is true of where that has more lines. */
function where(number: number, stretch: Stretch | undefined): string {
  const [first, last] = stretch ?? [number, number];
  return first === last ? `line ${number}` : `line ${number}, of ${first} to ${last}`;
}

function told(
  line: string,
  about: About | undefined,
  places: Places,
  data: Blamed,
  why: string | null,
  then: (commit: string) => string | null,
): HTMLElement[] {
  const kind = about?.kind ?? "none";
  const whose = element("span", {}, badge(kind, places.classes[kind] ?? kind), ` · ${line}`);
  const head = element("p", { class: "head" }, whose, ...(why ? [link(why, "Why is it here?")] : []));
  const made = [head];
  if (about?.reason) made.push(element("p", {}, sentence(about.reason)));
  if (about?.searched) made.push(element("p", { class: "dim" }, sentence(about.searched)));
  const facts = element("dl", { class: "facts" });
  const fact = (name: string, ...value: (Node | string | undefined)[]): void => {
    const there = value.filter((one): one is Node | string => one !== undefined && one !== "");
    if (there.length) facts.append(element("dt", {}, name), element("dd", {}, ...there));
  };
  if (about) {
    fact("Agent", about.agent && link(places.agents[about.agent] ?? null, about.agent), about.model && `, ${about.model}`);
    fact("Of each line", about.share);
    fact("How sure", about.sure && `${about.sure} (tier ${about.tier}, confidence ${about.confidence})`);
    fact("Grade", about.grade);
    if (about.session !== undefined) {
      fact("Session", link(places.sessions[about.session] ?? null, data.sessions[about.session] ?? ""));
    }
    fact("Call", about.call);
    const commits = (about.commits ?? []).flatMap((one, n) => [n ? " … " : "", link(then(one), one.slice(0, 12))]);
    if (about.kind !== "none" && !commits.length) commits.push("not committed");
    fact(about.commits?.length === 2 ? "Commits" : "Commit", ...commits);
  }
  if (facts.childElementCount) made.push(facts);
  if (about?.signals?.length) made.push(signals(about.signals.flatMap((one) => [data.signals[one] ?? []] as [string, string, string][])));
  if (about?.claims?.length) {
    made.push(element("p", {}, "Also claimed:"));
    made.push(element("ul", {}, ...about.claims.map((one) => element("li", {}, one))));
  }
  return made;
}

function signals(seen: [string, string, string][]): HTMLElement {
  const rows = seen.map(([name, points, words]) =>
    element("li", {}, element("b", {}, points), " ", element("span", { class: "mono" }, name), `: ${words}`),
  );
  return element("ul", { class: "signals" }, ...rows);
}

function badge(kind: string, words: string): HTMLElement {
  return element("span", { class: `badge k-${kind}` }, element("i", { "aria-hidden": "true" }), words);
}

function link(address: string | null, words: string): HTMLElement {
  return address ? element("a", { href: address }, element("bdi", {}, words)) : element("bdi", {}, words);
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
