// What was dropped on the page: a folder counts as a file of its own, which no browser can send.

/**
 * Return the files of a drop, and the name of the first folder among them.
 * @param {DataTransfer} transfer
 */
export function dropped({ items, files }) {
  const given = [...items].filter(({ kind }) => kind === "file");
  const entries = given.map((item) => item.webkitGetAsEntry());
  const folder = entries.find((entry) => entry?.isDirectory)?.name;
  return { files: [...files].filter((_, at) => !entries[at]?.isDirectory), folder };
}
