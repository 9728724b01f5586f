// New records without a reload: a visible page polls every few seconds and, after a change, fetches the regions marked
// `data-fresh` again. Limits: one refresh at a time, the next after a multiple of its duration, less often after errors,
// none while the page is hidden or the user types in the region.

import type htmxType from "htmx.org";

const EVERY = 4_000;
const SLOWEST = 60_000;
const REST = 5; // slow refreshes happen less often

interface Head {
  records: number;
  head: string;
}

export function live(url: string, htmx: typeof htmxType): void {
  let known: Head | null = null;
  let wait = EVERY;

  async function look(): Promise<void> {
    if (document.hidden) return;
    try {
      const answer = await fetch(url, { headers: { accept: "application/json" }, credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const head = (await answer.json()) as Head;
      const began = performance.now();
      if (known && head.head !== known.head) await refresh(head.records - known.records);
      else if (!known) say("live");
      wait = Math.min(Math.max(EVERY, REST * (performance.now() - began)), SLOWEST);
      known = head;
    } catch (error) {
      wait = Math.min(wait * 2, SLOWEST);
      say(String(error).includes("401") ? "signed out: reload the page" : "the server does not answer");
    }
  }

  async function refresh(more: number): Promise<void> {
    say(more > 0 ? `${more.toLocaleString("en")} new ${more === 1 ? "record" : "records"}` : "changed");
    for (const region of document.querySelectorAll<HTMLElement>("[data-fresh][id]")) {
      if (region.contains(document.activeElement) && document.activeElement?.matches("input,select,textarea")) continue;
      const id = `#${CSS.escape(region.id)}`;
      await htmx.ajax("get", location.href, { target: id, select: id, swap: "outerHTML" });
    }
  }

  function say(text: string): void {
    const line = document.getElementById("live");
    if (line && line.textContent !== text) line.textContent = text;
  }

  const again = (): void => {
    void look().finally(() => setTimeout(again, wait));
  };
  again();
}
