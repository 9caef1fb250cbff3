"""A folder of a sentence-transformers model: a tiny one, made here, run by this product and by plain arithmetic."""

import json
import struct

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from tokenizers import Tokenizer, models, pre_tokenizers

from memory.index import vectors
from memory.index.embeddings import embedder, transformer
from memory.models import EmbeddingModel, TextVector

WIDTH, HEADS, INNER, LAYERS = 16, 2, 32, 2
WORDS = ["[PAD]", "[UNK]", "the", "kayak", "boat", "is", "red", "blue", "garden", "car", "grey", "in"]


@pytest.fixture
def folder(tmp_path):
    """A BERT of two layers with weights that nobody trained."""
    chosen = np.random.default_rng(3)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (64, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        parts = {
            "attention.self.query": (WIDTH, WIDTH),
            "attention.self.key": (WIDTH, WIDTH),
            "attention.self.value": (WIDTH, WIDTH),
            "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (INNER, WIDTH),
            "output.dense": (WIDTH, INNER),
        }
        for name, shape in parts.items():
            shapes |= {f"{at}{name}.weight": shape, f"{at}{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}{name}.weight": (WIDTH,), f"{at}{name}.bias": (WIDTH,)}
    weights = {name: chosen.normal(0, 0.5, shape).astype("<f4") for name, shape in shapes.items()}
    about, data = {}, b""
    for name, weight in weights.items():
        place = [len(data), len(data) + weight.nbytes]
        about[f"bert.{name}"] = {"dtype": "F32", "shape": weight.shape, "data_offsets": place}
        data += weight.tobytes()
    head = json.dumps(about).encode()
    path = tmp_path / "tiny"
    path.mkdir()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    (path / "config.json").write_text(json.dumps({"num_hidden_layers": LAYERS, "num_attention_heads": HEADS}))
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(path / "tokenizer.json"))
    return path, weights


def by_the_book(weights, ids):
    """BERT's forward pass for one text, token by token."""
    from math import erf

    def normal(row, at):
        row = (row - row.mean()) / np.sqrt(row.var() + 1e-12)
        return row * weights[f"{at}LayerNorm.weight"] + weights[f"{at}LayerNorm.bias"]

    def linear(row, name):
        return weights[f"{name}.weight"].astype(float) @ row + weights[f"{name}.bias"]

    rows = [
        normal(
            weights["embeddings.word_embeddings.weight"][one].astype(float)
            + weights["embeddings.position_embeddings.weight"][place]
            + weights["embeddings.token_type_embeddings.weight"][0],
            "embeddings.",
        )
        for place, one in enumerate(ids)
    ]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        asked, keys, values = (
            [linear(row, f"{at}attention.self.{n}") for row in rows] for n in ("query", "key", "value")
        )
        each, seen = WIDTH // HEADS, []
        for one in asked:
            heads = []
            for head in range(HEADS):
                part = slice(head * each, (head + 1) * each)
                weight = np.exp([one[part] @ key[part] / each**0.5 for key in keys])
                heads.append(sum(w * value[part] for w, value in zip(weight / weight.sum(), values, strict=True)))
            seen.append(np.concatenate(heads))
        rows = [
            normal(row + linear(one, f"{at}attention.output.dense"), f"{at}attention.output.")
            for row, one in zip(rows, seen, strict=True)
        ]
        inner = [[x / 2 * (1 + erf(x / 2**0.5)) for x in linear(row, f"{at}intermediate.dense")] for row in rows]
        rows = [
            normal(row + linear(np.array(one), f"{at}output.dense"), f"{at}output.")
            for row, one in zip(rows, inner, strict=True)
        ]
    mean = np.mean(rows, axis=0)
    return mean / np.linalg.norm(mean)


def test_a_folder_gives_the_vectors_that_berts_formula_gives(folder, settings):
    path, weights = folder
    settings.EMBEDDINGS, settings.LOCAL_MODEL = "local", str(path)
    texts = ["the kayak is red", "boat", "the car is grey in the garden zzz"]
    made = embedder().embed(texts)
    for row, text in zip(made, texts, strict=True):
        ids = [WORDS.index(word) if word in WORDS else 1 for word in text.split()]
        assert row == pytest.approx(by_the_book(weights, ids), abs=1e-5)


def test_a_memory_is_searched_with_the_model_of_a_folder(folder, ada, write, search, settings):
    settings.EMBEDDINGS, settings.LOCAL_MODEL = "local", str(folder[0])
    write(ada, "MEMORY.md", "- The kayak is red.\n- The boat is blue.\n")
    vectors.embed_pending()
    assert {len(vector.vector) for vector in TextVector.objects.all()} == {WIDTH}
    assert EmbeddingModel.objects.get().name.startswith("local/tiny-")
    # Nobody trained it, so that its opinions are of no worth: but it has some.
    found = search(ada, "kayak", min_score=0)
    assert all(passage.vector_score for passage in found)
    assert any("kayak" in passage.snippet for passage in found)


def test_other_weights_in_a_folder_of_the_same_name_are_another_model(folder, settings):
    settings.EMBEDDINGS, settings.LOCAL_MODEL = "local", str(folder[0])
    before = embedder().name
    weights = folder[0] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    transformer.fingerprint.cache_clear()
    assert embedder().name != before


def test_a_folder_that_holds_no_model_is_told(tmp_path, settings):
    settings.EMBEDDINGS, settings.LOCAL_MODEL = "local", str(tmp_path / "nothing")
    with pytest.raises(ImproperlyConfigured, match="must name a folder"):
        embedder().embed(["a"])
