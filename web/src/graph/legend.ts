// The legend: each entry is a button that shows or hides its elements; the URL stores what is hidden.

export interface Legend {
  /** Whether one of these entries is hidden. */
  away(words: string[]): boolean;
}

export function legend(root: HTMLElement, changed: () => void): Legend {
  const off = new Set<string>();
  const buttons = [...root.querySelectorAll<HTMLButtonElement>(".graph-legend button[data-word]")];
  for (const button of buttons) {
    const word = button.dataset.word ?? "";
    if (button.getAttribute("aria-pressed") === "false") off.add(word);
    button.addEventListener("click", (event) => {
      event.preventDefault();
      if (!off.delete(word)) off.add(word);
      button.setAttribute("aria-pressed", String(!off.has(word)));
      storeHidden([...off].sort().join(","));
      changed();
    });
  }
  return { away: (words) => words.some((word) => off.has(word)) };
}

function storeHidden(hide: string): void {
  const field = document.querySelector<HTMLInputElement>("#graph-hide");
  if (field) field.value = hide;
  setUrlParam("hide", hide);
}

/** Set a parameter of the URL without navigating; a report has none. */
export function setUrlParam(name: string, value: string): void {
  if (location.protocol === "file:") return;
  const place = new URL(location.href);
  if (value) place.searchParams.set(name, value);
  else place.searchParams.delete(name);
  history.replaceState(history.state, "", place);
}
