// Parses pie charts for Mermaid, in place of @mermaid-js/parser, whose generated parsers have 650 kB.

const SECTION = /^"([^"]*)"\s*:\s*(\d+(?:\.\d+)?)$/;
const OPTION = /^(title\s|accTitle\s*:|accDescr\s*:)\s*(.*)$/;
const NAMES = { title: "title", accTitle: "accTitle", accDescr: "accDescr" };

/** Return the tree of a diagram; throw for each other kind and for a line that is none of a pie chart. */
export async function parse(kind, text) {
  const [head, ...lines] = text.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("%%"));
  const match = /^pie(\s+showData)?(?:\s+(title\s.*))?$/.exec(head);
  if (kind !== "pie" || !match) throw new Error("left out");
  const tree = { $type: "Pie", showData: Boolean(match[1]), sections: [] };
  for (const line of match[2] ? [match[2], ...lines] : lines) {
    const [section, option] = [SECTION.exec(line), OPTION.exec(line)];
    if (section) tree.sections.push({ $type: "PieSection", label: section[1], value: Number(section[2]) });
    else if (option) tree[NAMES[/^\w+/.exec(option[1])[0]]] = option[2];
    else if (line === "showData") tree.showData = true;
    else throw new Error(`This line is none of a pie chart: ${line}`);
  }
  return tree;
}
