// Puts text into the clipboard.

/**
 * Return whether it is there now. `text` may be a promise of it, which some browsers want before they have waited for it.
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
 * Copy on a page that was not served over https.
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
