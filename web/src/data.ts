// What the page hands to an island: a block of JSON, and elements made of text.

export function block<T>(id: string): T | null {
  const found = document.getElementById(id);
  return found ? (JSON.parse(found.textContent ?? "null") as T) : null;
}

/** An element with attributes and children; text is text, whatever is in it. */
export function element(name: string, attributes: Record<string, string> = {}, ...inside: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}
