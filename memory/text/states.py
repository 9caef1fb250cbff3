"""Find the employer, the profession and the home that a line names, to ask about an older line when a newer one says
otherwise. Pure.

    supersedes("- Works at Südwind", "- Works at Nordwind", year=2025)      # True

A line is understood only when it says so plainly, in one of the languages of the interface: a question too many costs
the person more than one that is not asked.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

JOB, ROLE, HOME = "job", "role", "home"
# A longer line says more than where somebody works or lives.
LINE_MAX_CHARS = 400


@dataclass(frozen=True)
class State:
    """What a line says of `subject` ("": the person): where they work, as what, or where they live.

    With `is_end` this is over; an empty value then means whatever it was. `is_named`: the line names its subject.
    """

    kind: str
    subject: str
    value: str
    is_named: bool = True
    is_end: bool = False


# Words for the person.
_SELF_WORDS = (
    "i we user users ich wir nutzer nutzerin benutzer benutzerin je j nous on utilisateur utilisatrice yo "
    "nosotros usuario usuaria 私 僕 俺 ユーザー ユーザ 我 用户 使用者"
)
_SELF = frozenset(_SELF_WORDS.split())
# What is read over before a verb.
_ADVERBS_WORDS = (
    "now currently recently just finally still already today has have had is am are ve m s re jetzt nun "
    "inzwischen mittlerweile aktuell derzeit neuerdings heute hat habe haben ist bin sind maintenant désormais "
    "actuellement récemment a ai est suis ahora actualmente recientemente ya ha he está estoy se me n ne does do "
    "did"
)
_ADVERBS = frozenset(_ADVERBS_WORDS.split())
_OWNERS_WORDS = "my our the mein meine unser unsere der die das mon ma mes notre nos le la l mi mis nuestro el"
_OWNERS = frozenset(_OWNERS_WORDS.split())
# Pronouns that may mean anybody, and words that make a sentence something else than a plain statement.
_NO_SUBJECTS_WORDS = (
    "he she it they you who that which this there and or but so if when to not never would might could should "
    "will can may must want wants her his their er sie es du ihr ihre sein seine wer und oder aber wenn nicht nie "
    "würde könnte sollte wird kann no longer doesn don didn isn aren wasn mehr il elle ils elles tu vous qui que "
    "et ou mais si pas sa son ses él ella ellos tú usted quien y o pero nunca su sus"
)
_NO_SUBJECTS = frozenset(_NO_SUBJECTS_WORDS.split())
_SUBJECT_MAX_WORDS = 2
_CJK = re.compile(r"[぀-ヿ㐀-鿿]")
_CJK_BEFORE = re.compile(r"(?:は|が|も)?[、,，]?\s{0,3}(?:現在|いま|今|最近|现在|目前|已经|已經|刚刚|刚|就|也)?$")
_CJK_OWNERS = re.compile(r"^(?:私の|僕の|俺の|我的|我们的|我(?=.))")
_CJK_SUBJECT_MAX_CHARS = 8

# What follows the verb, up to the end of the clause; _bare takes the name out of it.
_NAME = r"(?P<value>[^,;:.!?()\[\]–—\n]+)"
_A = r"(?:an?|the|eine?[mnr]?|une?|una?)"
# Japanese and Chinese: up to the particle before the verb.
_JA = r"(?P<value>[^\s、。,，はがのをにで（）()・:：]{1,30})"
_ZH = r"(?P<value>[^\s、。,，（）()了在到从:：]{1,20}?)"

_PRESENT = {
    JOB: (
        rf"\b(?:works?|working|employed)(?:\s+as\s+[^,;.]{{1,40}}?)?\s+(?:at|for|by)\s+{_NAME}",
        rf"\b(?:(?:has|have|got)\s+)?(?:a\s+)?(?:new\s+)?(?:job|"
        rf"position)(?:\s+as\s+[^,;.]{{1,40}}?)?\s+(?:at|with)\s+{_NAME}",
        rf"\b(?:started|begun|began)\s+(?:(?:a|the)?\s*(?:new )?(?:job|"
        rf"work|working|position)\s+)?(?:at|with|for)\s+{_NAME}",
        rf"\b(?:switched|changed|moved)\s+jobs?\s+(?:to|and (?:now )?works? (?:at|for))\s+{_NAME}",
        rf"\barbeite[nt]?(?:\s+(?:jetzt|nun|inzwischen|seit\s+\S+(?:\s+\d{{4}})?|"
        rf"als\s+\S+)){{0,3}}\s+(?:bei|für)\s+{_NAME}",
        rf"\b(?:eine[n]?\s+)?neue[nr]?\s+(?:Stelle|Job|Arbeit)\s+bei\s+{_NAME}",
        rf"\bbei\s+{_NAME}\s+(?:angefangen|angestellt|begonnen)",
        rf"\bzu\s+{_NAME}\s+gewechselt",
        rf"\btravaill(?:e|ons|ent)(?:\s+(?:maintenant|désormais|comme\s+\S+)){{0,2}}\s+(?:chez|pour)\s+{_NAME}",
        rf"\b(?:nouvel emploi|nouveau travail|nouveau poste|commencé|employée?)\s+chez\s+{_NAME}",
        rf"\btrabaj(?:a|o|amos|an)(?:\s+(?:ahora|como\s+\S+)){{0,2}}\s+(?:en|para)\s+{_NAME}",
        rf"\b(?:nuevo (?:trabajo|empleo|puesto)|empezado(?: a trabajar)?|empez[óé](?: a trabajar)?)\s+en\s+{_NAME}",
        rf"{_JA}(?:で(?:働い|勤務し)て(?!いない|いません)|に勤め(?:て(?!いない)|る)|に転職し|に入社し)",
        rf"(?<!正)在{_ZH}(?:工作|上班|任职|就职)",
        rf"(?:跳槽到|入职|换到|加入)了?{_ZH}(?=$|[\s，。,；;了]|工作|上班)",
    ),
    ROLE: (
        rf"\b(?:works?|working)\s+as\s+(?:{_A}\s+)?{_NAME}",
        rf"\barbeite[nt]?\s+(?:jetzt\s+|nun\s+)?als\s+{_NAME}",
        rf"\btravaill(?:e|ons)\s+(?:maintenant\s+)?comme\s+{_NAME}",
        rf"\btrabaj[ao]\s+(?:ahora\s+)?(?:como|de)\s+{_NAME}",
        rf"{_JA}として働いて",
    ),
    HOME: (
        rf"\b(?:lives?|living|resides?)\s+(?:now\s+)?in\s+{_NAME}",
        rf"\b(?:moved|relocated)\s+(?:(?:from\s+[^,;.]{{1,30}}?|house|home|back|away)\s+)?to\s+{_NAME}",
        rf"\b(?:wohn(?:t|e|en)|leb(?:t|e|en))(?:\s+(?:jetzt|nun|inzwischen|"
        rf"seit\s+\S+(?:\s+\d{{4}})?)){{0,2}}\s+in\s+{_NAME}",
        rf"\b(?:von\s+\S+\s+)?nach\s+{_NAME}\s+(?:um)?gezogen",
        rf"\b(?:habit(?:e|ons|ent)|vi(?:t|s|vons))(?:\s+(?:maintenant|désormais))?\s+(?:à|au|aux|en)\s+{_NAME}",
        rf"\b(?:déménagé|installée?)\s+(?:de\s+\S+\s+)?(?:à|au|aux|en)\s+{_NAME}",
        rf"\bviv(?:e|o|imos)(?:\s+ahora)?\s+en\s+{_NAME}",
        rf"\b(?:mud(?:ó|é|ado|amos))(?:\s+de\s+\S+)?\s+a\s+{_NAME}",
        rf"{_JA}(?:に住んで(?!いない|いません)|に住む|在住|[にへ]引っ越し|[にへ]転居)",
        rf"(?:居?住在|现居){_ZH}(?=$|[\s，。,；;])",
        rf"搬(?:家)?[到去]了?{_ZH}(?=$|[\s，。,；;了])",
    ),
}
_LABELS = {
    JOB: "employer|company|arbeitgeber|employeur|empleador|empresa|勤務先|雇主|工作单位",
    ROLE: "job|profession|occupation|job title|beruf|métier|profesión|ocupación|職業|职业",
    HOME: "home|home town|city|address|lives in|wohnort|adresse|domicile|"
    "ville|domicilio|dirección|ciudad|住所|住址|居住地",
}
# What is over. A value is optional where the line says enough without it.
_AT = rf"(?:\s+(?:at|for|from|with|bei|chez|en|de)\s+{_NAME})?"
_ENDS = {
    JOB: (
        rf"\b(?:no longer|not|n['’]t)\s+(?:work(?:s|ing)?|employed)(?:\s+(?:at|for)\s+{_NAME})?",
        rf"\b(?:quit|left|lost|resigned from|gave up)\s+(?:(?:my|her|his|"
        rf"their|the|a)\s+)?(?:old\s+|previous\s+)?(?:job|position){_AT}",
        rf"\b(?:was|were|been|got)\s+(?:laid off|fired|made redundant){_AT}",
        rf"\b(?:has |have )?retired\b{_AT}",
        rf"\barbeite[nt]?\s+nicht\s+mehr(?:\s+(?:bei|für)\s+{_NAME})?",
        rf"\b(?:bei\s+{_NAME}\s+)?gekündigt\b",
        r"\b(?:entlassen worden|wurde entlassen|in Rente|pensioniert)\b(?P<value>)",
        rf"\btravaill(?:e|ons)\s+plus(?:\s+(?:chez|pour)\s+{_NAME})?",
        rf"\bquitté\s+(?:son|sa|mon|ma|le|la)\s*(?:emploi|travail|poste|job){_AT}",
        r"\b(?:démissionné|licenciée?|à la retraite)\b(?P<value>)",
        rf"\bya no trabaj[ao](?:\s+(?:en|para)\s+{_NAME})?",
        rf"\b(?:dej[óé]|dejado)\s+(?:su|mi|el)\s+(?:trabajo|empleo|puesto){_AT}",
        r"\b(?:despedid[oa]|jubilad[oa]|jubil[óé])\b(?P<value>)",
        rf"(?:{_JA}を)?(?:退職し|辞め)",
        rf"(?:不再|没有再?|已不)在{_ZH}(?:工作|上班|任职)",
        rf"从{_ZH}(?:离职|辞职|退休)",
        r"(?:离职|辞职|退休)了?(?P<value>)",
    ),
    HOME: (
        rf"\b(?:no longer|not|n['’]t)\s+liv(?:e|es|ing)\s+in\s+{_NAME}",
        rf"\bmoved\s+(?:out of|away from|from)\s+{_NAME}",
        rf"\b(?:wohn|leb)(?:t|e|en)\s+nicht\s+mehr\s+in\s+{_NAME}",
        rf"\baus\s+{_NAME}\s+(?:weg|aus)gezogen",
        rf"\b(?:habite|vi[ts])\s+plus\s+(?:à|au|aux|en)\s+{_NAME}",
        rf"\bya no viv[eo]\s+en\s+{_NAME}",
        rf"{_JA}(?:に(?:は)?もう住んでいない|から引っ越し)",
        rf"(?:不再|已不)住在{_ZH}(?=$|[\s，。,；;])",
    ),
}
# The rest of the sentence after a name.
_TAIL = re.compile(
    r"\s+(?:and|to|as|since|for|with|in|on|from|because|where|who|"
    r"now|again|every|und|als|seit|mit|in|am|wo|weil|jetzt|et|comme|"
    r"depuis|avec|où|dans|y|como|desde|con|donde|gracias|last|next|"
    r"this|yesterday|today|recently|anymore|any more)\b.*$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(rf"^\s*(?:(?:the|la|le|les|los|las|el|der|dem|den|die|das|{_A})\s+|l['’])", re.IGNORECASE)
_INDEFINITE = re.compile(r"^\s*(?:an?|eine?[mnr]?|une?|una?)\s", re.IGNORECASE)
# Words with a capital letter in German, or anywhere, that name no employer and no town.
_NO_NAMES = re.compile(
    r"(?:Nähe|Haus|Hause|Wohnung|Stadt|Innenstadt|Dorf|WG|Home|Nacht|"
    r"Zeit|Teilzeit|Vollzeit|Homeoffice|Monday|Tuesday|"
    r"Wednesday|Thursday|Friday|Saturday|Sunday|I|It)\b|家|自宅|夜"
)
_SENTENCE = re.compile(r"(?<=[.!?。！？;；])\s*")
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+|\*\*|__|`")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W_]+")
# Words that make a statement a wish, a doubt or a thing of the past, wherever they are in the sentence.
_DOUBT = re.compile(
    r"\?|？|\b(?:used to|formerly|previously|until|if|would|might|"
    r"could|will|going to|plans?|planning|wants?|wanted|hopes?|"
    r"dreams?|wish(?:es)?|applied|applying|interview\w*|maybe|perhaps|"
    r"almost|thinking|considering|also|additionally|second|"
    r"part[- ]time|früher|ehemals|bis|falls|wenn|würde|möchte|plant|"
    r"hofft|vielleicht|bewirbt|beworben|auch|zusätzlich|nebenbei|"
    r"avant|autrefois|jusqu|aimerait|voudrait|veut|espère|peut-être|"
    r"aussi|antes|hasta|quiere|quisiera|espera|quizás?|también|"
    r"además)\b|以前|かもしれ|たい|予定|つもり|副業|も働|曾|以前|想|打算|计划|可能|如果|兼职|也在",
    re.IGNORECASE,
)
# A region of another size says nothing: who lives in Bern lives in Switzerland.
_COUNTRIES_WORDS = (
    "germany deutschland allemagne alemania switzerland schweiz suisse suiza austria österreich autriche france "
    "frankreich francia spain spanien espagne españa italy italien italie italia portugal england uk britain "
    "grossbritannien großbritannien angleterre inglaterra scotland ireland irland irlande netherlands niederlande "
    "belgium belgien belgique denmark dänemark sweden schweden suède suecia norway norwegen finland finnland "
    "poland polen usa us america amerika canada kanada mexico mexiko argentina brazil brasilien china japan japon "
    "japón korea india indien australia australien europe europa asia africa 日本 中国 韩国 韓国 美国 アメリカ "
    "德国 ドイツ 法国 フランス 英国 イギリス スイス 瑞士"
)
_COUNTRIES = frozenset(_COUNTRIES_WORDS.split())


def supersedes(newer: str, older: str, year: int, names: Collection[str] = ()) -> bool:
    """Return whether the line `newer` says that what `older`, written in `year`, says is no longer so.

    `names` are those by which lines call the person.
    """
    return is_present(newer, year) and contradict(states_in(newer, names), states_in(older, names))


def is_present(line: str, year: int) -> bool:
    """Return whether `line` does not speak of a time before `year`, because it names an earlier one."""
    return all(int(named) >= year for named in _YEAR.findall(line))


def contradict(newer: Iterable[State], older: Iterable[State]) -> bool:
    """Return whether one of the states `newer` ends or replaces one of `older`."""
    known = [state for state in older if not state.is_end]
    return any(_ends(fresh, state) for fresh in newer for state in known)


def states_in(line: str, names: Collection[str] = ()) -> list[State]:
    """Return what `line` says of employers, professions and homes, in its order."""
    # With one space between words: the patterns would take long over many.
    text = " ".join(_MARK.sub("", line).split())
    if len(text) > LINE_MAX_CHARS or not _hint().search(text):
        return []
    own = frozenset(word.lower() for name in names for word in _WORD.findall(name))
    found: list[State] = []
    for sentence in _SENTENCE.split(text):
        if sentence and not _DOUBT.search(sentence):
            found += [*_ended(sentence, own), *_present(sentence, own)]
    return found


def _present(sentence: str, own: frozenset[str]) -> Iterator[State]:
    for kind, label in _LABELS.items():
        match = re.match(rf"(?:{label})\s*[:：]\s*(?P<value>\S.*)$", sentence, re.IGNORECASE)
        if match:
            yield State(kind, "", bare(match["value"]), is_named=False)
            return
    for kind, patterns in _compiled(False).items():
        yield from _matched(kind, patterns, sentence, own, is_end=False)


def _ended(sentence: str, own: frozenset[str]) -> Iterator[State]:
    for kind, patterns in _compiled(True).items():
        yield from _matched(kind, patterns, sentence, own, is_end=True)


def _matched(
    kind: str, patterns: Collection[re.Pattern[str]], sentence: str, own: frozenset[str], *, is_end: bool
) -> Iterator[State]:
    for pattern in patterns:
        match = pattern.search(sentence)
        if match is None:
            continue
        subject = _subject(sentence[: match.start()], own)
        value = match["value"] or ""
        if subject is not None and (is_end or kind == ROLE or _is_name(value, kind)):
            yield State(kind, subject[0], bare(value), subject[1], is_end)
            return


def _is_name(value: str, kind: str) -> bool:
    """Return whether `value` begins with the name of an employer or a place: not with a plain word."""
    article = _ARTICLE.match(value)
    if article and (kind == HOME or _INDEFINITE.match(value)) and value[0].islower():
        return False
    rest = value[article.end() :] if article and value[0].islower() else value
    first = rest.lstrip("“\"«„'‘")[:1]
    return first.isalpha() and not first.islower() and not _NO_NAMES.match(rest)


def _subject(before: str, own: frozenset[str]) -> tuple[str, bool] | None:
    """Return whom the words `before` the verb name ("": the person), and whether they name anybody; None when it is
    not plain who that is."""
    if _CJK.search(before):
        # Of 私は東京の…で, what is before は; a sentence without it may begin with a part of the name: 東京の….
        topic, mark, _ = before.partition("は")
        named = topic if mark else "" if before.endswith("の") else before
        name = _CJK_BEFORE.sub("", named.strip()).strip().lower()
        if name in _SELF or name in own:
            return "", True
        name = _CJK_OWNERS.sub("", name)
        return (name, bool(name)) if len(name) <= _CJK_SUBJECT_MAX_CHARS and not re.search("不|没|ない", name) else None
    words = [word.lower() for word in _WORD.findall(before)]
    if any(word in _NO_SUBJECTS for word in words):
        return None
    words = [word for word in words if word not in _ADVERBS]
    rest = [word for word in words if word not in own and word not in _OWNERS]
    if not rest or (len(rest) == 1 and rest[0] in _SELF):
        return "", bool(words)
    if len(rest) > _SUBJECT_MAX_WORDS or any(word in _SELF for word in rest):
        return None
    return " ".join(rest), True


def bare(value: str) -> str:
    """Return the name in `value` as it is compared: without what follows it, articles, case and accents."""
    value = _ARTICLE.sub("", _TAIL.sub("", value.strip()))
    plain = unicodedata.normalize("NFKD", value.casefold())
    kept = "".join(char for char in plain if not unicodedata.combining(char) or char > "\u3000")
    return " ".join(_WORD.findall(unicodedata.normalize("NFC", kept)))


def _ends(fresh: State, known: State) -> bool:
    """Return whether `fresh` says that `known` is over."""
    if fresh.kind != known.kind and not (fresh.is_end and not fresh.value and {fresh.kind, known.kind} == {JOB, ROLE}):
        return False
    if fresh.subject != known.subject:
        return False
    is_same = fresh.value in known.value or known.value in fresh.value
    if fresh.is_end:
        return is_same
    sizes = [value in _COUNTRIES for value in (fresh.value, known.value)]
    return not is_same and (fresh.kind != HOME or sizes[0] == sizes[1])


@cache
def _compiled(ended: bool) -> dict[str, list[re.Pattern[str]]]:
    patterns = _ENDS if ended else _PRESENT
    return {kind: [re.compile(each, re.IGNORECASE) for each in patterns[kind]] for kind in patterns}


@cache
def _hint() -> re.Pattern[str]:
    """Return a pattern that every line with a state has, to leave the others out quickly."""
    labels = "|".join(label for labels in _LABELS.values() for label in labels.split("|"))
    return re.compile(
        r"work|employ|\bjob|start|beg[au]n|switch|chang|mov|reloc|liv|"
        r"resid|quit|left|lost|resign|laid|fired|redundant|retire"
        r"|position|arbeit|stelle|gewechselt|gezogen|wohn|leb|kündig|entlass|rente|pension|angef|angest|begonn"
        r"|travail|emploi|poste|commenc|habit|\bvi[tsv]|déménag|install|quitt|démission|licenci|retraite"
        r"|trabaj|empez|emple|viv|mud|dej|desped|jubil"
        r"|働|勤|転職|入社|住|引っ越|転居|退職|辞め|工作|上班|任职|就职|跳槽|入职|换到|加入|搬|离职|辞职|退休|居"
        rf"|^(?:{labels})",
        re.IGNORECASE,
    )
