// Why a line is there: j and k go to the lines below and above, b back to the file.

const LINKS: Record<string, string> = { j: "a[rel=next]", k: "a[rel=prev]", b: "a.back" };

document.addEventListener("custody:key", (event) => {
  const selector = LINKS[(event as CustomEvent<string>).detail];
  const link = selector ? document.querySelector<HTMLAnchorElement>(selector) : null;
  if (link) location.href = link.href;
});
