// On every page: the theme and, with a service, parts that are loaded later and new records.

import htmx from "htmx.org";

import { live } from "../live";

const KEY = "custody-theme";

function theme(): void {
  const button = document.getElementById("theme");
  if (!button) return;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = (): boolean => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const update = (): void => {
    button.textContent = isDark() ? "Light" : "Dark";
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

const stored = storedTheme();
if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
document.addEventListener("DOMContentLoaded", () => {
  theme();
  scrollToCurrentPage();
  updateTabStops();
  const place = document.body.dataset.live;
  if (place) live(place, htmx);
});

document.addEventListener("htmx:afterSettle", updateTabStops);
addEventListener("resize", updateTabStops);

// The error of a part is shown in its place.
document.addEventListener("htmx:responseError", (event) => showError(event, "the server returned an error"));
document.addEventListener("htmx:sendError", (event) => showError(event, "the server does not answer"));

function showError(event: Event, reason: string): void {
  const target = (event as CustomEvent).detail?.target as HTMLElement | undefined;
  const box = target?.querySelector(".waiting");
  if (box) box.textContent = `Couldn't load this: ${reason}. Reload the page to retry.`;
}
