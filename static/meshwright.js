"use strict";
// Nothing here is needed to use a page. It keeps the keyboard's place after a swap and warns before typed words are lost.
(() => {
  // After a swap: where the focus was, if that place still exists; else at the answer.
  document.addEventListener("htmx:afterSwap", (event) => {
    const part = event.detail.elt;
    if (!part || !part.querySelector) return;
    const target = part.matches("[data-focus]") ? part : part.querySelector("[data-focus]");
    if (target && (document.activeElement === document.body || target.matches("legend"))) target.focus();
    const said = document.getElementById("said");
    const news = part.matches("[data-say]") ? part : part.querySelector("[data-say]");
    if (said && news && news.dataset.say) said.textContent = news.dataset.say;
  });

  // What is typed or pressed while an answer is under way outlives it. The answer to an older question is dropped when
  // a newer one waits or is about to be asked; the answer to something sent is shown, and newer text is put back.
  const asked = new WeakMap();
  const fields = (part) => [...part.querySelectorAll("input:not([type=hidden]), select, textarea")].filter((field) => field.id);
  const state = (field) => (/^(radio|checkbox)$/.test(field.type) ? field.checked : field.value);
  const waiting = (node) => node && ((node["htmx-internal-data"]?.queuedRequests ?? []).length > 0 || waiting(node.parentElement));
  document.addEventListener("htmx:beforeSend", (event) => {
    asked.set(event.detail.xhr, { states: new Map(fields(event.detail.target).map((field) => [field.id, state(field)])) });
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr, requestConfig } = event.detail;
    const question = asked.get(xhr);
    if (!question) return;
    const newer = fields(target).filter((field) => question.states.has(field.id) && question.states.get(field.id) !== state(field));
    if (requestConfig.verb === "get" && (newer.length || waiting(requestConfig.elt))) event.detail.shouldSwap = false;
    question.typed = newer.filter((field) => field.matches("textarea, [type=text]")).map((field) => [field.id, field.value]);
    const here = document.activeElement;
    // htmx puts a selection back unless it begins at the first letter.
    if (here && here.id && here.selectionStart === 0 && target.contains(here)) question.selected = [here.id, here.selectionEnd];
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const question = asked.get(event.detail.xhr);
    if (!question) return;
    for (const [id, value] of question.typed ?? []) {
      const field = document.getElementById(id);
      if (field) field.value = value;
    }
    const field = question.selected && document.getElementById(question.selected[0]);
    if (field && field === document.activeElement) field.setSelectionRange(0, question.selected[1]);
  });

  // "Cancel" of a report form that was opened in place closes it and goes back to its link.
  document.addEventListener("click", (event) => {
    const cancel = event.target.closest && event.target.closest(".report-slot .cancel");
    if (!cancel) return;
    event.preventDefault();
    const slot = cancel.closest(".report-slot");
    const link = slot.previousElementSibling && slot.previousElementSibling.querySelector(".unclear");
    slot.replaceChildren();
    if (link) link.focus();
  });

  // The working of a number that was opened in place: "Close" or Escape takes it away and goes back to the number.
  const close = (note) => {
    const slot = note.closest(".number-slot");
    const key = note.querySelector(".close").hash.slice(1);
    const link = slot.previousElementSibling.querySelector(`a.calc[id^="${key}"]`) ?? document.getElementById(key);
    slot.replaceChildren();
    if (link) link.focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest(".number-slot .close");
    if (!link) return;
    event.preventDefault();
    close(link.closest(".number-note"));
  });
  document.addEventListener("keydown", (event) => {
    const here = event.target.closest && event.key === "Escape" && event.target.closest(".number-note, a.calc");
    const note = here && (here.matches("a.calc") ? [...document.querySelectorAll(".number-slot .number-note")].find((one) => here.id.startsWith(one.querySelector(".close").hash.slice(1))) : here.closest(".number-slot .number-note"));
    if (note) close(note);
  });

  // Typed but not sent: ask before the page is left, and do not ask when a form is being sent.
  let sending = false;
  const unsent = () => [...document.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
  document.addEventListener("submit", () => { sending = true; });
  document.addEventListener("htmx:beforeRequest", () => { sending = false; });
  window.addEventListener("pageshow", () => { sending = false; });
  window.addEventListener("beforeunload", (event) => { if (!sending && unsent()) event.preventDefault(); });

  // A request that failed says so in the page; what was typed stays where it is.
  const failed = (event) => {
    const said = document.getElementById("said");
    const item = event.target.closest && event.target.closest(".item, .report-form, .widget, main");
    if (!item || item.querySelector(".unsent")) return;
    const note = document.createElement("p");
    note.className = "tell warn unsent";
    const reload = "copy it, then load the page again.";
    const [why, next] = { 403: ["The page has to be loaded again before it can send", reload], 404: ["This has left the lesson since the page was loaded", reload],
      413: ["This is too long to be sent", "shorten it and try again."], 500: ["Something broke on our side", "try again."] }[event.detail.xhr?.status] ?? ["This could not be sent", "check the connection and try again."];
    note.textContent = `${why}. What you typed is still here: ${next}`;
    item.append(note);
    if (said) said.textContent = note.textContent;
  };
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:timeout", failed);
})();
