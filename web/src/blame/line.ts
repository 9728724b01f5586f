// One line: the mark of its author, its commit, its number, its text.

import { element } from "../data";
import type { About, Blamed, Places } from "./model";

const BARS: Record<string, number> = { certain: 4, strong: 3, likely: 2, weak: 1 };
const SVG = "http://www.w3.org/2000/svg";

export interface LineLinks {
  why: string | null;
  then: (commit: string) => string | null;
}

export function line(
  number: number,
  index: number,
  data: Blamed,
  about: About | undefined,
  places: Places,
  first: boolean,
  links: LineLinks,
): HTMLElement {
  const kind = about?.kind ?? "none";
  const parts = [`Line ${number}`, places.classes[kind] ?? kind, first ? "" : (about?.agent ? about.title : "")];
  const mark = element(links.why ? "a" : "button", {
    class: `badge who k-${kind}`,
    tabindex: "-1",
    ...(links.why ? { href: links.why } : { type: "button" }),
  }, element("i", { "aria-hidden": "true" }), element("span", { class: "hidden-words" }, `${parts.filter(Boolean).join(", ")} `));
  if (first) {
    mark.append(element("span", { class: "by" }, (about?.title ?? "Unknown").slice(0, 24)));
    if (about?.sure) mark.append(bars(about.sure));
  }
  const id = about?.commits?.[about.commits.length - 1];
  const commit = id ? data.commits[id] : undefined;
  const label = element("span", { class: "ci" });
  if (first && id) {
    const at = links.then(id);
    label.append(at ? element("a", { href: at, tabindex: "-1" }, id.slice(0, 7)) : id.slice(0, 7));
    if (commit) label.append(" ", element("bdi", {}, `${commit[0]} · ${commit[1]}`));
  }
  const age = element("span", { class: `ag a${commit?.[3] ?? "0"}` }, first ? (commit?.[2] ?? "") : "");
  const place = element("a", { class: "no", href: `#L${number}`, tabindex: "-1" }, String(number));
  return element(
    "div",
    { class: first ? "code first" : "code", role: "listitem" },
    element("span", { class: "gutter" }, mark, label, age, place),
    element("code", { dir: "ltr" }, ...colored(data.texts[index] ?? "", data.colors[index] ?? "")),
  );
}

/** The text in parts of one style; plain if the styles are for another text. */
function colored(text: string, styles: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const style of styles ? styles.split(",") : []) {
    const size = Number.parseInt(style, 10);
    const piece = text.slice(at, at + size);
    const name = style.slice(String(size).length);
    parts.push(name ? element("span", { class: name }, piece) : piece);
    at += size;
  }
  return at === text.length ? parts : [text];
}

export function bars(word: string): Element {
  const count = BARS[word.toLowerCase()] ?? 0;
  const made = element("span", { class: count === 1 ? "sure weak" : count ? "sure" : "sure none" });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 15 12");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", word);
  for (let n = 0; n < 4; n++) {
    const rect = document.createElementNS(SVG, "rect");
    const place = { x: n * 4, y: 9 - n * 3, width: 3, height: n * 3 + 3 };
    for (const [key, value] of Object.entries(place)) rect.setAttribute(key, String(value));
    if (n < count) rect.setAttribute("class", "on");
    svg.append(rect);
  }
  made.append(svg);
  return made;
}
