// On every page: light or dark, and, where a service answers, parts that come later and records that are new.

import htmx from "htmx.org";

import { live } from "../live";

const KEY = "custody-theme";

function theme(): void {
  const button = document.getElementById("theme");
  if (!button) return;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = (): boolean => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const say = (): void => {
    button.textContent = isDark() ? "Light" : "Dark";
    document.dispatchEvent(new Event("custody:theme"));
  };
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    keep(chosen);
    say();
  });
  dark.addEventListener("change", say);
  button.hidden = false;
  say();
}

/** On a small screen the navigation goes sideways: begin where we are. */
function whereWeAre(): void {
  const here = document.querySelector<HTMLElement>(".top nav a[aria-current]");
  const nav = here?.closest<HTMLElement>("nav");
  if (!here || !nav) return;
  const [entry, frame] = [here.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (entry.right > frame.right) nav.scrollLeft += entry.left - frame.left - (frame.width - entry.width) / 2;
}

/** A box that goes sideways can be reached with the keyboard; one that does not is no stop on the way. */
function stops(): void {
  const boxes = [...document.querySelectorAll<HTMLElement>(".scroll[tabindex], .scroll[data-stop]")];
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);
  boxes.forEach((box, n) => {
    if (wide[n]) box.tabIndex = 0;
    else if (box !== document.activeElement) box.removeAttribute("tabindex");
    box.dataset.stop = "";
  });
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser may refuse to keep anything for a page
  }
}

function keep(chosen: string): void {
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // It holds for this page then.
  }
}

const chosen = kept();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
document.addEventListener("DOMContentLoaded", () => {
  theme();
  whereWeAre();
  stops();
  const place = document.body.dataset.live;
  if (place) live(place, htmx);
});

document.addEventListener("htmx:afterSettle", stops);
addEventListener("resize", stops);

// What a service cannot answer is said where it would have stood.
document.addEventListener("htmx:responseError", (event) => said(event, "could not be had: the service refused it"));
document.addEventListener("htmx:sendError", (event) => said(event, "could not be had: the service does not answer"));

function said(event: Event, words: string): void {
  const place = (event as CustomEvent).detail?.target as HTMLElement | undefined;
  const box = place?.querySelector(".waiting");
  if (box) box.textContent = `This ${words}. Reload the page to try again.`;
}
