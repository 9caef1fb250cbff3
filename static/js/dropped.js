// The files of a drop or a paste. A browser gives a folder as a file too, which cannot be read.

/**
 * Return the files of `data`, and the names of the folders in it.
 * @param {DataTransfer | null} data
 */
export function filesOf(data) {
  const files = [];
  const folders = [];
  for (const item of data?.items ?? []) {
    const file = item.kind === "file" ? item.getAsFile() : null;
    if (!file) continue;
    if (item.webkitGetAsEntry()?.isDirectory) folders.push(file.name);
    else files.push(file);
  }
  return { files, folders };
}
