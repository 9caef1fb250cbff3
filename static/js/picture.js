// Makes a picture of a drawing, with the colours of the page but without its links and titles, and gives it away.

const PICTURE_WIDTH = 1200;
const PADDING_SIZE = 48;
const HEAD_SIZE = 84;
// Pixels of the picture for each of its units.
const PIXEL_SCALE = 2;
const SVG = "http://www.w3.org/2000/svg";
const STYLES = ["fill", "stroke", "stroke-width", "stroke-linejoin", "font-size", "font-weight"];

/**
 * Return the drawing as a PNG, with a title and a line of numbers above it.
 * @param {SVGSVGElement} drawing
 * @param {string} title
 * @param {string} numbers
 * @returns {Promise<Blob>}
 */
export async function pictureOf(drawing, title, numbers) {
  const box = drawing.viewBox.baseVal;
  const height = PADDING_SIZE * 2 + HEAD_SIZE + ((PICTURE_WIDTH - 2 * PADDING_SIZE) * box.height) / box.width;
  const page = getComputedStyle(document.body);
  const ground = getComputedStyle(drawing.closest("section") ?? document.body).backgroundColor;
  const pixels = { width: PICTURE_WIDTH * PIXEL_SCALE, height: Math.round(height * PIXEL_SCALE) };
  const whole = element("svg", { ...pixels, viewBox: `0 0 ${PICTURE_WIDTH} ${height}` });
  whole.setAttribute("font-family", page.fontFamily);
  whole.append(element("rect", { width: PICTURE_WIDTH, height, fill: ground }));
  whole.append(words(title, { y: PADDING_SIZE + 24, "font-size": 30, "font-weight": 600, fill: page.color }));
  whole.append(words(numbers, { y: PADDING_SIZE + 56, "font-size": 20, fill: page.color, opacity: 0.7 }));
  const copy = styled(drawing);
  const place = { x: PADDING_SIZE, y: PADDING_SIZE + HEAD_SIZE, width: PICTURE_WIDTH - 2 * PADDING_SIZE };
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, String(value));
  copy.setAttribute("height", String(height - 2 * PADDING_SIZE - HEAD_SIZE));
  whole.append(copy);
  return drawn(new XMLSerializer().serializeToString(whole), pixels.width, pixels.height);
}

/**
 * Copy the picture to the clipboard and return true; where that cannot be done, save it as a file and return false.
 * @param {Promise<Blob>} picture
 * @param {string} name
 */
export async function share(picture, name) {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    return true;
  } catch {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await picture);
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    return false;
  }
}

/**
 * Return a copy of the drawing as it looks on the page.
 * @param {SVGSVGElement} drawing
 */
function styled(drawing) {
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const copies = [...copy.querySelectorAll("*")];
  for (const [number, each] of [...drawing.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(each);
    for (const name of STYLES) copies[number].setAttribute(name, style.getPropertyValue(name));
    copies[number].removeAttribute("class");
    copies[number].removeAttribute("href");
    if (each.tagName === "title" || each.classList.contains("calendar__label--phone")) copies[number].remove();
  }
  return copy;
}

/**
 * @param {string} source
 * @param {number} width
 * @param {number} height
 * @returns {Promise<Blob>}
 */
async function drawn(source, width, height) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture was not drawn.")))),
  );
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} attributes
 */
function words(text, attributes) {
  const made = element("text", { x: PADDING_SIZE, ...attributes });
  made.textContent = text.replace(/\s+/g, " ").trim();
  return made;
}
