"""How well search finds what was said, scored by membench against the product through its own commands.

    python benchmarks/retrieval.py --data FOLDER [--models default folder none] [--shapes lines runs passages]

FOLDER holds membench.py and dev.jsonl (or what --file names): conversations with questions and the lines that answer
them. They are not part of this repository. Each conversation becomes the memory of a person of its own. The model
"folder" is the one that ONECLAW_LOCAL_MODEL names.
"""

import argparse
import collections
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = {
    "default": {"ONECLAW_EMBEDDINGS": "local"},
    "folder": {"ONECLAW_EMBEDDINGS": "local", "ONECLAW_LOCAL_MODEL": os.environ.get("ONECLAW_LOCAL_MODEL", "")},
    "none": {"ONECLAW_EMBEDDINGS": "none"},
}
SHAPES = {"lines": ["--lines"], "runs": [], "passages": ["--passages"]}
# Not the product: benchmarks/fusion.py on the same chunks and vectors.
PEERS: dict[str, list[str]] = {"fusion, all words": [], "fusion, any word": ["--any-word"]}
COLUMNS = ("ER@4000c", "ER@1500c", "ER@10", "ER@6", "ER@1")
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop")
MOST = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--file", default="dev.jsonl")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=available())
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    options = parser.parse_args()
    membench = load(options.data / "membench.py")
    documents, queries = membench.load(options.data / options.file)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder), documents)
        rows = [
            row
            for model in options.models
            for row in measured(membench, memory, model, options.shapes, documents, queries)
        ]
    print("\n".join(rows))


def measured(
    membench: ModuleType, memory: "Memory", model: str, shapes: list[str], documents: list[Any], queries: list[Any]
) -> list[str]:
    """The lines of the table for one model."""
    memory.use(model)
    rows = []
    searches = {
        shape: ("manage.py", "memory", "search", "--max-results", str(MOST), *SHAPES[shape]) for shape in shapes
    }
    if model != "none":
        searches |= {peer: ("benchmarks/fusion.py", *options) for peer, options in PEERS.items()}
    for shape, search in searches.items():
        results = memory.answers(queries, search)
        per_query, problems = membench.evaluate(documents, queries, results)
        assert not problems, problems
        table = membench.summarise(per_query)
        core = table["core (cats 1-4)"]
        numbers = " ".join(f"{name} {core[name]:.3f}" for name in COLUMNS)
        categories = " ".join(f"{name} {table[name]['ER@4000c']:.3f}" for name in CATEGORIES if name in table)
        rows.append(f"{model:8} {shape:18} {numbers} | {categories}")
    foreign, nonsense = memory.unanswerable(queries)
    rows.append(f"{model:8} answered at the floor: {foreign:.1%} of others' questions, {nonsense:.1%} of nonsense")
    return rows


class Memory:
    """A OneClaw of its own that holds each conversation as one person's memory."""

    def __init__(self, folder: Path, documents: list[Any]):
        self.folder, self.environment = folder, dict(os.environ)
        self.people: dict[str, str] = {}
        self.environment |= {"ONECLAW_HOME": str(folder / "home"), "OPENBLAS_NUM_THREADS": "1"}
        self.environment.pop("DATABASE_URL", None)
        self.command("migrate", "--verbosity", "0")
        by_corpus = collections.defaultdict(list)
        for document in documents:
            by_corpus[document["corpus_id"]].append(document)
        for corpus, held in by_corpus.items():
            email = self.people[corpus] = f"{corpus}@example.org".lower()
            self.command("adduser", email)
            for document in held:
                path = folder / corpus / document["doc_id"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(document["text"])

    def use(self, model: str) -> None:
        """Import and index everything with this model."""
        self.environment |= {"ONECLAW_LOCAL_MODEL": ""} | MODELS[model]
        for corpus, email in self.people.items():
            self.command("memory", "import", str(self.folder / corpus), "--user", email, "--wait")

    def answers(self, queries: list[Any], search: Sequence[str]) -> list[Any]:
        """Return what this script answers, in membench's form."""
        asked = collections.defaultdict(list)
        for query in queries:
            asked[query["corpus_id"]].append((query["query_id"], query["query"], query["asked_at"]))
        return [row for corpus, questions in asked.items() for row in self.ask(corpus, questions, search)]

    def ask(self, corpus: str, questions: list[tuple[str, str, str]], search: Sequence[str]) -> list[Any]:
        file = self.folder / "queries.jsonl"
        rows = ({"id": id, "query": query, "asked_at": day} for id, query, day in questions)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        said = self.script(*search, "--user", self.people[corpus], "--queries", str(file))
        return [
            {
                "query_id": row["id"],
                "results": [one | {"doc_id": one["path"], "text": one["snippet"]} for one in row["results"]],
            }
            for row in map(json.loads, said.splitlines())
        ]

    def unanswerable(self, queries: list[Any]) -> tuple[float, float]:
        """The share of other people's questions, and of nonsense, to which the default floor lets anything through."""
        chosen = random.Random(7)
        corpora = sorted(self.people)
        passed: dict[str, list[bool]] = {"foreign": [], "nonsense": []}
        for corpus in corpora:
            foreign = [query for query in queries if query["corpus_id"] != corpus]
            asked = [
                (f"foreign/{n}", query["query"], query["asked_at"])
                for n, query in enumerate(chosen.sample(foreign, min(200, len(foreign))))
            ] + [(f"nonsense/{n}", nonsense(chosen), "2023-06-01") for n in range(200 // len(corpora))]
            for row in self.ask(corpus, asked, ["manage.py", "memory", "search", "--max-results", "1"]):
                passed[row["query_id"].split("/")[0]].append(bool(row["results"]))
        return share(passed["foreign"]), share(passed["nonsense"])

    def command(self, *arguments: str) -> str:
        return self.script("manage.py", *arguments)

    def script(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
        return done.stdout


# Things that do not go together, and syllables that no language has put together.
THINGS = "elephants|telephone|submarine|parliament|asteroid|bishop|algebra|turbine|glacier|trombone|lobster|treaty"
DOINGS = "invented|dissolved|elected|translated|orbited|refuted|inflated"
KINDS = "purple|diagonal|carbonated|medieval|hollow|invisible|nuclear"
SYLLABLES = "ba|ke|lo|mi|zur|fan|tep|gri|xo|vul|nag|shi|wem|quo|plen|drak"
FORMS = ("How many {k} {a} {d} the {b}?", "Why has the {k} {a} {d} a {b}?", "Which {a} {d} the {k} {b}?")


def nonsense(chosen: random.Random) -> str:
    """A question about nothing."""
    if chosen.random() < 0.3:
        syllables = SYLLABLES.split("|")
        made = ["".join(chosen.choices(syllables, k=chosen.randint(2, 4))) for _ in range(chosen.randint(2, 6))]
        return " ".join(made).capitalize() + "?"
    kind, doing = (chosen.choice(words.split("|")) for words in (KINDS, DOINGS))
    one, other = chosen.sample(THINGS.split("|"), 2)
    return chosen.choice(FORMS).format(k=kind, d=doing, a=one, b=other)


def share(passed: list[bool]) -> float:
    return sum(passed) / max(len(passed), 1)


def available() -> list[str]:
    return [name for name in MODELS if name != "folder" or os.environ.get("ONECLAW_LOCAL_MODEL")]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("membench", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
