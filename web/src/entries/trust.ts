// A slider says where it stands while it is moved; what that means comes from the service.

document.addEventListener("input", (event) => {
  const slider = event.target as HTMLInputElement;
  const said = slider.type === "range" ? document.querySelector<HTMLOutputElement>(`output[for="${CSS.escape(slider.id)}"]`) : null;
  if (said) said.textContent = `${slider.value}${said.dataset.unit ?? ""}`;
});
