"""Choose the skills that fit a message, by the words and the vector of name and description.

The score of a skill is from 0 to 1: 0.7 times how near its vector is to that of the message, on the scale of the
embedding model, and 0.3 times the share of the message's words that it has (the settings of the search). It does not
depend on the other skills, so that a message that no skill fits gets none.
"""

import datetime as dt
import logging
from collections.abc import Sequence

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from numpy.typing import NDArray

from memory.index.embeddings import Embedder, embedder, near_words
from memory.index.embeddings.failures import EmbeddingError
from memory.search.query import ParsedQuestion
from memory.skills.catalogue import Skill
from memory.text.languages import language_of
from memory.text.terms import terms_of
from oneclaw.spend.calls import Payer
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

# The part of a message that is compared.
MESSAGE_MAX_CHARS = 1_000
# Cosines of unrelated and of related texts, for a model for which they were not measured.
UNRELATED_COSINE, RELATED_COSINE = 0.25, 0.55
# Vectors of descriptions that a process keeps.
KEPT_VECTORS = 2_000


def chosen(skills: Sequence[Skill], message: str, today: dt.date, payer: Payer) -> list[Skill]:
    """Return at most `SEARCH.max_candidate_skills` of `skills` that fit `message`, the best first."""
    text = replace_unstorable(" ".join(message[:MESSAGE_MAX_CHARS].split()))
    if not text or not skills:
        return []
    scores = scores_of([description_of(skill) for skill in skills], text, today, payer)
    return best(skills, scores, settings.SEARCH.max_candidate_skills, settings.SEARCH.floor)


def best(skills: Sequence[Skill], scores: Sequence[float], most: int, floor: float) -> list[Skill]:
    """Return at most `most` of `skills` whose score is at least `floor`, the highest first. Pure."""
    ranked = sorted(range(len(skills)), key=lambda at: (-scores[at], at))
    return [skills[at] for at in ranked[:most] if scores[at] >= floor]


def description_of(skill: Skill) -> str:
    """Return the text of a skill that is compared with a message: the words of its name, and its description."""
    return f"{skill.folder.replace('-', ' ')}: {skill.parsed.description}"


def scores_of(texts: Sequence[str], message: str, today: dt.date, payer: Payer) -> list[float]:
    """Return from 0 to 1 how well each of `texts` fits `message`; by words alone when no embedding model answers."""
    covered = coverages(texts, message, today)
    near = nearnesses(texts, message, payer)
    if near is None:
        return covered
    return [weighted(each_near, each_covered) for each_near, each_covered in zip(near, covered, strict=True)]


def weighted(nearness: float, coverage: float) -> float:
    """Return the score of both by the weights of the settings. Pure but for these."""
    total = settings.SEARCH.vector_weight + settings.SEARCH.text_weight
    return (settings.SEARCH.vector_weight * nearness + settings.SEARCH.text_weight * coverage) / total if total else 0.0


def coverages(texts: Sequence[str], message: str, today: dt.date) -> list[float]:
    """Return for each of `texts` the share of the words of `message` that it has, from 0 to 1."""
    spoken = tuple({language_of(text) for text in texts})
    question = ParsedQuestion.read(message, today, near_words if embedder() else None, spoken)
    concepts = [concept for concept in question.concepts if not concept.is_time and not concept.is_doubtful]
    if not concepts:
        return [0.0] * len(texts)
    found = []
    for text in texts:
        terms = set(terms_of(text, language_of(text)))
        shares = (max((weight for term, weight in each.terms.items() if term in terms), default=0) for each in concepts)
        found.append(sum(shares) / len(concepts))
    return found


def nearnesses(texts: Sequence[str], message: str, payer: Payer) -> list[float] | None:
    """Return for each of `texts` how near its vector is to that of `message`, from 0 to 1; None without a model."""
    try:
        model = embedder()
        if model is None:
            return None
        vectors = _vectors(model, texts, payer)
        asked = model.embed_question(message, payer)
    except (EmbeddingError, ImproperlyConfigured, OSError) as error:
        logger.warning("Skills are chosen by their words alone: %s", error)
        return None
    if asked.shape != vectors.shape[1:]:
        return None
    low = UNRELATED_COSINE if model.unrelated is None else model.unrelated
    high = RELATED_COSINE if model.related is None else model.related
    near: list[float] = np.clip((vectors @ asked - low) / (high - low), 0, 1).tolist()
    return near


# Vectors of descriptions, by the name of their model.
_kept: dict[tuple[str, str], NDArray[np.float32]] = {}


def _vectors(model: Embedder, texts: Sequence[str], payer: Payer) -> NDArray[np.float32]:
    """Return the vectors of `texts` by `model`, which embeds only those that it has not embedded before."""
    known = {text: _kept[model.name, text] for text in texts if (model.name, text) in _kept}
    if missing := [text for text in dict.fromkeys(texts) if text not in known]:
        known |= dict(zip(missing, model.embed(missing, payer), strict=True))
        if len(_kept) + len(missing) > KEPT_VECTORS:
            _kept.clear()
        _kept.update({(model.name, text): known[text] for text in missing})
    if len({len(vector) for vector in known.values()}) > 1:
        # The server has another model under the same name.
        _kept.clear()
        return model.embed(texts, payer)
    return np.array([known[text] for text in texts])
