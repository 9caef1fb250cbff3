// The script of the frame that draws diagrams: {code, dark} comes in, {svg, width, height, title} or {error} goes out.

/** @import { Mermaid } from "../vendor/mermaid/mermaid.min.js" */

/** @type {Mermaid} */
const mermaid = window.mermaid;
// A tag with attributes is shown as text: in a label it could only do harm.
const TAG = /<(?=\/?[a-z][^<>]*=)/gi;
const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif';
const LIMITS = ["maxTextSize", "maxEdges"];
const LOOKS = ["layout", "themeCSS"];
const FIXED = ["secure", "securityLevel", "startOnLoad", "suppressErrorRendering", ...LOOKS, ...LIMITS];

// The palettes of the page (css/tokens.css), and eight colours for parts of equal rank.
const LIGHT = palette({
  ...{ ground: "#fdfbf8", ink: "#2a2622", line: "#8c7f70", box: "#f3ece3", other: "#e3ecf3", third: "#ecf3e3" },
  parts: ["#f0cdb0", "#c3dfcb", "#c6d5f0", "#eac6da", "#ecdfa4", "#d0caec", "#bde0e3", "#e2cabb"],
});
const DARK = palette({
  ...{ ground: "#1c1a18", ink: "#ece7e0", line: "#a09384", box: "#332e29", other: "#29303a", third: "#2c3529" },
  parts: ["#7a4f33", "#3a6148", "#3b5285", "#76405f", "#6d5f24", "#524a85", "#276266", "#6a5040"],
});
let count = 0;

/**
 * Return the variables of Mermaid's theme.
 * @param {{ ground: string, ink: string, line: string, box: string, other: string, third: string, parts: string[] }} of
 */
function palette({ ground, ink, line, box, other, third, parts }) {
  /** @type {Record<string, unknown>} */
  const found = {
    darkMode: ground < "#8",
    background: ground,
    ...{ primaryColor: box, secondaryColor: other, tertiaryColor: third, mainBkg: box, edgeLabelBackground: ground },
    ...{ primaryTextColor: ink, secondaryTextColor: ink, tertiaryTextColor: ink, textColor: ink, titleColor: ink },
    ...{ primaryBorderColor: line, secondaryBorderColor: line, tertiaryBorderColor: line, lineColor: line },
    ...{ pieSectionTextColor: ink, pieTitleTextColor: ink, pieLegendTextColor: ink, pieStrokeColor: ground },
    ...{ pieOuterStrokeColor: line, pieOuterStrokeWidth: "1px", pieOpacity: "1" },
    ...{ taskBkgColor: parts[2], taskTextColor: ink, taskTextOutsideColor: ink, taskTextDarkColor: ink },
    xyChart: { backgroundColor: ground, plotColorPalette: [parts[2], parts[0], parts[1], parts[3]].join(", ") },
  };
  for (const [number, colour] of parts.entries()) {
    Object.assign(found, { [`pie${number + 1}`]: colour, [`cScale${number}`]: colour, [`cScaleLabel${number}`]: ink });
  }
  return found;
}

addEventListener("message", async ({ source, data }) => {
  if (source !== parent) return;
  const answer = await drawn(String(data.code).replaceAll(TAG, "#lt;"), data.dark === true).catch((error) => ({ error: String(error) }));
  parent.postMessage(answer, "*");
});

/**
 * @param {string} code
 * @param {boolean} dark
 */
async function drawn(code, dark) {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    theme: "base",
    themeVariables: dark ? DARK : LIGHT,
    look: "classic",
    layout: "dagre",
    gantt: { useWidth: 760 },
    fontFamily: FONT,
    maxEdges: 300,
    // What a diagram may not set itself.
    secure: FIXED,
  });
  const { svg } = await mermaid.render(`diagram-${(count += 1)}`, code);
  const image = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  if (!image) throw new Error("no drawing");
  const [, , width, height] = (image.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  image.setAttribute("width", String(width));
  image.setAttribute("height", String(height));
  image.removeAttribute("style");
  const title = image.querySelector(":scope > title")?.textContent ?? "";
  return { svg: new XMLSerializer().serializeToString(image), width, height, title };
}

parent.postMessage("ready", "*");
