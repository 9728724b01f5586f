// One line: a mark that says whose it is, its number, its text.

import { element } from "../data";
import type { About, Places } from "./model";

export function line(
  number: number,
  text: string,
  about: About | undefined,
  places: Places,
  first: boolean,
  why: string | null,
): HTMLElement {
  const kind = about?.kind ?? "none";
  const words = [`line ${number}`, about?.agent ?? "", places.classes[kind] ?? kind, about?.sure ?? ""];
  const mark = element(why ? "a" : "button", {
    class: `badge who k-${kind}`,
    tabindex: "-1",
    "aria-label": words.filter(Boolean).join(", "),
    ...(why ? { href: why } : { type: "button" }),
  }, element("i", { "aria-hidden": "true" }));
  if (first && about?.agent) {
    mark.append(element("span", { class: "by" }, about.agent.slice(0, 24)));
    mark.append(element("span", { class: "sure" }, about.confidence ?? ""));
  }
  const row = element("div", { class: first ? "code first" : "code", role: "listitem" }, mark);
  row.append(element("a", { class: "no", href: `#L${number}`, tabindex: "-1" }, String(number)));
  row.append(element("code", { dir: "ltr" }, text));
  return row;
}
