// Files for the message that is being written: by button, paste and drop, each sent to the server at once.

import { words } from "./words.js";

const NOT_FOUND = 404;
const UNITS = ["byte", "kilobyte", "megabyte"];

export class Attachments {
  #input;
  #list;
  #chip;
  #target;
  #address;
  #token;
  #most;
  #largest;
  #on = { changed() {}, refused() {}, arrived() {} };
  // In the order of the chips: {item, blob, file}; `file` is the server's {id, name, size, kind} once it is there.
  #entries = [];
  // Drags enter an element before they leave the one around it.
  #dragged = 0;
  // A picture of the page itself that somebody drags counts as a file.
  #isOwn = false;

  // `target` shows where files may be dropped; `address` is the conversation's. A file has `largest` bytes at most, a
  // message `most` files; with 0 none is taken.
  constructor({ form, target, address, token, most, largest }) {
    this.#input = form.querySelector("[data-files]");
    this.#list = form.querySelector("[data-chips]");
    this.#chip = form.querySelector("[data-chip]");
    this.#target = target;
    this.#address = address;
    this.#token = token;
    this.#most = most;
    this.#largest = largest;
    if (!this.#input) return;
    this.#input.addEventListener("change", () => {
      this.add([...this.#input.files]);
      // What was taken is not sent once more with the form, and can be chosen again.
      this.#input.value = "";
    });
    form.elements.namedItem("text").addEventListener("paste", (event) => this.#pasted(event));
    for (const type of ["dragenter", "dragover", "dragleave", "drop"]) addEventListener(type, (event) => this.#moved(event));
    addEventListener("dragstart", () => (this.#isOwn = true));
    addEventListener("dragend", () => (this.#isOwn = false));
    this.#list.addEventListener("click", (event) => this.#clicked(event));
  }

  // changed() when a file came, went or is there; refused(sentence) when one is not taken; arrived(sentence) when it is.
  listen({ changed, refused, arrived }) {
    this.#on = { changed, refused, arrived };
  }

  // [{id, name, size, kind}] of those that the server has.
  get files() {
    return this.#entries.filter(({ file }) => file).map(({ file }) => file);
  }

  get isBusy() {
    return this.#entries.some(({ item }) => item.dataset.state === "uploading");
  }

  add(blobs) {
    for (const blob of blobs) {
      if (this.#entries.length >= this.#most) {
        this.#on.refused(filled(words.tooMany, { most: this.#most }));
        break;
      }
      if (blob.size > this.#largest) {
        this.#on.refused(filled(words.tooLarge, { name: blob.name, size: sized(blob.size), most: sized(this.#largest) }));
        continue;
      }
      this.#upload(this.#show({ blob, file: null }));
    }
    this.#changed();
  }

  // Chips for files that the server has, or had: what was not sent for a day is gone.
  put(files) {
    const known = new Set(this.files.map(({ id }) => id));
    for (const file of files.filter(({ id }) => !known.has(id))) {
      const entry = this.#show({ blob: null, file });
      this.#ready(entry);
      this.#look(entry);
    }
    this.#changed();
  }

  // The files of a message that is sent now; their chips go.
  take() {
    const files = this.files;
    for (const { item, file } of this.#entries) if (file) item.remove();
    this.#entries = this.#entries.filter(({ file }) => !file);
    this.#changed();
    return files;
  }

  #show({ blob, file }) {
    const item = this.#chip.content.firstElementChild.cloneNode(true);
    const { name, size } = blob ?? file;
    item.querySelector(".chip__name").textContent = name;
    item.querySelector(".chip__size").textContent = sized(size);
    const remove = item.querySelector("[data-remove]");
    remove.ariaLabel = filled(remove.dataset.remove, { name });
    item.querySelector("progress").ariaLabel = name;
    if (blob?.type.startsWith("image/")) picture(item, URL.createObjectURL(blob));
    this.#list.append(item);
    const entry = { item, blob, file, request: null };
    this.#entries.push(entry);
    return entry;
  }

  #upload(entry) {
    const { item, blob } = entry;
    item.dataset.state = "uploading";
    const progress = item.querySelector("progress");
    const request = (entry.request = new XMLHttpRequest());
    request.open("POST", `${this.#address}/files`);
    request.setRequestHeader("X-CSRFToken", this.#token);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => (progress.value = total ? loaded / total : 0));
    request.addEventListener("load", () => this.#answered(entry));
    request.addEventListener("error", () => this.#failed(entry));
    const body = new FormData();
    body.append("file", blob, blob.name);
    request.send(body);
  }

  #answered(entry) {
    const { status, response, responseURL } = entry.request;
    if (status === 200 && response?.id) {
      entry.file = response;
      this.#ready(entry);
      this.#on.arrived(filled(words.arrived, { name: response.name }));
    } else if (response?.text) {
      this.#forget(entry);
      this.#on.refused(response.text);
    } else {
      this.#failed(entry);
      if (!responseURL.endsWith("/files")) this.#on.refused(words.signedOut);
    }
    this.#changed();
  }

  #ready({ item, file }) {
    item.dataset.state = "ready";
    if (file.kind === "image" && !item.querySelector("img")) picture(item, `/files/${file.id}?small`);
  }

  async #look(entry) {
    try {
      const answer = await fetch(`/files/${entry.file.id}`, { method: "HEAD" });
      if (answer.status !== NOT_FOUND) return;
    } catch {
      return; // No network: whoever sends it is told.
    }
    this.#forget(entry);
    this.#on.refused(filled(words.fileGone, { name: entry.file.name }));
    this.#changed();
  }

  #failed({ item, blob }) {
    item.dataset.state = "failed";
    this.#on.refused(filled(words.notUploaded, { name: blob.name }));
    this.#changed();
  }

  #clicked(event) {
    const entry = this.#entries.find(({ item }) => item.contains(event.target));
    if (!entry) return;
    if (event.target.closest("[data-again]")) this.#upload(entry);
    else if (event.target.closest("[data-remove]")) {
      entry.request?.abort();
      // Nobody waits for it: what is left there is swept.
      if (entry.file) {
        const headers = { "X-CSRFToken": this.#token };
        fetch(`/files/${entry.file.id}/remove`, { method: "POST", headers, keepalive: true }).catch(() => {});
      }
      this.#forget(entry);
      this.#input.focus();
    } else return;
    this.#changed();
  }

  #forget(entry) {
    entry.item.remove();
    this.#entries = this.#entries.filter((other) => other !== entry);
  }

  #changed() {
    this.#list.hidden = this.#entries.length === 0;
    this.#on.changed();
  }

  #pasted(event) {
    const { files } = event.clipboardData;
    // What was copied from a document comes as a picture of itself as well.
    if (!files.length || event.clipboardData.getData("text/plain")) return;
    event.preventDefault();
    this.add([...files]);
  }

  #moved(event) {
    if (this.#isOwn || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (event.type === "dragenter") this.#dragged += 1;
    else if (event.type === "dragleave") this.#dragged -= 1;
    else if (event.type === "drop") {
      this.#dragged = 0;
      this.add([...event.dataTransfer.files]);
    }
    this.#target.hidden = this.#dragged <= 0;
  }
}

// The files of a message on its way, as the server shows them once it has arrived.
export function attachedList(files) {
  const list = document.createElement("ul");
  list.className = "attached";
  for (const { id, name, size, kind } of files) {
    const link = Object.assign(document.createElement("a"), { href: `/files/${id}`, className: "attached__file" });
    if (kind === "image") {
      link.className = "attached__image";
      link.append(Object.assign(new Image(), { src: `/files/${id}?small`, alt: name }));
    } else {
      const parts = { attached__name: name, attached__size: sized(size) };
      for (const [className, textContent] of Object.entries(parts)) {
        link.append(Object.assign(document.createElement("span"), { className, textContent }));
      }
    }
    list.appendChild(document.createElement("li")).append(link);
  }
  return list;
}

function picture(item, src) {
  const image = Object.assign(new Image(), { src, alt: "" });
  image.addEventListener("load", () => URL.revokeObjectURL(src));
  item.querySelector(".chip__picture").replaceChildren(image);
}

function sized(bytes) {
  // In steps of 1,024, as the server counts them.
  const step = bytes < 1024 ? 0 : bytes < 1024 ** 2 ? 1 : 2;
  const format = { style: "unit", unit: UNITS[step], unitDisplay: step ? "short" : "long", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(document.documentElement.lang, format).format(bytes / 1024 ** step);
}

function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
