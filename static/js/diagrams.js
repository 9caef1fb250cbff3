// Draws the diagrams of finished messages. Mermaid runs in a frame without rights (templates/diagrams.html), and the page
// shows what it drew as an image, in which nothing runs. A diagram that cannot be drawn stays code.

import { find } from "./dom.js";
import { words } from "./words.js";

// What one diagram may take, and its code; the frame has to load first.
const DRAW_MS = 10_000;
const LOAD_MS = 30_000;
const CODE_MAX_CHARS = 20_000;
const SVG_MAX_CHARS = 2_000_000;
// A cache of drawings: a conversation is shown anew after a reconnection.
const KEPT_MAX_COUNT = 50;

/** @typedef {{ svg: string, width: number, height: number, title: string }} Drawing */

/** @type {Map<string, Promise<Drawing>>} */
const kept = new Map();
/** @type {Promise<HTMLIFrameElement> | null} */
let loading = null;
// The frame draws one after the other.
/** @type {Promise<unknown>} */
let last = Promise.resolve();

const darkness = matchMedia("(prefers-color-scheme: dark)");
darkness.addEventListener("change", () => {
  /** @type {NodeListOf<HTMLElement>} */
  const drawn = document.querySelectorAll(".code-box[data-drawn]");
  for (const box of drawn) show(box);
});

/**
 * Draw the diagram of a block of code as soon as its message is finished.
 * @param {HTMLElement} box
 */
export function draw(box) {
  const article = box.closest("article");
  if (article?.dataset.status !== "running") show(box);
  else {
    const observer = new MutationObserver(() => {
      if (box.isConnected && article.dataset.status === "running") return;
      observer.disconnect();
      if (box.isConnected) show(box);
    });
    // The block is replaced while it grows.
    observer.observe(article, { attributes: true, attributeFilter: ["data-status"], childList: true, subtree: true });
  }
}

/** @param {HTMLElement} box */
async function show(box) {
  const code = find(box, "code", HTMLElement).textContent ?? "";
  const drawing = await drawingOf(code, isDark()).catch(() => null);
  box.querySelector(".diagram")?.remove();
  box.querySelector(".diagram__note")?.remove();
  box.toggleAttribute("data-drawn", drawing !== null);
  if (drawing) box.append(figure(box, drawing));
  else box.append(element("p", "diagram__note", words.notDrawn));
}

function isDark() {
  const { appearance } = document.documentElement.dataset;
  return appearance ? appearance === "dark" : darkness.matches;
}

/**
 * @param {HTMLElement} box
 * @param {Drawing} drawing
 */
function figure(box, { svg, width, height, title }) {
  const image = new Image(width, height);
  // Opened by itself, an address of this kind belongs to no origin, unlike a blob.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  image.alt = [words.diagram, title].filter(Boolean).join(": ");
  const large = element("button", "diagram__image");
  large.dataset.do = "enlarge";
  large.title = words.enlarge;
  large.append(image);
  const toggle = element("button", "diagram__toggle", words.showCode);
  toggle.addEventListener("click", () => {
    const isCode = box.toggleAttribute("data-code");
    toggle.textContent = isCode ? words.showDiagram : words.showCode;
  });
  box.removeAttribute("data-code");
  const made = element("div", "diagram");
  made.append(large, toggle);
  return made;
}

/**
 * @param {string} name
 * @param {string} className
 */
function element(name, className, text = "") {
  const made = Object.assign(document.createElement(name), { className, textContent: text });
  if (made instanceof HTMLButtonElement) made.type = "button";
  return made;
}

/**
 * @param {string} code
 * @param {boolean} dark
 */
function drawingOf(code, dark) {
  const key = `${dark} ${code}`;
  let drawing = kept.get(key);
  if (!drawing) {
    if (code.length > CODE_MAX_CHARS) return Promise.reject(new Error("too long"));
    drawing = last.then(() => asked(code, dark));
    last = drawing.catch(() => {});
    if (kept.size >= KEPT_MAX_COUNT) kept.delete(kept.keys().next().value ?? "");
    kept.set(key, drawing);
  }
  return drawing;
}

/**
 * @param {string} code
 * @param {boolean} dark
 * @returns {Promise<Drawing>}
 */
async function asked(code, dark) {
  const frame = await (loading ??= loaded());
  const answer = answered(frame, DRAW_MS);
  // The frame has no origin that could be named.
  frame.contentWindow?.postMessage({ code, dark }, "*");
  return drawingIn(await answer);
}

/** @returns {Promise<HTMLIFrameElement>} */
async function loaded() {
  const frame = document.createElement("iframe");
  frame.className = "diagram-frame";
  frame.sandbox.add("allow-scripts");
  frame.src = "/diagrams";
  frame.tabIndex = -1;
  frame.ariaHidden = "true";
  const ready = answered(frame, LOAD_MS);
  document.body.append(frame);
  await ready;
  return frame;
}

/**
 * Return the next message of the frame. One that does not answer is removed, and the next diagram gets another.
 * @param {HTMLIFrameElement} frame
 * @param {number} milliseconds
 */
function answered(frame, milliseconds) {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      controller.abort();
      frame.remove();
      loading = null;
      reject(new Error("no answer"));
    }, milliseconds);
    const take = (/** @type {MessageEvent} */ event) => {
      if (event.source !== frame.contentWindow) return;
      clearTimeout(timer);
      controller.abort();
      resolve(event.data);
    };
    addEventListener("message", take, { signal: controller.signal });
  });
}

/**
 * Return the drawing in a message of the frame, which is not trusted.
 * @param {any} answer
 * @returns {Drawing}
 */
function drawingIn(answer) {
  const svg = String(answer?.svg ?? "");
  const [width, height] = [answer?.width, answer?.height].map((size) => Math.ceil(Number(size)));
  if (!svg || svg.length > SVG_MAX_CHARS || !(width > 0) || !(height > 0)) throw new Error("not drawn");
  return { svg, width, height, title: String(answer.title ?? "").slice(0, 200) };
}
