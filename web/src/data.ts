// The JSON data of a page, and elements made of text.

export function block<T>(id: string): T | null {
  const found = document.getElementById(id);
  return found ? (JSON.parse(found.textContent ?? "null") as T) : null;
}

/** An element with attributes and children; strings become text nodes. */
export function element(name: string, attributes: Record<string, string> = {}, ...inside: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}
