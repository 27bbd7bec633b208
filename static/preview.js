"use strict";
// The preview follows the file: on every change the new page is fetched and only what differs is put in,
// so that the reader's place, open folds and typed text stay. Without this script, reload by hand.
(() => {
  const main = document.querySelector("main[data-follow]");
  if (!main) return;
  let version = main.dataset.version;
  let running = false;
  let again = false;

  // What the server sent for each block, but for the line it stands in, which changes with every line above.
  // Folds that were opened since do not count as changes either.
  const sent = new WeakMap();
  const words = (node) => node.outerHTML.replace(/ data-line="\d+"/, "");
  const remember = (node) => sent.set(node, words(node));
  const parts = () => main.querySelectorAll("[data-part]");
  for (const part of parts()) for (const child of part.children) remember(child);

  const rows = () => [...main.querySelectorAll("[data-line]")];

  const firstInView = () => {
    const all = rows();
    const index = all.findIndex((row) => row.getBoundingClientRect().bottom > 0);
    return index < 0 ? null : { row: all[index], index, top: all[index].getBoundingClientRect().top };
  };

  // Blocks that are equal at both ends stay as they are; the ones between are replaced.
  const patch = (old, fresh) => {
    const before = [...old.children];
    const after = [...fresh.children];
    const same = (node, other) => sent.get(node) === words(other);
    let head = 0;
    while (head < before.length && head < after.length && same(before[head], after[head])) head += 1;
    let tail = 0;
    while (tail < before.length - head && tail < after.length - head
      && same(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail += 1;
    const renumber = (node, other) => { if (other.dataset.line) node.dataset.line = other.dataset.line; };
    for (let i = 0; i < head; i += 1) renumber(before[i], after[i]);
    for (let i = 1; i <= tail; i += 1) renumber(before[before.length - i], after[after.length - i]);
    const stay = before[before.length - tail] || null;
    for (const node of before.slice(head, before.length - tail)) node.remove();
    for (const node of after.slice(head, after.length - tail)) {
      remember(node);
      old.insertBefore(document.adoptNode(node), stay);
    }
  };

  const refresh = async () => {
    if (running) { again = true; return; }
    running = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) { location.reload(); return; }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main[data-follow]");
      if (!fresh) return;
      const place = firstInView();
      document.title = page.title;
      version = main.dataset.version = fresh.dataset.version;
      for (const part of ["bar", "body"]) {
        const old = main.querySelector(`[data-part="${part}"]`);
        const now = fresh.querySelector(`[data-part="${part}"]`);
        if (old && now) patch(old, now);
      }
      if (place) {
        const all = rows();
        const row = place.row.isConnected ? place.row : all[Math.min(place.index, all.length - 1)];
        if (row) window.scrollBy({ top: row.getBoundingClientRect().top - place.top, behavior: "instant" });
      }
    } finally {
      running = false;
      if (again) { again = false; refresh(); }
    }
  };

  const changes = new EventSource(main.dataset.follow);
  changes.onopen = () => { main.dataset.state = "following"; };
  changes.onmessage = (event) => { if (event.data !== version) refresh(); };
  window.addEventListener("pagehide", () => changes.close());
})();

// A file dropped on the box of the form is read into it; nothing leaves the page until the form is sent.
(() => {
  const box = document.querySelector("textarea[data-drop]");
  if (!box) return;
  const over = (event) => { event.preventDefault(); box.classList.add("dropping"); };
  box.addEventListener("dragover", over);
  box.addEventListener("dragleave", () => box.classList.remove("dropping"));
  box.addEventListener("drop", async (event) => {
    box.classList.remove("dropping");
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    box.value = await file.text();
    const name = document.querySelector("input[name=name]");
    if (name) name.value = file.name;
  });
})();
