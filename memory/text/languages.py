"""Detect the language of a text, to choose its stemmer, and list the words that a search ignores."""

import re
from collections import Counter

# The function words of each supported language, by which a text's language is detected.
FUNCTION_WORDS = {
    "english": "a about after all also am an and any are as at be because been before being but by can could did do "
    "does doing for from had has have having he her here hers him his how i i'd i'll i'm i've if in into "
    "is isn't it it's its itself just let let's me my myself of off on once only or other our ours over "
    "own same she should so some such than that that's the their theirs them then there there's these "
    "they they'd they'll they're they've this those through to too under until up very was wasn't we we'd "
    "we'll we're we've were what what's when where which while who whom why will with would you you'd "
    "you'll you're you've your yours",
    "german": "aber als am an auch auf aus bei bin bis bist da das dass dein dem den der des die dies diese dir "
    "doch du durch ein eine einem einen einer er es für hab habe haben hat hatte ich ihr im in ist ja "
    "kann mein mich mir mit nach nicht noch nur oder schon sein sich sie sind so über um und uns vom von "
    "vor war waren was wenn wer wie wir wird wo zu zum zur",
    "french": "ai au aux avec ce ces cette dans de des du elle en est et eu il ils je la le les leur lui ma mais me "
    "mes moi mon ne nous on ou par pas pour qu que qui sa se ses son sur ta te tes toi ton tu un une vos "
    "votre vous à été être",
    "spanish": "al algo como con cuando de del desde donde el ella en entre era es ese esta este esto fue ha hay la "
    "las le les lo los mas me mi mis muy más nada ni no nos o para pero por porque que qué quien se ser "
    "si sin sobre su sus también te tu un una uno unos y ya yo él",
    "italian": "al alla anche che chi ci come con da dal dei del della delle di dove e ed era gli ha ho i il in io "
    "la le lo loro lui ma mi mia mio ne nel nella non o per perché più quando quella questo se si sono su "
    "sua suo tu un una uno è",
    "portuguese": "ao aos as com como da das de dela dele do dos e ela ele em entre era essa esse esta este eu foi há "
    "isso já mais mas me meu minha muito na nas nem no nos não o os ou para pela pelo por quando que quem "
    "se sem ser seu sua são também te tem um uma você à é",
    "dutch": "aan al als bij dan dat de der deze die dit doch door een en er had hij hoe ik in is ja je kan maar "
    "me met mij mijn na naar niet nog nu of om ook op over te tot uit van veel voor want waren was wat we "
    "wel werd wie wij zal ze zich zij zijn zo",
    "swedish": "alla att av blev de dem den denna det dig din du där efter ej eller en ett för från ha hade han hans "
    "har hon här i icke inte jag kan med men mig min mycket ni nu när och om oss på sig sin ska som så "
    "till under upp ut var vi vid än är över",
    "russian": "а без был была были было быть в вам вас во вот все всё вы где да для до его ее если есть еще ещё же "
    "за и из или им их к как ко когда кто ли меня мне мой мы на над не него нет но ну о об он она они от "
    "по под при с со так там то только ты у уже что чтобы эта эти это я",
}
_LANGUAGES_OF_WORD = {
    word: [name for name, words in FUNCTION_WORDS.items() if word in words.split()]
    for words in FUNCTION_WORDS.values()
    for word in words.split()
}
# The Snowball names of the languages; an index stores a language as its position here.
LANGUAGE_NAMES = tuple(FUNCTION_WORDS)
# Words that are not indexed. English only: a function word of one language can be a name in another.
STOP_WORDS = frozenset(FUNCTION_WORDS["english"].split())
_ASKING = {
    "english": "again anything ask bother could curious describe discuss discussed explain find forget forgot give "
    "going help idea know let like list look mention mentioned maybe mind need please question quick quickly recall "
    "remember remind repeat said say settle show something summarise summarize summary talk talked tell thank thanks "
    "thing things think told want wants wonder wondering would",
    "german": "bitte brauche danke einmal erinnere erkläre erklär frage gesagt gesprochen gib möchte muss sag sage "
    "will wissen weißt zeig",
    "french": "dire dis donne merci parlé peux plaît rappelle sais savoir veux voudrais",
    "spanish": "cuéntame dame decir dime favor gracias hablamos puedes quiero recuérdame saber tengo",
    "italian": "dammi dimmi favore grazie parlato puoi ricordami sapere voglio vorrei",
    "portuguese": "dê diga falámos falamos lembra obrigado pode preciso quero",
    "dutch": "alsjeblieft bedankt geef herinner vertel weten wil zeg",
}
# Words that ask, or speak of having spoken, and do not say what about.
ASKING_WORDS = frozenset(word for words in _ASKING.values() for word in words.split())
# Stop words that are mostly names when they are written like this.
STOP_WORDS_ALSO_NAMES = ("Will", "Can", "IT", "WHO")
# The beginning of a text by which its language is detected.
SAMPLE_CHARS = 4000


def language_of(text: str) -> str:
    """Return the Snowball name of the language of `text`; "english" if it has no function words."""
    seen: Counter[str] = Counter()
    for word in re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text[:SAMPLE_CHARS].lower()):
        for language in _LANGUAGES_OF_WORD.get(word, ()):
            seen[language] += 1
    best = max(FUNCTION_WORDS, key=lambda language: seen[language])
    return best if seen[best] > seen["english"] else "english"
