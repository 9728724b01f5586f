// The legend: each entry is a button that switches what it stands for on and off; the address keeps what is off.

export interface Legend {
  /** Whether one of these words is switched off. */
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
      keep([...off].sort().join(","));
      changed();
    });
  }
  return { away: (words) => words.some((word) => off.has(word)) };
}

function keep(hide: string): void {
  const field = document.querySelector<HTMLInputElement>("#graph-hide");
  if (field) field.value = hide;
  address("hide", hide);
}

/** Says something in the address without going there; a page that is a file has none. */
export function address(name: string, value: string): void {
  if (location.protocol === "file:") return;
  const place = new URL(location.href);
  if (value) place.searchParams.set(name, value);
  else place.searchParams.delete(name);
  history.replaceState(history.state, "", place);
}
