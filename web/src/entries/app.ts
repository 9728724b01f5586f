// On every page: the theme and, with a service, parts that are loaded later and new records.

import htmx from "htmx.org";

import { copies, keys } from "../keys";
import { live } from "../live";

const KEY = "custody-theme";

function theme(): void {
  const button = document.getElementById("theme");
  if (!button) return;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = (): boolean => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const update = (): void => {
    button.setAttribute("aria-label", isDark() ? "Light theme" : "Dark theme");
    button.title = isDark() ? "Light theme" : "Dark theme";
    document.dispatchEvent(new Event("custody:theme"));
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    storeTheme(next);
    update();
  });
  dark.addEventListener("change", update);
  button.hidden = false;
  update();
}

/** On a small screen the navigation scrolls sideways: start at the current page. */
function scrollToCurrentPage(): void {
  const here = document.querySelector<HTMLElement>(".top nav a[aria-current]");
  const nav = here?.closest<HTMLElement>("nav");
  if (!here || !nav) return;
  const [entry, frame] = [here.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (entry.right > frame.right) nav.scrollLeft += entry.left - frame.left - (frame.width - entry.width) / 2;
}

/** Only boxes that scroll sideways are tab stops. */
function updateTabStops(): void {
  const boxes = [...document.querySelectorAll<HTMLElement>(".scroll[tabindex], .scroll[data-stop]")];
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);
  boxes.forEach((box, n) => {
    if (wide[n]) box.tabIndex = 0;
    else if (box !== document.activeElement) box.removeAttribute("tabindex");
    box.dataset.stop = "";
  });
}

function storedTheme(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser may refuse storage
  }
}

function storeTheme(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then the theme applies to this page only.
  }
}

document.documentElement.dataset.script = "";
const stored = storedTheme();
if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
document.addEventListener("DOMContentLoaded", () => {
  theme();
  keys();
  copies();
  scrollToCurrentPage();
  updateTabStops();
  const place = document.body.dataset.live;
  if (place) live(place, htmx);
});

// The page about long work is opened again by its header. At a line of it (#L5) that only jumps, and loads nothing.
const RELOAD_MS = 3_000;
if (location.hash && document.querySelector("main > .working")) setInterval(() => location.reload(), RELOAD_MS);

document.addEventListener("htmx:afterSettle", updateTabStops);
addEventListener("resize", updateTabStops);

// An answer that takes long is 204 until it is there: a form asks again, unless it was sent again meanwhile.
const ASK_AGAIN_MS = 1_000;
const waiting = new WeakMap<Element, number>();
document.addEventListener("htmx:beforeRequest", (event) => {
  const form = (event as CustomEvent).detail?.elt as Element;
  clearTimeout(waiting.get(form));
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = (event as CustomEvent).detail as { elt: Element; xhr: XMLHttpRequest };
  if (!(elt instanceof HTMLFormElement)) return;
  const isWorking = xhr.status === 204;
  elt.setAttribute("aria-busy", String(isWorking));
  if (isWorking) waiting.set(elt, setTimeout(() => htmx.trigger(elt, "submit"), ASK_AGAIN_MS));
});

// The error of a part is shown in its place, and the part is loaded again: after 2, 4, 8 … seconds, at most 5 times.
const TRIES = 5;
const tried = new WeakMap<Element, number>();
document.addEventListener("htmx:responseError", (event) => {
  const status = ((event as CustomEvent).detail?.xhr as XMLHttpRequest | undefined)?.status ?? 0;
  showError(event, "the server returned an error", status === 429 || status >= 500);
});
document.addEventListener("htmx:sendError", (event) => showError(event, "the server does not answer", true));

function showError(event: Event, reason: string, again: boolean): void {
  const target = (event as CustomEvent).detail?.target as HTMLElement | undefined;
  const box = target?.querySelector<HTMLElement>(".waiting");
  const url = target?.getAttribute("hx-get");
  if (!target || !box) return;
  const tries = (tried.get(target) ?? 0) + 1;
  tried.set(target, tries);
  if (!again || !url || tries > TRIES) {
    box.textContent = `Couldn't load this: ${reason}. Reload the page to retry.`;
    return;
  }
  const seconds = 2 ** tries;
  box.textContent = `Couldn't load this: ${reason}. Retrying in ${seconds} s`;
  setTimeout(() => void htmx.ajax("get", url, { source: target, target, swap: "outerHTML" }), seconds * 1_000);
}
