// Copies text to the clipboard.

/**
 * Copy `text`, or the result of a promise, and return whether that succeeded. Some browsers allow copying only directly
 * after a click, so they need the promise.
 * @param {string | Promise<string>} text
 */
export async function copy(text) {
  try {
    if (navigator.clipboard?.write && window.ClipboardItem) {
      const blob = Promise.resolve(text).then((found) => new Blob([found], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
      return true;
    }
    const found = await text;
    if (navigator.clipboard) await navigator.clipboard.writeText(found);
    else if (!copyOldWay(found)) return false;
    return true;
  } catch {
    return false;
  }
}

/**
 * Copy on a page without https, where the clipboard API is missing.
 * @param {string} text
 */
function copyOldWay(text) {
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
