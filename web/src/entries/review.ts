// The review of a change: keys move through the hunks, and x marks one as read, by its patch identity, so that a changed
// hunk is unread again. Where the reader may write, a mark becomes a record, which stays; else the
// browser keeps it.

const KEY = "custody-read";
const KEPT_MAX = 5_000;
let current: string | null = null;

function load(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return [];
  }
}

const kept = new Set(load());
const recorded = new Set<string>();
const page = (): DOMStringMap | undefined => document.querySelector<HTMLElement>("#hunks[data-csrf]")?.dataset;
const isRead = (id: string): boolean => (page() ? recorded : kept).has(id);

/** Record that a hunk was read; if that fails, it is unread again and the page says why. */
async function record(id: string): Promise<void> {
  const { csrf = "", change = "" } = page() ?? {};
  const problem = document.getElementById("read-problem");
  let reason = "the server does not answer";
  recorded.add(id);
  draw();
  try {
    const body = new URLSearchParams({ csrf, change, hunk: id });
    const answer = await fetch("/mark-read", { method: "POST", body, headers: { accept: "application/json" } });
    if (answer.ok) reason = "";
    else reason = ((await answer.json()) as { detail?: string }).detail ?? reason;
  } catch {
    // The reason above holds.
  }
  if (problem) problem.textContent = reason && `Not recorded: ${reason}`;
  if (reason) recorded.delete(id);
  draw();
}

function mark(id: string, isNowRead: boolean): void {
  if (page()) {
    if (isNowRead && !recorded.has(id)) void record(id);
    return;
  }
  if (isNowRead) kept.add(id);
  else kept.delete(id);
  try {
    localStorage.setItem(KEY, JSON.stringify([...kept].slice(-KEPT_MAX)));
  } catch {
    // Then it is kept until the page is left.
  }
  draw();
}

const hunks = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("article[data-hunk]")];
const here = (): HTMLElement | undefined => hunks().find((hunk) => hunk.id === current);

function draw(): void {
  for (const box of document.querySelectorAll<HTMLInputElement>("input[data-read]")) {
    const id = box.dataset.read ?? "";
    if ("recorded" in box.dataset) recorded.add(id);
    box.checked = isRead(id);
    box.disabled = page() !== undefined && box.checked;
  }
  const all = hunks();
  for (const hunk of all) {
    hunk.classList.toggle("done", isRead(hunk.dataset.hunk ?? ""));
    hunk.classList.toggle("now", hunk.id === current);
  }
  const bar = document.getElementById("read-bar") as HTMLProgressElement | null;
  const count = document.getElementById("read-count");
  if (!bar || !count) return;
  const done = Number(count.dataset.elsewhere ?? 0) + all.filter((hunk) => isRead(hunk.dataset.hunk ?? "")).length;
  const text = `${done.toLocaleString("en")} of ${bar.max.toLocaleString("en")} read`;
  bar.value = done;
  if (count.textContent !== text) count.textContent = text;
}

/** Go to a hunk; a folded one is opened. */
function go(hunk: HTMLElement | undefined): void {
  if (!hunk) return;
  current = hunk.id;
  draw();
  hunk.scrollIntoView({ block: "start" });
  const place = hunk.querySelector<HTMLElement>(".diff, .unfold");
  place?.focus({ preventScroll: true });
  if (hunk.classList.contains("folded")) hunk.querySelector<HTMLElement>(".unfold")?.click();
}

function step(by: 1 | -1): void {
  const all = hunks();
  const at = all.findIndex((hunk) => hunk.id === current);
  if (at >= 0) return go(all[at + by]);
  go(by > 0 ? all[0] : undefined);
}

const follow = (selector: string): void => {
  const link = here()?.querySelector<HTMLAnchorElement>(selector);
  if (link) location.href = link.href;
};

const actions: Record<string, () => void> = {
  j: () => step(1),
  k: () => step(-1),
  x: () => {
    const id = here()?.dataset.hunk;
    if (id) mark(id, !isRead(id));
  },
  e: () => document.body.classList.toggle("evidence-off"),
  w: () => follow("a.why"),
  o: () => follow("a.session"),
  y: () => {
    if (!current) return;
    history.replaceState(null, "", `#${current}`);
    void navigator.clipboard?.writeText(location.href).catch(() => undefined);
  },
};

document.addEventListener("custody:key", (event) => {
  const action = actions[(event as CustomEvent<string>).detail];
  if (!action) return;
  event.preventDefault();
  action();
});
document.addEventListener("change", (event) => {
  const box = event.target as HTMLInputElement;
  if (box.matches?.("input[data-read]")) mark(box.dataset.read ?? "", box.checked);
});
document.addEventListener("focusin", (event) => {
  const hunk = (event.target as HTMLElement).closest<HTMLElement>("article[data-hunk]");
  if (!hunk || hunk.id === current) return;
  current = hunk.id;
  draw();
});
// A part that arrived: the whole review, or one hunk. The reader stays where they were.
document.addEventListener("htmx:afterSettle", () => {
  draw();
  const hunk = here();
  if (hunk && (document.activeElement === document.body || document.activeElement === null)) {
    hunk.querySelector<HTMLElement>(".diff")?.focus({ preventScroll: true });
  }
});
/** A link of the list to a hunk that is on this page. */
const jump = (): void => {
  const fold = document.querySelector<HTMLDetailsElement>("details#decide");
  if (fold && location.hash === "#decide") fold.open = true;
  const hunk = hunks().find((found) => `#${found.id}` === location.hash);
  if (hunk) go(hunk);
};
addEventListener("hashchange", jump);
document.addEventListener("DOMContentLoaded", () => {
  draw();
  jump();
});
