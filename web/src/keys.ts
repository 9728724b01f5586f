// Keys of every page: g and a letter go to a page, / finds, ? shows all keys. Other keys go to the page's own script as
// the event "custody:key". Never while typing, never with Ctrl, Alt or Meta, and one switch turns them off.

import { element } from "./data";

const KEY = "custody-keys";
const PLACES: Record<string, string> = { o: "overview", c: "changes", f: "blame", s: "sessions" };
const GLOBAL: [string, string][] = [
  ["/", "find"],
  ["g o", "overview"],
  ["g c", "changes"],
  ["g f", "files"],
  ["g s", "sessions"],
  ["j k", "next, previous row of a list"],
  ["?", "all keys"],
];
const TYPED = "input:not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable]";
const PAIR_MS = 1_200;

export function keys(): void {
  let went = 0;
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || target.matches?.(TYPED)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "?") return help();
    if (isOff()) return;
    if (event.key === "g") {
      went = event.timeStamp;
      return;
    }
    const page = event.timeStamp - went < PAIR_MS ? PLACES[event.key] : undefined;
    went = 0;
    if (page) {
      const link = document.querySelector<HTMLAnchorElement>(`.top nav a[href^="/${page}"]`);
      if (link) location.href = link.href;
      return;
    }
    if (event.key === "/") {
      const field = document.querySelector<HTMLInputElement>("[data-find]") ?? document.querySelector<HTMLInputElement>(".search input");
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select();
      return;
    }
    const sent = new CustomEvent("custody:key", { detail: event.key, cancelable: true });
    if (!document.dispatchEvent(sent)) event.preventDefault();
    else if (event.key === "j" || event.key === "k") row(event.key === "j" ? 1 : -1);
  });
}

/** Go to the next or previous row of the lists on a page: its first link. */
function row(by: 1 | -1): void {
  const links = [...document.querySelectorAll("main tbody tr, main .evs > li, main .found li")]
    .map((entry) => entry.querySelector<HTMLElement>("a[href]"))
    .filter((link): link is HTMLElement => link !== null && link.getClientRects().length > 0);
  const now = document.activeElement?.closest("tr, li")?.querySelector<HTMLElement>("a[href]");
  const at = now ? links.indexOf(now) : -1;
  const next = links[at < 0 && by < 0 ? -1 : at + by];
  next?.focus();
}

/** The dialog of all keys: those of the page (elements in .keys) and those of every page. */
function help(): void {
  const rows = [...document.querySelectorAll<HTMLElement>(".keys > span")].map((entry) => {
    const copy = element("p", {});
    copy.append(...[...entry.childNodes].map((node) => node.cloneNode(true)));
    return copy;
  });
  for (const [names, text] of GLOBAL) {
    rows.push(element("p", {}, ...names.split(" ").map((name) => element("kbd", {}, name)), ` ${text}`));
  }
  const toggle = element("input", { type: "checkbox" }) as HTMLInputElement;
  toggle.checked = !isOff();
  toggle.addEventListener("change", () => store(toggle.checked ? null : "off"));
  const close = element("button", { type: "button", class: "btn" }, "Close");
  const dialog = element(
    "dialog",
    { class: "keys-help", "aria-label": "Keys" },
    element("h2", {}, "Keys"),
    ...rows,
    element("p", {}, element("label", { class: "row" }, toggle, "Use keys on these pages")),
    close,
  ) as HTMLDialogElement;
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function isOff(): boolean {
  try {
    return localStorage.getItem(KEY) === "off";
  } catch {
    return false;
  }
}

function store(value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, value);
  } catch {
    // Then the keys stay on.
  }
}

/** A button with data-copy copies that text. */
export function copies(): void {
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
    if (!button) return;
    void navigator.clipboard.writeText(button.dataset.copy ?? "").then(
      () => {
        const before = button.title;
        button.title = "Copied";
        button.setAttribute("data-copied", "");
        setTimeout(() => {
          button.title = before;
          button.removeAttribute("data-copied");
        }, 1_500);
      },
      () => undefined,
    );
  });
}
