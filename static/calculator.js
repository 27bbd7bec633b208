"use strict";
// Nothing here is needed to calculate. Folds that were opened stay open, and flags can be copied with one press.
(() => {
  const folds = new Map();
  document.addEventListener("toggle", (event) => {
    if (event.target.id) folds.set(event.target.id, event.target.open);
  }, true);

  const restore = () => {
    for (const [id, open] of folds) {
      const fold = document.getElementById(id);
      if (fold && fold.open !== open) fold.open = open;
    }
    if (navigator.clipboard) document.querySelectorAll("button[data-copy]").forEach((button) => { button.hidden = false; });
  };
  document.addEventListener("htmx:afterSwap", restore);
  document.addEventListener("DOMContentLoaded", restore);

  document.addEventListener("click", async (event) => {
    const button = event.target.closest && event.target.closest("button[data-copy]");
    if (!button) return;
    const said = document.getElementById("said");
    try {
      await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
      if (said) said.textContent = "Copied.";
      button.textContent = "Copied";
    } catch {
      if (said) said.textContent = "The browser does not allow copying here.";
    }
  });
})();
