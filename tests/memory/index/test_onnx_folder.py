"""A folder of a sentence-transformers model: a tiny one, made here, run by onnxruntime and by plain arithmetic."""

import json
import sys

import numpy as np
import onnx
import pytest
from django.core.exceptions import ImproperlyConfigured
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from memory.index import vectors
from memory.index.embeddings import embedder, onnx_folder
from memory.models import EmbeddingModel, TextVector

WIDTH, PAD = 16, 2
WORDS = ["the", "[UNK]", "[PAD]", "kayak", "boat", "is", "red", "blue", "garden", "car", "grey", "in"]
TEXTS = ["the kayak is red", "boat", "the car is grey in the garden zzz"]


@pytest.fixture
def weights():
    """Return vectors of words, and one that each token of a text is moved by for every token that the text has."""
    chosen = np.random.default_rng(3)
    return chosen.normal(0, 1, (len(WORDS), WIDTH)).astype("f4"), chosen.normal(0, 0.1, WIDTH).astype("f4")


@pytest.fixture
def folder(tmp_path, weights):
    path = tmp_path / "tiny"
    path.mkdir()
    save_model(path / "onnx" / "model.onnx", weights)
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(pad_id=PAD, pad_token="[PAD]", length=12)
    tokenizer.save(str(path / "tokenizer.json"))
    return path


def save_model(path, weights, inputs=("input_ids", "attention_mask", "token_type_ids")):
    """Write a model whose state of a token is its word's vector, moved by the number of tokens of the text."""
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word"]),
        helper.make_node("ReduceSum", ["attention_mask", "axis"], ["count"], keepdims=1),
        helper.make_node("Unsqueeze", ["count", "last"], ["column"]),
        helper.make_node("Cast", ["column"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["number", "move"], ["moved"]),
        helper.make_node("Add", ["word", "moved"], ["last_hidden_state"]),
    ]
    constants = {"words": weights[0], "move": weights[1], "axis": np.array([1]), "last": np.array([2])}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", WIDTH])],
        [numpy_helper.from_array(constant, name) for name, constant in constants.items()],
    )
    path.parent.mkdir(exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def states(weights, text):
    words, move = weights
    ids = [WORDS.index(word) if word in WORDS else 1 for word in text.split()]
    return words[ids].astype(float) + len(ids) * move


def unit(row):
    return pytest.approx(row / np.linalg.norm(row), abs=1e-5)


@pytest.fixture
def use(settings):
    """Return a function that chooses a folder as the local model."""

    def choose(folder):
        settings.EMBEDDINGS, settings.LOCAL_MODEL = "local", str(folder)
        onnx_folder.fingerprint.cache_clear()
        return embedder()

    return choose


def test_a_vector_is_the_mean_of_the_states_of_a_texts_own_tokens(folder, weights, use):
    made = use(folder).embed(TEXTS)
    assert [row.tolist() for row in made] == [unit(states(weights, text).mean(axis=0)) for text in TEXTS]


def test_a_folder_that_pools_by_the_first_token_is_pooled_so(folder, weights, use):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    made = use(folder).embed(TEXTS)
    assert [row.tolist() for row in made] == [unit(states(weights, text)[0]) for text in TEXTS]


def test_texts_of_many_batches_keep_their_order(folder, weights, use, monkeypatch):
    monkeypatch.setattr(onnx_folder, "BATCH_MAX_TOKENS", 8)
    made = use(folder).embed(TEXTS * 3)
    assert [row.tolist() for row in made] == [unit(states(weights, text).mean(axis=0)) for text in TEXTS * 3]


def test_the_model_may_lie_in_the_folder_itself_and_take_fewer_inputs(folder, weights, use):
    (folder / "onnx" / "model.onnx").unlink()
    save_model(folder / "model.onnx", weights, inputs=("input_ids", "attention_mask"))
    assert use(folder).embed_question("boat").tolist() == unit(states(weights, "boat").mean(axis=0))


def test_a_memory_is_searched_with_the_model_of_a_folder(folder, ada, write, search, use):
    use(folder)
    write(ada, "MEMORY.md", "- The kayak is red.\n- The boat is blue.\n")
    vectors.embed_pending()
    assert {len(vector.vector) for vector in TextVector.objects.all()} == {WIDTH}
    assert EmbeddingModel.objects.get().name.startswith("local/tiny-")
    # Its vectors are random, so its order means nothing; but it scores every line.
    found = search(ada, "kayak", min_score=0)
    assert all(passage.vector_score for passage in found)
    assert any("kayak" in passage.snippet for passage in found)


@pytest.mark.parametrize("weights_file", ["model.onnx", "model.onnx_data"])
def test_other_weights_in_a_folder_of_the_same_name_are_another_model(folder, use, weights_file):
    path = folder / "onnx" / weights_file
    path.touch()
    before = use(folder).name
    path.write_bytes(path.read_bytes() + b"\0\0\0\0")
    assert use(folder).name != before


def test_minilm_is_recognised_by_the_name_of_its_folder(folder, use):
    assert use(folder).related is None
    assert use(folder.rename(folder.with_name("all-MiniLM-L6-v2"))).related == 0.55


def test_a_folder_that_holds_no_model_is_named(tmp_path, use):
    with pytest.raises(ImproperlyConfigured, match=r"no model in .*/nothing: ONECLAW_LOCAL_MODEL must name a folder"):
        use(tmp_path / "nothing")


def test_a_folder_with_other_weights_only_says_how_to_export_them(folder, use):
    (folder / "onnx" / "model.onnx").rename(folder / "model.safetensors")
    with pytest.raises(ImproperlyConfigured, match=r"no ONNX file.*pip install \"sentence-transformers\[onnx\]\""):
        use(folder)


@pytest.mark.parametrize("broken", ["onnx/model.onnx", "tokenizer.json"])
def test_a_broken_file_is_named(folder, use, broken):
    (folder / broken).write_text("nothing")
    with pytest.raises(ImproperlyConfigured, match="cannot be read"):
        use(folder).embed(["a"])


def test_a_missing_runtime_names_the_package(folder, use, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, onnx_folder.__name__)
    with pytest.raises(ImproperlyConfigured, match="pip install onnxruntime"):
        use(folder)
