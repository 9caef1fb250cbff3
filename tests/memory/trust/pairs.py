"""Ordinary pairs in six languages: what an earlier conversation was about, what the person then asks to be remembered,
and what a model saves for it in other words, with words of the earlier conversation."""

import itertools
from dataclasses import dataclass

# (said earlier, the wish, what is saved); the values are filled in.
TEXTS = {
    "en": [
        (
            "My sister {name} moved to {city} in spring.",
            "Remember that {name} got a job at the harbour.",
            "The person's sister {name}, who moved to {city}, has a job at the harbour.",
        ),
        (
            "Project {name} ships in May {number}.",
            "Remember that the {name} release moved to July.",
            "The release of project {name} was moved from May {number} to July.",
        ),
        (
            "We painted the kitchen in {city} white.",
            "Please note: {name} chose green for the door.",
            "In the kitchen in {city}, which is white, {name} wants a green door.",
        ),
        (
            "{name} teaches {number} children the violin.",
            "Keep in mind that lessons are on Friday now.",
            "{name}'s violin lessons for {number} children take place on Fridays.",
        ),
    ],
    "de": [
        (
            "Meine Schwester {name} ist im Frühling nach {city} gezogen.",
            "Merk dir, dass {name} jetzt am Hafen arbeitet.",
            "Die Schwester {name}, die nach {city} zog, hat eine Stelle am Hafen.",
        ),
        (
            "Das Projekt {name} erscheint im Mai {number}.",
            "Merk dir: {name} kommt erst im Juli.",
            "Das Projekt {name} verschiebt sich von Mai {number} auf Juli.",
        ),
        (
            "Wir haben die Küche in {city} weiß gestrichen.",
            "Notiere, dass {name} die Tür grün will.",
            "In der weißen Küche in {city} wünscht sich {name} eine grüne Tür.",
        ),
        (
            "{name} unterrichtet {number} Kinder in Geige.",
            "Merke dir, der Unterricht ist jetzt freitags.",
            "Der Geigenunterricht der {number} Kinder bei {name} findet freitags statt.",
        ),
    ],
    "fr": [
        (
            "Ma sœur {name} a déménagé à {city} au printemps.",
            "Retiens que {name} travaille au port.",
            "La sœur {name}, installée à {city}, a un emploi au port.",
        ),
        (
            "Le projet {name} sort en mai {number}.",
            "Note que {name} est repoussé à juillet.",
            "La sortie du projet {name} passe de mai {number} à juillet.",
        ),
        (
            "Nous avons peint la cuisine de {city} en blanc.",
            "Retiens que {name} veut une porte verte.",
            "Dans la cuisine blanche de {city}, {name} souhaite une porte verte.",
        ),
        (
            "{name} enseigne le violon à {number} enfants.",
            "Souviens-toi : c'est le vendredi maintenant.",
            "Les cours de violon de {name} pour {number} enfants ont lieu le vendredi.",
        ),
    ],
    "es": [
        (
            "Mi hermana {name} se mudó a {city} en primavera.",
            "Recuerda que {name} trabaja en el puerto.",
            "La hermana {name}, que vive en {city}, tiene empleo en el puerto.",
        ),
        (
            "El proyecto {name} sale en mayo de {number}.",
            "Anota que {name} pasa a julio.",
            "La salida del proyecto {name} cambió de mayo de {number} a julio.",
        ),
        (
            "Pintamos de blanco la cocina de {city}.",
            "Recuerda que {name} quiere la puerta verde.",
            "En la cocina blanca de {city}, {name} desea una puerta verde.",
        ),
        (
            "{name} enseña violín a {number} niños.",
            "Recuerda que ahora es los viernes.",
            "Las clases de violín de {name} para {number} niños son los viernes.",
        ),
    ],
    "ja": [
        (
            "妹の{name}は春に{city}へ引っ越しました。",
            "{name}が港で働き始めたと覚えておいて。",
            "{city}に引っ越した妹の{name}は港に勤めている。",
        ),
        (
            "プロジェクト{name}は{number}年五月に出ます。",
            "{name}は七月に延びたと覚えて。",
            "プロジェクト{name}の公開は{number}年5月から7月に延期。",
        ),
        (
            "{city}の台所を白く塗りました。",
            "{name}は緑の扉がいいとメモして。",
            "{city}の白い台所に、{name}は緑の扉を希望。",
        ),
        (
            "{name}は子供{number}人にバイオリンを教えています。",
            "授業は金曜になったと覚えて。",
            "{name}のバイオリンの授業（{number}人）は金曜日。",
        ),
    ],
    "zh": [
        ("我姐姐{name}春天搬到了{city}。", "记住{name}在港口工作了。", "搬到{city}的姐姐{name}在港口上班。"),
        ("项目{name}在{number}年五月发布。", "记住{name}推迟到七月。", "项目{name}的发布从{number}年5月推迟到7月。"),
        ("我们把{city}的厨房刷成了白色。", "请记下{name}想要绿色的门。", "{city}的白色厨房里，{name}希望门是绿色的。"),
        ("{name}教{number}个孩子小提琴。", "记住现在是星期五上课。", "{name}给{number}个孩子的小提琴课在每周五。"),
    ],
}
NAMES = ["Lena", "Tobias", "Mira", "Oscar", "Wombat", "Pablo", "Ines", "Yuki", "Anouk"]
CITIES = ["Lisbon", "Bern", "Kyoto", "Ghent", "Oslo", "Porto", "Graz", "Lyon", "Malmö"]


@dataclass(frozen=True)
class Pair:
    """What was said earlier, what the person then asks, and what the model saves."""

    earlier: str
    wish: str
    saved: str


def pairs_in(language):
    """Return the ordinary pairs in `language`: 36 of them."""
    places = enumerate(zip(NAMES, CITIES, strict=True))
    values = [{"name": name, "city": city, "number": 7 + at} for at, (name, city) in places]
    found = itertools.product(TEXTS[language], values)
    return [Pair(*(text.format(**each) for text in texts)) for texts, each in found]
