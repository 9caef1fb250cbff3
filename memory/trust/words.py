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
    benutzerin person personne utilisateur utilisatrice usuario usuaria persona i'm i've i'd i'll ユーザー
"""
_SUPPORTED = ("english", "german", "french", "spanish", "italian", "portuguese")
# What a line of memory adds to words without saying more: asking to remember, reporting, having and naming.
_REPORTING = """
    please remember save note keep mind memory store fact says said say tells told asked asks ask noted mentioned
    currently now also has have having had owns own own's named name names called being bitte merk merke merken
    speichere speichern notiere notieren notiz denk denke vergiss gesagt sagt fragt fragte jetzt aktuell hat habe haben
    besitzt heißt heiße heissen namens rappelle rappelez retiens retenir note noter enregistre souviens mémorise dit
    maintenant possède appelle appeler nom nommé nommée recuerda recuerde guarda guardar anota anotar apunta memoriza
    dice ahora favor plaît
    tiene tengo llama llamo llamado llamada nombre
"""
_SINGLE_LETTERS = set("abcdefghijklmnopqrstuvwxyz") - set("aeioy")
# Words that are in no comparison: function words, those of reports, and words for the person.
IGNORED_WORDS = (
    _words(" ".join(FUNCTION_WORDS[name] for name in _SUPPORTED)) | _words(_PERSON) | _words(_REPORTING)
) - _SINGLE_LETTERS
# Words that a paraphrase exchanges, one meaning a line.
_SYNONYMS = """
    like likes liked love loves enjoy enjoys prefer prefers preferred preference preferences favourite favorite fond \
        mag mögen mochte liebt liebe lieben gern gerne lieber bevorzugt bevorzuge lieblings aime aimer adore préfère \
        préférer préféré gusta gustan encanta encantan prefiere prefiero favorito favorita stand supporte soporto
    want wants wanted wish wishes will möchte veut souhaite quiere quiero
    live lives living lived reside resides based located move moves moved wohnt wohne wohnen lebt lebe leben ziehe \
        zieht zog gezogen umgezogen habite habiter vit vis vivre déménage déménagé vive vivo vivir mudo mudé mudó
    work works working worked job arbeitet arbeite arbeiten travaille travailler trabaja trabajo trabajar
    use uses using nutzt nutze benutzt utilise usa uso
    need needs braucht brauche besoin necesita necesito
    always usually immer toujours siempre
    decide decides decided plan plans planned planning
"""
SYNONYMS = {word: line.split()[0] for line in _SYNONYMS.strip().split("\n") for word in _words(line)}
# Characters of Japanese and Chinese that a paraphrase exchanges.
SYNONYMOUS_CHARACTERS = {
    char: meaning
    for meaning, chars in {"live": "住居搬在", "work": "働勤務工作职職业業做", "want": "想希望"}.items()
    for char in chars
}
# Characters of Japanese and Chinese that add nothing: pronouns, particles, "remember", "user".
IGNORED_CHARACTERS = frozenset(
    "我你他她它的是了和一只匹岁歳有也就都这那个把请记住得忘保存下来吧呢吗用户戶人本者私僕俺様方事思言覚置名前叫"
)
