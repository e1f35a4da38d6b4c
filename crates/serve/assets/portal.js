// The portal's only script. Every page works without it; with it, evidence lights up under the pointer, files can be
// dropped, progress is shown without reloading, and a deletion asks first.
"use strict";

// A statement and its boxes on the page light up together, whichever is pointed at or focused.
for (const part of document.querySelectorAll("[data-statement]")) {
  const all = () => document.querySelectorAll(`[data-statement="${CSS.escape(part.dataset.statement)}"]`);
  const light = (on) => () => all().forEach((other) => other.classList.toggle("lit", on));
  part.addEventListener("pointerenter", light(true));
  part.addEventListener("pointerleave", light(false));
  part.addEventListener("focusin", light(true));
  part.addEventListener("focusout", light(false));
}

// Where the pages stand beside the statements there is no need to jump to a box: it stays lit until another is chosen.
for (const link of document.querySelectorAll('a[href^="#box-"]')) {
  link.addEventListener("click", (event) => {
    if (!window.matchMedia("(min-width: 901px)").matches) return;
    event.preventDefault();
    document.querySelectorAll(".pinned").forEach((other) => other.classList.remove("pinned"));
    document.querySelector(link.getAttribute("href"))?.classList.add("pinned");
  });
}

// On a narrow screen the facets would stand before the reader's eyes for ever; they start folded there.
if (window.matchMedia("(max-width: 760px)").matches) {
  document.querySelectorAll(".facets > details").forEach((details) => details.removeAttribute("open"));
}

// Files dropped anywhere on the form are chosen; their names are shown before anything is sent.
for (const form of document.querySelectorAll("[data-upload]")) {
  const input = form.querySelector("input[type=file]");
  const list = form.querySelector(".chosen-files");
  const show = () => {
    list.replaceChildren(...Array.from(input.files, (file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name} · ${Math.max(1, Math.round(file.size / 1000))} kB`;
      return item;
    }));
  };
  input.addEventListener("change", show);
  for (const name of ["dragenter", "dragover"]) {
    form.addEventListener(name, (event) => { event.preventDefault(); form.classList.add("over"); });
  }
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (event.dataTransfer.files.length > 0) {
      input.files = event.dataTransfer.files;
      show();
    }
  });
  form.addEventListener("submit", () => form.classList.add("sending"));
}

for (const form of document.querySelectorAll("[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// Asks for the same page again until nothing is under way any more.
const watch = async () => {
  const old = document.querySelector("#progress[data-progress]");
  if (!old) return;
  try {
    const answer = await fetch(window.location.href, { headers: { accept: "text/html" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("#progress");
      if (fresh) old.replaceWith(fresh);
    }
  } catch {
    // The server may be restarting; the next round asks again.
  }
  window.setTimeout(watch, 1000);
};
window.setTimeout(watch, 700);
