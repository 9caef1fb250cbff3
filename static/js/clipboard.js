// Puts text into the clipboard. `text` may be a promise of it, which some browsers want before they have waited for it.

// Whether it is there now.
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

// On a page that was not served over https.
function copyOldWay(text) {
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}
