// Builds mermaid.min.js and LICENSE of this folder from npm packages, without the kinds of diagrams that need large
// libraries. Nothing of this is needed to run or develop OneClaw; the result is in the repository.
//
//     mkdir /tmp/build && cd /tmp/build && cp …/static/vendor/mermaid/*.mjs .
//     npm install --ignore-scripts mermaid@12.3.0 esbuild@0.28.2 && node build.mjs …/static/vendor/mermaid

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

// The parts of Mermaid that are loaded on demand, and are included here.
const INCLUDED = [
  ...["flowDiagram", "sequenceDiagram", "classDiagram", "stateDiagram", "erDiagram", "ganttDiagram", "journeyDiagram"],
  ...["timeline-definition", "quadrantDiagram", "xychartDiagram", "pieDiagram", "requirementDiagram", "dagre", "mindmap-definition", "kanban-definition"],
];
const [folder] = process.argv.slice(2);

const trimming = {
  name: "trimming",
  setup(builder) {
    builder.onResolve({ filter: /^@mermaid-js\/parser$/ }, () => ({ path: path.resolve("pie_parser.mjs") }));
    builder.onResolve({ filter: /./ }, ({ kind, path: name }) => {
      const isLeftOut = kind === "dynamic-import" && !INCLUDED.some((each) => name.includes(`/${each}-`));
      return isLeftOut ? { path: name, namespace: "left-out" } : undefined;
    });
    builder.onLoad({ filter: /./, namespace: "left-out" }, ({ path: name }) => ({
      contents: `throw new Error("left out: ${path.basename(name)}")`,
    }));
  },
};

const { metafile } = await build({
  stdin: { contents: 'import mermaid from "mermaid"; globalThis.mermaid = mermaid;', resolveDir: "." },
  outfile: path.join(folder, "mermaid.min.js"),
  plugins: [trimming],
  bundle: true,
  minify: true,
  metafile: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});

const included = Object.values(metafile.outputs).flatMap(({ inputs }) =>
  Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput).map(([name]) => name),
);
const packages = new Set(included.map((name) => /.*node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(name)?.[0]).filter(Boolean));
const licences = [...packages].sort().map((each) => {
  const { name, version, license } = JSON.parse(readFileSync(path.join(each, "package.json"), "utf8"));
  const file = readdirSync(each).find((entry) => /^licen[cs]e/i.test(entry) && existsSync(path.join(each, entry)));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(path.join(each, file), "utf8").trim() : ""}\n`;
});
writeFileSync(path.join(folder, "LICENSE"), licences.join(`\n${"-".repeat(80)}\n\n`));
