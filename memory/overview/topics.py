"""Choose the topic of an entry without a model call: by words that name a topic, else by the nearest local vectors."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from memory.index.embeddings.local import WordVectors
from memory.models import Topic

# The beginnings of words that name a topic, in the languages of the interface.
WORDS = {
    Topic.DATES: (
        "birthday anniversar geburtstag jahrestag hochzeitstag anniversaire cumpleaños aniversario 誕生日 "
        "記念日 生日 纪念日"
    ),
    Topic.HEALTH: (
        "allerg doctor dentist medic medicin diabet asthma vegetarian vegan intoleran arzt ärztin zahnarzt "
        "krank medikament médecin dentiste maladie médicament santé médico médica enferm salud アレルギー "
        "医者 病院 薬 过敏 医生 医院"
    ),
    Topic.PEOPLE: (
        "sister brother mother father mum mom dad wife husband partner daughter son friend cousin aunt uncle "
        "niece nephew grandmother grandfather neighbour neighbor schwester bruder mutter vater frau mann "
        "tochter sohn freund freundin tante onkel sœur soeur frère mère père femme mari fille fils ami amie "
        "hermana hermano madre padre esposa marido hija hijo amigo amiga 妹 姉 兄 弟 母 父 妻 夫 娘 息子 "
        "友人 友達 姐姐 妹妹 哥哥 弟弟 妈妈 爸爸 妻子 丈夫 女儿 儿子 朋友"
    ),
    Topic.WORK: (
        "work works job boss colleague project deadline client customer team office company meeting salary "
        "server database repo deployment arbeit arbeitet beruf chef kolleg projekt kunde firma büro travail "
        "travaille métier collègue projet client entreprise bureau trabaj empleo jefe colega proyecto "
        "cliente empresa oficina 仕事 会社 職場 同僚 上司 工作 公司 同事 项目"
    ),
    Topic.PREFERENCES: (
        "prefer likes like loves love hates hate dislike favourite favorite enjoys enjoy mag liebt hasst "
        "bevorzug lieblings préfère aime adore déteste préféré prefiere gusta encanta odia favorit 好き 嫌い "
        "喜欢 讨厌 最爱"
    ),
    Topic.PLANS: (
        "plan plans wants want going will intends intend hopes hope booked trip möchte plant will reise "
        "gebucht vorhat veut voyage prévoit réserv quiere planea viaje reserv 予定 計画 旅行 计划 打算"
    ),
    Topic.HOME: (
        "house flat apartment home garden kitchen cottage lives live moved rent cat cats dog dogs pet key alarm wifi "
        "haus wohnung garten küche wohnt katze hund maison appartement jardin cuisine habite chat chien casa "
        "piso jardín cocina vive gato perro 家 住ん 庭 猫 犬 房子 公寓 住在 花园"
    ),
}
# Sentences whose vectors stand for a topic; the local vectors know English best.
EXAMPLES = {
    Topic.PEOPLE: "my sister and her family; the name of his wife; her children; an old friend from school",
    Topic.WORK: "her job at the company; the project deadline; a meeting with the client; the code runs on the server",
    Topic.HOME: "the house and the garden; the flat on the third floor; the cat and the dog; where the key lies",
    Topic.HEALTH: "allergic to nuts; an appointment with the doctor; takes medicine; slept badly; exercise and diet",
    Topic.PREFERENCES: "likes green tea; prefers short answers; favourite music; hates onions",
    Topic.PLANS: "wants to travel in summer; is going to learn Spanish; plans to buy a bicycle",
    Topic.DATES: "birthday on the third of May; wedding anniversary; the lease ends on 1 June",
}
# The cosine below which an entry belongs to no topic. Chosen on 70 invented lines in six languages
# (tests/memory/overview/test_topics.py).
TOPIC_MIN_SCORE = 0.3
# Words of at least this length count as beginnings of words, shorter ones as whole words.
STEM_MIN_CHARS = 5
# What of an entry is read for its topic.
READ_MAX_CHARS = 4_000
WORD = re.compile(r"\w+")
# Longer words are not cached, so that thousands of cached words stay small.
CACHED_WORD_MAX_CHARS = 64


def topics_of(entries: Sequence[tuple[str, str]]) -> list[Topic]:
    """Return the topic of each entry, given as (heading, text)."""
    found = [_by_words(f"{heading} {text}") for heading, text in entries]
    rest = [number for number, topic in enumerate(found) if topic is None]
    if rest:
        topics, centres = _centres()
        cosines = WordVectors().embed([entries[number][1] for number in rest]) @ centres.T
        for number, row in zip(rest, cosines, strict=True):
            best = int(row.argmax())
            found[number] = topics[best] if row[best] >= TOPIC_MIN_SCORE else Topic.OTHER
    return [topic or Topic.OTHER for topic in found]


def _by_words(text: str) -> Topic | None:
    """Return the first topic in the order of WORDS that `text` names; None without one."""
    text = text[:READ_MAX_CHARS].lower()
    named = set(map(_rank_of, WORD.findall(text)))
    if not text.isascii():
        pattern, ranks = _unspaced()
        named |= {ranks[word] for word in pattern.findall(text)}
    rank = min(named, default=len(WORDS))
    return list(WORDS)[rank] if rank < len(WORDS) else None


def _rank_of(word: str) -> int:
    """Return the position in WORDS of the first topic that `word` names; the number of topics when it names none."""
    return (_cached_rank_of if len(word) <= CACHED_WORD_MAX_CHARS else _cached_rank_of.__wrapped__)(word)


@lru_cache(maxsize=16_384)
def _cached_rank_of(word: str) -> int:
    whole, beginnings, longest = _spaced()
    ranks = [beginnings.get(word[:length]) for length in range(STEM_MIN_CHARS, min(len(word), longest) + 1)]
    return min((rank for rank in [whole.get(word), *ranks] if rank is not None), default=len(WORDS))


@cache
def _spaced() -> tuple[dict[str, int], dict[str, int], int]:
    """Return the positions in WORDS by whole words and by beginnings of words, and the length of the longest."""
    ranks = {word: rank for word, rank in _ranks() if not _is_unspaced(word)}
    beginnings = {word: rank for word, rank in ranks.items() if len(word) >= STEM_MIN_CHARS}
    return {word: ranks[word] for word in ranks.keys() - beginnings}, beginnings, max(map(len, beginnings))


@cache
def _unspaced() -> tuple[re.Pattern[str], dict[str, int]]:
    """Return an expression that finds the words of scripts without spaces anywhere, and their positions in WORDS."""
    ranks = {word: rank for word, rank in _ranks() if _is_unspaced(word)}
    # Longer ones first, because the expression takes the first that matches.
    return re.compile("|".join(sorted(map(re.escape, ranks), key=len, reverse=True))), ranks


def _ranks() -> Iterator[tuple[str, int]]:
    """Yield each word with the position of its topic, those of the first topic last, so that a dict keeps that."""
    for rank, words in reversed(list(enumerate(WORDS.values()))):
        for word in words.split():
            yield word, rank


def _is_unspaced(word: str) -> bool:
    """Return whether `word` is of a script without spaces between words."""
    return all(char >= "⺀" for char in word)


@cache
def _centres() -> tuple[list[Topic], NDArray[np.float32]]:
    """Return the topics, and for each the mean of the vectors of its examples, of length 1."""
    model, topics = WordVectors(), list(EXAMPLES)
    rows = np.stack([model.embed(EXAMPLES[topic].split("; ")).mean(axis=0) for topic in topics])
    return topics, rows / np.linalg.norm(rows, axis=1, keepdims=True)
