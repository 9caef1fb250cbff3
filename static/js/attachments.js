// Files for the message that is being written: chosen, pasted or dropped, and uploaded at once.

/** @import { AttachedFile } from "./frames.js" */

import { around, find } from "./dom.js";
import { filesOf } from "./dropped.js";
import { words } from "./words.js";

/**
 * A chip. `file` is the server's description of the file, once it is uploaded.
 * @typedef {{ item: HTMLElement, blob: File | null, file: AttachedFile | null, request: XMLHttpRequest | null }} Entry
 *
 * changed() is called when a file was added, removed or uploaded; refused(sentence) when one is refused;
 * arrived(sentence) when one was uploaded; explained(sentence) when a long text became one.
 * @typedef {{ changed: () => void, refused: (sentence: string) => void, arrived: (sentence: string) => void, explained: (sentence: string) => void }} Listener
 */

const NOT_FOUND_STATUS = 404;
// A pasted text of more characters becomes a file.
const LONG_PASTE_CHARS = 4000;

export class Attachments {
  /** @type {HTMLInputElement | null} */
  #input;
  #list;
  #chip;
  #target;
  #address;
  #token;
  #most;
  #largest;
  /** @type {Listener} */
  #on = { changed() {}, refused() {}, arrived() {}, explained() {} };
  // In the order of the chips.
  /** @type {Entry[]} */
  #entries = [];
  // Whether Shift is held, as for pasting without formats: a long text is then inserted after all.
  #isPlain = false;
  // A drag enters an element before it leaves the parent.
  #dragged = 0;
  // An image of the page itself that is dragged counts as a file.
  #isOwn = false;

  // Files may be dropped onto `target`; `address` is the conversation's URL. A file may have `largest` bytes, a message
  // `most` files; 0 allows none.
  /**
   * @param {object} options
   * @param {HTMLFormElement} options.form
   * @param {HTMLElement} options.target
   * @param {string} options.address
   * @param {string} options.token
   * @param {number} options.most
   * @param {number} options.largest
   */
  constructor({ form, target, address, token, most, largest }) {
    this.#input = form.querySelector("[data-files]");
    this.#list = find(form, "[data-chips]", HTMLElement);
    this.#chip = find(form, "template[data-chip]", HTMLTemplateElement);
    this.#target = target;
    this.#address = address;
    this.#token = token;
    this.#most = most;
    this.#largest = largest;
    const input = this.#input;
    if (!input) return;
    input.addEventListener("change", () => {
      this.add([...(input.files ?? [])]);
      // Clear the field, so that the form does not send the files again and the same file can be chosen again.
      input.value = "";
    });
    const text = find(form, "[name=text]", HTMLTextAreaElement);
    text.addEventListener("keydown", (event) => (this.#isPlain = event.shiftKey));
    text.addEventListener("paste", (event) => this.#pasted(event));
    for (const type of /** @type {const} */ (["dragenter", "dragover", "dragleave", "drop"])) {
      addEventListener(type, (event) => this.#moved(event));
    }
    addEventListener("dragstart", () => (this.#isOwn = true));
    addEventListener("dragend", () => (this.#isOwn = false));
    this.#list.addEventListener("click", (event) => this.#clicked(event));
  }

  /** @param {Listener} listener */
  listen(listener) {
    this.#on = listener;
  }

  // The uploaded files.
  get files() {
    return this.#entries.map(({ file }) => file).filter((file) => file !== null);
  }

  get isBusy() {
    return this.#entries.some(({ item }) => item.dataset.state === "uploading");
  }

  /** @param {File[]} blobs */
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
      this.#upload(this.#show(blob, null), blob);
    }
    this.#changed();
  }

  // Show chips for files that were uploaded before. The server deletes a file that is not sent within a day.
  /** @param {AttachedFile[]} files */
  put(files) {
    const known = new Set(this.files.map(({ id }) => id));
    for (const file of files.filter(({ id }) => !known.has(id))) {
      const entry = this.#show(null, file);
      this.#ready(entry.item, file);
      this.#look(entry, file);
    }
    this.#changed();
  }

  // Return the files of the message that is being sent, and remove their chips.
  take() {
    const files = this.files;
    for (const { item, file } of this.#entries) if (file) item.remove();
    this.#entries = this.#entries.filter(({ file }) => !file);
    this.#changed();
    return files;
  }

  /**
   * Show the chip of a local file, or of an uploaded one.
   * @param {File | null} blob
   * @param {AttachedFile | null} file
   * @returns {Entry}
   */
  #show(blob, file) {
    const item = /** @type {HTMLElement} */ (find(this.#chip.content, "li", HTMLElement).cloneNode(true));
    const { name = "", size = 0 } = blob ?? file ?? {};
    find(item, ".chip__name", HTMLElement).textContent = name;
    find(item, ".chip__size", HTMLElement).textContent = sized(size);
    const remove = find(item, "[data-remove]", HTMLButtonElement);
    remove.ariaLabel = filled(remove.dataset.remove ?? "", { name });
    find(item, "progress", HTMLProgressElement).ariaLabel = name;
    if (blob?.type.startsWith("image/")) picture(item, URL.createObjectURL(blob));
    this.#list.append(item);
    const entry = { item, blob, file, request: null };
    this.#entries.push(entry);
    return entry;
  }

  /**
   * @param {Entry} entry
   * @param {File} blob
   */
  #upload(entry, blob) {
    const { item } = entry;
    item.dataset.state = "uploading";
    const progress = find(item, "progress", HTMLProgressElement);
    const request = (entry.request = new XMLHttpRequest());
    request.open("POST", `${this.#address}/files`);
    request.setRequestHeader("X-CSRFToken", this.#token);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => (progress.value = total ? loaded / total : 0));
    request.addEventListener("load", () => this.#answered(entry, blob, request));
    request.addEventListener("error", () => this.#failed(item, blob));
    const body = new FormData();
    body.append("file", blob, blob.name);
    request.send(body);
  }

  /**
   * @param {Entry} entry
   * @param {File} blob
   * @param {XMLHttpRequest} request
   */
  #answered(entry, blob, { status, response, responseURL }) {
    if (status === 200 && response?.id) {
      entry.file = response;
      this.#ready(entry.item, response);
      this.#on.arrived(filled(words.arrived, { name: response.name }));
    } else if (response?.text) {
      this.#forget(entry);
      this.#on.refused(response.text);
    } else {
      this.#failed(entry.item, blob);
      if (!responseURL.endsWith("/files")) this.#on.refused(words.signedOut);
    }
    this.#changed();
  }

  /**
   * @param {HTMLElement} item
   * @param {AttachedFile} file
   */
  #ready(item, file) {
    item.dataset.state = "ready";
    if (file.kind === "image" && !item.querySelector("img")) picture(item, `/files/${file.id}?small`);
  }

  /**
   * @param {Entry} entry
   * @param {AttachedFile} file
   */
  async #look(entry, file) {
    try {
      const answer = await fetch(`/files/${file.id}`, { method: "HEAD" });
      if (answer.status !== NOT_FOUND_STATUS) return;
    } catch {
      return; // No network: sending the message fails with an error.
    }
    this.#forget(entry);
    this.#on.refused(filled(words.fileGone, { name: file.name }));
    this.#changed();
  }

  /**
   * @param {HTMLElement} item
   * @param {File} blob
   */
  #failed(item, blob) {
    item.dataset.state = "failed";
    this.#on.refused(filled(words.notUploaded, { name: blob.name }));
    this.#changed();
  }

  /** @param {Event} event */
  #clicked(event) {
    const button = around(event, "[data-again], [data-remove]");
    const entry = this.#entries.find(({ item }) => item.contains(button));
    if (!entry) return;
    if (button?.matches("[data-again]")) {
      if (entry.blob) this.#upload(entry, entry.blob);
    } else {
      entry.request?.abort();
      // The result does not matter: the server deletes unsent files later.
      if (entry.file) {
        const headers = { "X-CSRFToken": this.#token };
        fetch(`/files/${entry.file.id}/remove`, { method: "POST", headers, keepalive: true }).catch(() => {});
      }
      this.#forget(entry);
      this.#input?.focus();
    }
    this.#changed();
  }

  /** @param {Entry} entry */
  #forget(entry) {
    entry.item.remove();
    this.#entries = this.#entries.filter((other) => other !== entry);
  }

  #changed() {
    this.#list.hidden = this.#entries.length === 0;
    this.#on.changed();
  }

  /** @param {ClipboardEvent} event */
  #pasted(event) {
    const data = event.clipboardData;
    const text = data?.getData("text/plain") ?? "";
    const isLong = text.length > LONG_PASTE_CHARS && !this.#isPlain && this.#entries.length < this.#most;
    // Text that is copied from a document comes with an image of itself.
    if (!data || (text ? !isLong : !data.files.length)) return;
    event.preventDefault();
    this.add(text ? [new File([text], `${words.pastedText}.txt`, { type: "text/plain" })] : this.#withoutFolders(data));
    if (text) this.#on.explained(words.longPaste);
  }

  /**
   * Return the dropped or pasted files without folders, and say that those cannot be attached.
   * @param {DataTransfer} data
   */
  #withoutFolders(data) {
    const { files, folders } = filesOf(data);
    if (folders.length) this.#on.refused(filled(words.folder, { name: folders[0] }));
    return files;
  }

  /** @param {DragEvent} event */
  #moved(event) {
    if (this.#isOwn || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (event.type === "dragenter") this.#dragged += 1;
    else if (event.type === "dragleave") this.#dragged -= 1;
    else if (event.type === "drop") {
      this.#dragged = 0;
      this.add(this.#withoutFolders(event.dataTransfer));
    }
    this.#target.hidden = this.#dragged <= 0;
  }
}

/**
 * Return the HTML of the files of a pending message, as the server renders them later.
 * @param {AttachedFile[]} files
 */
export function attachedList(files) {
  const list = document.createElement("ul");
  list.className = "attached";
  for (const { id, name, size, kind } of files) {
    const link = Object.assign(document.createElement("a"), { href: `/files/${id}`, className: "attached__file" });
    if (kind === "image") {
      link.className = "attached__image";
      link.dataset.do = "enlarge";
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

/**
 * @param {HTMLElement} item
 * @param {string} src
 */
function picture(item, src) {
  const image = Object.assign(new Image(), { src, alt: "" });
  image.addEventListener("load", () => URL.revokeObjectURL(src));
  find(item, ".chip__picture", HTMLElement).replaceChildren(image);
}

/** @param {number} bytes */
function sized(bytes) {
  // Units of 1,024, and the words of the server (oneclaw/text.py).
  const step = bytes < 1024 ? 0 : bytes < 1024 ** 2 ? 1 : 2;
  const format = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1 });
  return filled([words.bytes, words.kilobytes, words.megabytes][step], { number: format.format(bytes / 1024 ** step) });
}

/**
 * @param {string} sentence
 * @param {Record<string, string | number>} values
 */
function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}
