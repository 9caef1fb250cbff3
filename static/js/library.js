// Files for a library: chosen or dropped, sent one after the other; the list below is asked for again after each.

import { find } from "./dom.js";
import { filesOf } from "./dropped.js";

const shown = document.querySelector("form[data-library]");
if (shown instanceof HTMLFormElement) start(shown);

/** @param {HTMLFormElement} form */
function start(form) {
  const input = find(form, "[name=files]", HTMLInputElement);
  const status = find(form, "[data-library-status]", HTMLElement);
  const refused = find(form, "[data-library-refused]", HTMLElement);
  // Files are sent as soon as they are chosen.
  find(form, "[data-library-send]", HTMLButtonElement).hidden = true;
  let queue = Promise.resolve();
  // A drag enters an element before it leaves the one around it.
  let depth = 0;

  /**
   * @param {Iterable<File>} files
   * @param {string[]} folders
   */
  function add(files, folders = []) {
    refused.replaceChildren();
    refused.hidden = true;
    for (const name of folders) refuse(filled(status.dataset.folder, name));
    for (const file of files) queue = queue.then(() => send(file));
    queue = queue.then(() => void (status.textContent = ""));
  }

  /** @param {File} file */
  async function send(file) {
    status.textContent = filled(status.dataset.adding, file.name);
    const body = new FormData(form);
    body.set("files", file);
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      if (answer.redirected) location.reload();
      const { text } = await answer.json();
      if (!answer.ok) refuse(text);
    } catch {
      refuse(filled(status.dataset.lost, file.name));
    }
    document.getElementById("library-files")?.dispatchEvent(new Event("changed"));
  }

  /** @param {string} sentence */
  function refuse(sentence) {
    const item = document.createElement("li");
    item.textContent = sentence;
    refused.append(item);
    refused.hidden = false;
  }

  input.addEventListener("change", () => {
    add([...(input.files ?? [])]);
    // So that the same file can be chosen again.
    input.value = "";
  });
  addEventListener("dragenter", (event) => mark(event, 1));
  addEventListener("dragleave", (event) => mark(event, -1));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!event.dataTransfer || !hasFiles(event)) return;
    event.preventDefault();
    mark(event, -depth);
    const { files, folders } = filesOf(event.dataTransfer);
    add(files, folders);
  });

  /**
   * @param {DragEvent} event
   * @param {number} step
   */
  function mark(event, step) {
    if (!hasFiles(event)) return;
    depth += step;
    form.toggleAttribute("data-over", depth > 0);
  }
}

/** @param {DragEvent} event */
function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/**
 * @param {string | undefined} sentence
 * @param {string} name
 */
function filled(sentence, name) {
  return (sentence ?? "").replace("{name}", name);
}
