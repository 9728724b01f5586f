// Shows the value of a slider while it moves; the service returns the result.

document.addEventListener("input", (event) => {
  const slider = event.target as HTMLInputElement;
  const output = slider.type === "range" ? document.querySelector<HTMLOutputElement>(`output[for="${CSS.escape(slider.id)}"]`) : null;
  if (output) output.textContent = `${slider.value}${output.dataset.unit ?? ""}`;
});
