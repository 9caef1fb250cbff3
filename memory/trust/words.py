"""Words that paraphrases change or add: months and numbers as words, words for the person, and words of little content.

In the languages of the pages: English, German, French, Spanish, Japanese, Chinese.
"""

from memory.text.dates import MONTHS
from memory.text.languages import FUNCTION_WORDS
from memory.text.terms import plain


def _words(text: str) -> set[str]:
    return {plain(word) for word in text.split()}


# One line for each number, from two on, and from first on.
_CARDINALS = """
    two zwei deux dos
    three drei trois tres
    four vier quatre cuatro
    five fünf cinq cinco
    six sechs six seis
    seven sieben sept siete
    eight acht huit ocho
    nine neun neuf nueve
    ten zehn dix diez
    eleven elf onze once
    twelve zwölf douze doce
    thirteen dreizehn treize trece
    fourteen vierzehn quatorze catorce
    fifteen fünfzehn quinze quince
    sixteen sechzehn seize dieciséis
    seventeen siebzehn diecisiete
    eighteen achtzehn dieciocho
    nineteen neunzehn diecinueve
    twenty zwanzig vingt veinte
"""
_ORDINALS = """
    first erste ersten erster premier première primero primera
    second zweite zweiten zweiter deuxième segundo
    third dritte dritten dritter troisième tercero
    fourth vierte vierten vierter quatrième cuarto
    fifth fünfte fünften fünfter cinquième quinto
    sixth sechste sechsten sechster sixième sexto
    seventh siebte siebten siebter septième séptimo
    eighth achte achten achter huitième octavo
    ninth neunte neunten neunter neuvième noveno
    tenth zehnte zehnten zehnter dixième décimo
    eleventh elfte elften elfter onzième
    twelfth zwölfte zwölften zwölfter douzième
"""
NUMBER_WORDS = {
    word: number
    for lines, first in ((_CARDINALS, 2), (_ORDINALS, 1))
    for number, line in enumerate(lines.strip().split("\n"), first)
    for word in _words(line)
}
MONTH_WORDS = {plain(name): number for name, number in MONTHS.items()}

_NEGATIONS = """
    not no never don't doesn't didn't isn't wasn't aren't can't cannot couldn't won't without nicht kein keine
    keinen keiner nie niemals ohne ne pas jamais sans nunca jamás sin ni
"""
NEGATIONS = _words(_NEGATIONS)

_PERSON = """
    user users person persons human people's himself herself themselves nutzer nutzers nutzerin benutzer benutzers
    benutzerin person personne utilisateur utilisatrice usuario usuaria persona i'm i've i'd i'll m ve ll re s d l t
    c j n qu y a e o
"""
_SUPPORTED = ("english", "german", "french", "spanish", "italian", "portuguese")
# Words that are in no comparison: function words, elided ones, and words for the person.
IGNORED_WORDS = _words(" ".join(FUNCTION_WORDS[name] for name in _SUPPORTED)) | _words(_PERSON)

# Asking to remember, reporting, and what a paraphrase exchanges.
_LIGHT = """
    please remember save note keep mind memory store forget fact says said say tells told asked asks ask wants want
    wanted decided decides plans plan planning noted mentioned mention shared share currently now also always
    usually bitte merk merke merken speichere speichern notiere notieren notiz denk denke vergiss gesagt sagt fragt
    fragte will möchte jetzt immer aktuell rappelle rappelez retiens retenir note noter enregistre souviens mémorise
    dit veut souhaite maintenant toujours recuerda recuerde guarda guardar anota anotar apunta memoriza dice quiere
    ahora siempre favor plaît like likes liked love loves enjoy enjoys prefer prefers preferred preference
    preferences favourite favorite fond name named names called call live lives living lived reside resides based
    located works work working job has have having had owns own own's got get gets uses use using be being goes go
    going makes make need needs mag mögen mochte liebt liebe lieben gern gerne lieber bevorzugt bevorzuge lieblings
    heißt heiße heissen name wohnt wohne wohnen lebt lebe leben arbeitet arbeite arbeiten hat habe besitzt nutzt
    nutze benutzt braucht aime aimer adore préfère préférer préféré appelle nom habite habiter vit vis vivre
    travaille travailler possède utilise besoin gusta gustan encanta encantan prefiere prefiero favorito favorita
    llama llamo nombre vive vivo vivir trabaja trabajo trabajar tiene tengo tener usa uso necesita
"""
# Words of little content: without them a text still has the same meaning for a comparison.
LIGHT_WORDS = _words(_LIGHT)
# Characters of Japanese and Chinese of little content: pronouns, particles, "remember", "like", "user", "work".
LIGHT_CHARACTERS = frozenset(
    "我你他她它的是在了和有也就都这那个把请記记住得忘保存下来吧呢吗喜欢爱好愛用户戶人"
    "本者私僕俺様方事思言覚置名前叫工作职職业業做岁歳"
)
