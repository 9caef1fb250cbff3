// The form that imports skills: with the files of a folder it sends their paths, which an upload does not have.

import { find } from "./dom.js";

const form = find(document, "[data-skill-import]", HTMLFormElement);
const folder = find(form, "[name=folder]", HTMLInputElement);

form.addEventListener("formdata", ({ formData }) => {
  formData.delete("paths");
  for (const file of folder.files ?? []) formData.append("paths", file.webkitRelativePath || file.name);
});
