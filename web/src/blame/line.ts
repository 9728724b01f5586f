// One line: the mark of its author, its number, its text.

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
  const parts = [`Line ${number}`, places.classes[kind] ?? kind, first ? "" : (about?.agent ?? "")];
  const mark = element(why ? "a" : "button", {
    class: `badge who k-${kind}`,
    tabindex: "-1",
    ...(why ? { href: why } : { type: "button" }),
  }, element("i", { "aria-hidden": "true" }), element("span", { class: "hidden-words" }, `${parts.filter(Boolean).join(", ")} `));
  if (first && about?.agent) {
    mark.append(element("span", { class: "by" }, about.agent.slice(0, 24)));
    mark.append(element("span", { class: "sure" }, about.confidence ?? ""));
  }
  const place = element("a", { class: "no", href: `#L${number}`, tabindex: "-1" }, String(number));
  return element(
    "div",
    { class: first ? "code first" : "code", role: "listitem" },
    element("span", { class: "gutter" }, mark, place),
    element("code", { dir: "ltr" }, text),
  );
}
