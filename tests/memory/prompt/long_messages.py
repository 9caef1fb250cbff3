"""First messages as people type them: 130 to 150 characters, a wish without a question mark, over a log of 30 lines.

Each message says which line it is about, by its number in LINES or by a word in the line; UNRELATED is about nothing in
any of the logs, although it shares everyday words with them.
"""

ENGLISH_LINES = """
Grandma Ottilie lives in Lindenweg 12 in Freising since her hip operation.
My sister Clara moved to Lisbon and works in a bakery there.
The dishwasher was repaired by Mr. Novak from Elektro Brandt for 140 euros.
Tom is allergic to hazelnuts and carries an emergency pen.
The ferry to Naxos is booked for 14 June at 07:25 from Piraeus.
Our accountant Mrs. Lehmann needs the receipts by the tenth of each month.
The boat is moored at pier 7 in Überlingen until October.
I promised Jonas to lend him the tent for the scout camp.
The password hints for the router are in the red notebook in the hall.
My back hurts after long drives, and the physiotherapist Imke advised breaks every hour.
Nina's recital is in the music school, she plays the cello sonata by Brahms.
The tenants on the third floor complained about the noise of the heat pump.
The project Wombat ships in July instead of May.
I prefer window seats on trains and quiet compartments.
The vet said that our cat Miso should lose a kilo and eat less dry food.
We decided to paint the nursery in sage green.
My driving licence expires in March and must be exchanged at the town hall.
Uncle Beat collects stamps from Iceland and has his birthday on 3 May.
The garden club swaps seedlings on the last Saturday of April.
The book club reads Pachinko this winter and meets at Ruth's place.
My new glasses are from the optician Keller, with progressive lenses.
The roof was insulated with wood fibre in 2021 by the carpenter Huber.
Marta from work is vegan and does not drink alcohol.
The spare key of the cottage is with our neighbour Frieda.
For migraine the neurologist prescribed Rizatriptan, ten milligrams.
The bicycle has a size 54 frame and a squeaking bottom bracket.
My boss Petra wants the quarterly report as one page with three charts.
The plum cake recipe of Aunt Rosa needs buttermilk and a pinch of cardamom.
The running shoes from Brooks in 43 caused blisters, so I sent them back.
Our honeymoon was in Valparaíso, in a small hotel on Cerro Alegre.
""".strip().splitlines()

# The number of the line, and the message.
ENGLISH = [
    (
        0,
        "I am planning next weekend and would like to visit grandma Ottilie with the children, remind me "
        "where she lives so that I can look up the trains",
    ),
    (
        4,
        "We are packing for the summer holidays at last and everybody is nervous about the ferry to Naxos, "
        "please tell me when exactly it leaves from Piraeus",
    ),
    (
        3,
        "I am baking for the party on Saturday and Tom will be there with his parents, so tell me which nuts "
        "I should leave out of the cake this time",
    ),
    (
        23,
        "We are standing in front of the cottage in the rain and nobody has thought of the key, I need to "
        "know which neighbour keeps the spare one for us",
    ),
    (
        6,
        "A friend wants to go sailing with me at the lake tomorrow morning and I have to tell him at which "
        "pier the boat lies this year, before he drives off",
    ),
    (
        14,
        "Today I am going to the pet shop after work and want to buy the right food for Miso, so summarise "
        "for me what the vet advised us at the last visit",
    ),
    (
        26,
        "I finally have an hour to sit down and prepare the quarterly report for Petra, remind me how she "
        "would like to have it this time, before I start",
    ),
    (
        2,
        "The dishwasher is making that horrible noise again this evening and I want to call the man who "
        "repaired it last time, give me his name and company",
    ),
    (
        27,
        "There are far too many plums in the kitchen after the weekend in the garden, and I feel like making "
        "the cake of Aunt Rosa, list what goes into it",
    ),
    (
        12,
        "I am writing to the customers this morning about our plans for the year and need the date on which "
        "Wombat will now be shipped, after the change",
    ),
    (
        24,
        "My head has been hurting since noon and I am on the way to the pharmacy now, tell me what the "
        "neurologist prescribed for the migraine and how much",
    ),
    (
        29,
        "We want to celebrate our anniversary this year with something from the old days, so please describe "
        "once more where we were on our honeymoon then",
    ),
    (
        1,
        "I would like to write a long letter to Clara this evening and catch up on everything, so tell me "
        "again what she is doing in Lisbon these days",
    ),
    (
        5,
        "I am sorting the papers on my desk and it is already the eighth, so remind me until which day Mrs. "
        "Lehmann has to have the receipts from me",
    ),
    (
        7,
        "The scouts are leaving for their camp on Friday and I have the feeling that I promised Jonas "
        "something for it, help me to remember what it was",
    ),
    (
        8,
        "The internet has been down since the storm last night and I have to get into the router, so tell me "
        "where I wrote down the hints for its password",
    ),
    (
        9,
        "I have to drive to Hamburg on Monday, which takes seven hours in the car, and want to spare my back,"
        " repeat what the physiotherapist recommended",
    ),
    (
        10,
        "The grandparents want to come to the recital and asked me which piece Nina is going to play there, I"
        " would like to answer them before tonight",
    ),
    (
        11,
        "I am meeting the property management tomorrow about the heat pump in our house, give me a summary of"
        " what the tenants complained about, please",
    ),
    (
        13,
        "Please help me to book the train to Vienna for the conference, and do pick the kind of seat and "
        "compartment that I usually prefer for such trips",
    ),
    (
        15,
        "I am in the hardware store right now to buy the paint for the nursery and cannot remember the colour"
        " we decided on, tell me quickly what it was",
    ),
    (
        16,
        "I want to put all the appointments for the coming year into my calendar, and I need to know by when "
        "my driving licence has to be exchanged",
    ),
    (
        17,
        "I found a box of old letters with beautiful stamps at the flea market and thought of Uncle Beat, "
        "tell me which country he collects them from",
    ),
    (
        18,
        "The tomato seedlings on the window sill are growing like mad and I have far too many of them, tell "
        "me when the garden club swaps them this year",
    ),
    (
        19,
        "I have a free evening and would like to start with the novel for the book club, please tell me its "
        "title and at whose place we are meeting then",
    ),
    (
        20,
        "One of the screws of my glasses came loose on the way to work this morning, tell me which optician I"
        " have them from so that I can go there",
    ),
    (
        21,
        "The energy adviser is coming on Thursday and wants to know everything about the house, tell me with "
        "what the roof was insulated and by whom",
    ),
    (
        22,
        "I am inviting my colleagues from work to dinner on Friday and I am thinking about the menu, remind "
        "me what Marta does not eat and drink",
    ),
    (
        25,
        "I have found a used bicycle on the internet that looks good, tell me which size of frame mine has so"
        " that I can compare it with the new one",
    ),
    (
        28,
        "I am looking at running shoes in the sale and they have the ones from Brooks again, tell me what was"
        " wrong with the pair that I sent back",
    ),
]

GERMAN_LINES = """
Oma Ottilie wohnt seit ihrer Hüftoperation im Lindenweg 12 in Freising.
Meine Schwester Clara ist nach Lissabon gezogen und arbeitet dort in einer Bäckerei.
Den Geschirrspüler hat Herr Novak von Elektro Brandt für 140 Euro repariert.
Tom ist gegen Haselnüsse allergisch und hat einen Notfallstift dabei.
Die Fähre nach Naxos ist für den 14. Juni um 7:25 Uhr ab Piräus gebucht.
Unsere Steuerberaterin Frau Lehmann braucht die Belege bis zum Zehnten jedes Monats.
Das Boot liegt bis Oktober am Steg 7 in Überlingen.
Ich habe Jonas versprochen, ihm das Zelt für das Pfadfinderlager zu leihen.
Die Merkhilfen für das Passwort des Routers stehen im roten Notizbuch im Flur.
Nach langen Fahrten tut mir der Rücken weh, die Physiotherapeutin Imke rät zu Pausen jede Stunde.
Nina spielt beim Vorspiel in der Musikschule die Cellosonate von Brahms.
Die Mieter im dritten Stock haben sich über den Lärm der Wärmepumpe beschwert.
Das Projekt Wombat wird im Juli statt im Mai ausgeliefert.
In Zügen sitze ich am liebsten am Fenster und im Ruhebereich.
Die Tierärztin sagt, unsere Katze Miso soll ein Kilo abnehmen und weniger Trockenfutter bekommen.
Das Kinderzimmer streichen wir in Salbeigrün.
Mein Führerschein läuft im März ab und muss im Rathaus umgetauscht werden.
Onkel Beat sammelt Briefmarken aus Island und hat am 3. Mai Geburtstag.
Der Gartenverein tauscht am letzten Samstag im April Setzlinge.
Der Lesekreis liest diesen Winter Pachinko und trifft sich bei Ruth.
Meine neue Brille mit Gleitsichtgläsern ist vom Optiker Keller.
Das Dach hat der Zimmermann Huber 2021 mit Holzfaser gedämmt.
Marta aus der Arbeit lebt vegan und trinkt keinen Alkohol.
Der Ersatzschlüssel der Hütte ist bei unserer Nachbarin Frieda.
Gegen Migräne hat der Neurologe Rizatriptan verschrieben, zehn Milligramm.
Das Fahrrad hat Rahmengröße 54 und ein knarzendes Tretlager.
Meine Chefin Petra will den Quartalsbericht auf einer Seite mit drei Diagrammen.
Für den Zwetschgenkuchen von Tante Rosa braucht man Buttermilch und eine Prise Kardamom.
Die Laufschuhe von Brooks in 43 gaben Blasen, ich habe sie zurückgeschickt.
Unsere Hochzeitsreise ging nach Valparaíso, in ein kleines Hotel auf dem Cerro Alegre.
""".strip().splitlines()

GERMAN = [
    (
        0,
        "Ich plane gerade das nächste Wochenende und möchte mit den Kindern zu Oma Ottilie fahren, sag mir "
        "noch einmal, wo sie jetzt wohnt, damit ich den Zug suchen kann",
    ),
    (
        4,
        "Wir packen endlich für die Ferien und alle sind aufgeregt wegen der Fähre nach Naxos, sag mir bitte "
        "genau, wann sie in Piräus ablegt, dann bestelle ich das Taxi",
    ),
    (
        3,
        "Ich backe gerade für das Fest am Samstag, und Tom kommt mit seinen Eltern auch, sag mir also, welche"
        " Nüsse ich dieses Mal im Kuchen weglassen muss",
    ),
    (
        23,
        "Wir stehen im Regen vor der Hütte und keiner hat an den Schlüssel gedacht, ich muss wissen, welche "
        "Nachbarin den Ersatzschlüssel für uns aufbewahrt",
    ),
    (
        6,
        "Ein Freund will morgen früh mit mir auf dem See segeln und ich muss ihm vorher noch sagen, an "
        "welchem Steg das Boot in diesem Jahr liegt, bevor er losfährt",
    ),
    (
        14,
        "Heute nach der Arbeit gehe ich in die Tierhandlung und will das richtige Futter für Miso kaufen, "
        "fass mir bitte zusammen, was die Tierärztin geraten hat",
    ),
    (
        26,
        "Ich habe endlich eine Stunde Zeit für den Quartalsbericht und setze mich jetzt daran, erinnere mich "
        "bitte, wie Petra ihn dieses Mal gern hätte",
    ),
    (
        2,
        "Der Geschirrspüler macht heute Abend schon wieder dieses schreckliche Geräusch, gib mir den Namen "
        "des Mannes, der ihn beim letzten Mal repariert hat",
    ),
    (
        27,
        "Nach dem Wochenende im Garten liegen viel zu viele Zwetschgen in der Küche, ich hätte Lust auf den "
        "Kuchen von Tante Rosa, liste auf, was hineinkommt",
    ),
    (
        12,
        "Ich schreibe heute den Kunden über unsere Pläne für das Jahr und brauche den Monat, in dem Wombat "
        "nach der Änderung nun ausgeliefert werden soll",
    ),
    (
        24,
        "Seit heute Mittag tut mir der Kopf weh und ich bin auf dem Weg zur Apotheke, sag mir, was der "
        "Neurologe gegen die Migräne verschrieben hat",
    ),
    (
        29,
        "Wir möchten unseren Hochzeitstag dieses Jahr mit etwas von damals feiern, also beschreib bitte noch "
        "einmal, wo wir auf unserer Hochzeitsreise waren",
    ),
]

# Line and message of other languages: each has a log of the lines of its pairs and of GERMAN_LINES.
OTHERS = {
    "french": [
        (
            "Mamie Odile habite rue des Tilleuls à Annecy depuis son opération.",
            "Je prépare le prochain week-end et je voudrais rendre visite à mamie Odile avec les enfants, "
            "rappelle-moi donc où elle habite maintenant pour le train",
        ),
        (
            "Le lave-vaisselle a été réparé par monsieur Garnier de la maison Électro Sud.",
            "Le lave-vaisselle fait de nouveau ce bruit affreux ce soir et je veux appeler celui qui l'a réparé "
            "la dernière fois, donne-moi son nom et sa maison",
        ),
        (
            "Le bateau est amarré au ponton 7 à Évian jusqu'en octobre.",
            "Un ami veut faire de la voile avec moi demain matin sur le lac et je dois lui dire à quel ponton se "
            "trouve le bateau cette année avant qu'il parte",
        ),
        (
            "Le neurologue a prescrit du rizatriptan contre la migraine, dix milligrammes.",
            "J'ai mal à la tête depuis midi et je suis en route pour la pharmacie, dis-moi ce que le neurologue a"
            " prescrit contre la migraine, s'il te plaît",
        ),
    ],
    "spanish": [
        (
            "La abuela Carmen vive en la calle de los Tilos en Toledo desde su operación.",
            "Estoy planeando el próximo fin de semana y quiero visitar a la abuela Carmen con los niños, "
            "recuérdame dónde vive ahora para buscar el tren",
        ),
        (
            "El lavavajillas lo reparó el señor Navarro de Electro Sur por 140 euros.",
            "El lavavajillas hace otra vez ese ruido horrible esta noche y quiero llamar al hombre que lo reparó "
            "la última vez, dame su nombre por favor",
        ),
        (
            "El barco está amarrado en el muelle 7 de Palamós hasta octubre.",
            "Un amigo quiere navegar conmigo mañana por la mañana y tengo que decirle en qué muelle está el barco"
            " este año, antes de que salga de su casa",
        ),
    ],
    "italian": [
        (
            "Nonna Ottilia abita in via dei Tigli a Bergamo dopo l'operazione all'anca.",
            "Sto preparando il prossimo fine settimana e vorrei andare dalla nonna Ottilia con i bambini, "
            "ricordami dove abita adesso così cerco il treno",
        ),
        (
            "La lavastoviglie è stata riparata dal signor Bruni di Elettro Nord per 140 euro.",
            "La lavastoviglie fa di nuovo quel rumore terribile stasera e vorrei chiamare chi l'ha riparata "
            "l'ultima volta, dammi il suo nome per favore",
        ),
    ],
    "portuguese": [
        (
            "A avó Otília mora na rua das Tílias em Braga desde a operação.",
            "Estou a planear o próximo fim de semana e quero visitar a avó Otília com as crianças, lembra-me onde"
            " ela mora agora para procurar o comboio",
        ),
        (
            "O barco está atracado no cais 7 em Cascais até outubro.",
            "Um amigo quer velejar comigo amanhã de manhã e tenho de lhe dizer em que cais está o barco este ano,"
            " antes que ele saia de casa com o carro",
        ),
    ],
    "dutch": [
        (
            "Oma Ottilie woont sinds haar heupoperatie in de Lindelaan in Breda.",
            "Ik plan het volgende weekend en wil met de kinderen bij oma Ottilie op bezoek gaan, herinner me "
            "eraan waar ze nu woont zodat ik de trein kan zoeken",
        ),
        (
            "De vaatwasser is gerepareerd door meneer Novak van Elektro Brandt.",
            "De vaatwasser maakt vanavond weer dat vreselijke geluid en ik wil de man bellen die hem de vorige "
            "keer heeft gerepareerd, geef me zijn naam",
        ),
    ],
    "japanese": [
        (
            "祖母のオティリエは手術のあと鎌倉市のひまわり通り12番に住んでいる。",
            "来週末の予定を立てていて、子どもたちを連れて祖母のオティリエに会いに行きたいので、今どこに住んでいるのか教えて",
        ),
        (
            "船は10月まで葉山の桟橋7番に泊めてある。",
            "明日の朝、友だちが一緒に船に乗りたいと言っていて、出かける前に今年はどの桟橋に泊めてあるのか伝えないといけない",
        ),
    ],
}

UNRELATED = [
    "Write a poem about the sea in autumn, with three stanzas of four lines each, in a calm tone and "
    "without any rhymes, please, and give it a fitting title",
    "Explain to me how photosynthesis works as if I were ten years old, with a small experiment that we "
    "could do at home on a rainy afternoon together",
    "I would like to understand how compound interest works, so please show me a table with a thousand "
    "euros at four per cent over twenty years",
    "Give me five ideas for a speech at the retirement of a colleague who has been with the company for "
    "thirty years and loves to travel by motorcycle",
    "I am learning Portuguese and always mix up the two verbs for to be, please make me a short exercise "
    "with ten sentences and the right answers below",
    "Please translate the following sentence into English in a polite tone: leider können wir Ihnen den "
    "Auftrag in diesem Umfang nicht bestätigen",
    "Today I read in the newspaper that whales sing in dialects, which I found fascinating, tell me more "
    "about how scientists find such things out",
    "Help me to write an application as a gardener at the botanical garden, with a short cover letter "
    "that sounds friendly but not too enthusiastic",
    "My neighbours are going on a safari in Tanzania for two weeks and asked me for good books about "
    "elephants, list a few that are easy to read",
    "I want to grow tomatoes on a balcony that faces north and has little sun, tell me whether that makes"
    " any sense at all and which kinds could do",
    "Let us play a guessing game this evening: you think of an animal and I ask up to twenty questions "
    "that you may only answer with yes or no",
    "Summarise the plot of Hamlet in ten sentences so that I can follow the performance in the theatre on"
    " Saturday without reading the whole play",
    "I have to give a talk on the history of the printing press in two days, please give me an outline "
    "with an introduction and four main points",
    "Tell me a joke about cats that I can tell at work without embarrassing anybody, and please not the "
    "one with the box and the physicist in it",
    "Convert this recipe for pancakes to six people: two eggs, two hundred grams of flour, a quarter of a"
    " litre of milk and a bit of salt in it",
    "I am thinking about learning to play the piano at forty and wonder how many hours one should "
    "practise each week to get anywhere at all with it",
    "Compare electric cars with hybrid cars for somebody who mostly drives short distances in the city "
    "and now and then a long way on the motorway",
    "Write a short and friendly reply to a customer who complains that the parcel arrived two days late "
    "and that the box was wet and torn open",
    "Describe the differences between the Gothic and the Romanesque style, and name three churches for "
    "each that are worth a journey by train",
    "Make me a training plan for ten kilometres in ten weeks, I can run twice a week after work and once "
    "on Sunday morning for a bit longer",
    "I would like to know how vaccines are developed and tested these days, step by step and with the "
    "usual time that each of the phases takes",
    "Give me a list of names for a small café that sells old furniture as well, they should be short and "
    "easy to remember for every visitor",
    "The weather has been awful for a week now, and I am in the mood for a warm soup, suggest three that "
    "need no more than half an hour to cook",
    "Correct the commas in this sentence and explain why: although it was raining the children who had no"
    " umbrellas walked to school singing",
    "Imagine that you are a tour guide in ancient Rome and lead me through the forum, with what one would"
    " have heard and smelled on a summer day",
    "Tell me how a heat wave comes about and why the nights in the city stay so much warmer than those in"
    " the country in the same week",
    "I need a polite text message for declining an invitation to a wedding in the mountains, because we "
    "are already away at that time of the year",
    "Think of a bedtime story for a child of five in which a hedgehog gets lost in the fog and finds its "
    "way home with the help of an owl",
    "Give me a simple explanation of how the stock market reacts to interest rates, and what that means "
    "for somebody who saves a little each month",
    "I am preparing a quiz evening for friends and need ten questions on geography, not too hard, with "
    "three possible answers each and the solution",
    "Please write a haiku for every month of the year, the first one about snow on the roofs and the last"
    " one about candles in the windows",
    "Show me how to calculate the volume of a cone and of a sphere, each with an example in which the "
    "numbers are easy to check in the head",
    "I heard the word serendipity in a film yesterday and liked it very much, tell me where it comes from"
    " and use it in two good sentences",
    "Make a packing list for a hiking tour of three days from hut to hut in September, with everything "
    "that one needs when the weather turns bad",
    "Draft a short speech for the mayor at the opening of a new public swimming pool, with a joke at the "
    "beginning and thanks to the builders",
    "Recommend me a few films about chess or mathematicians for a quiet Sunday, and say in one sentence "
    "each why they are worth watching",
]

GERMAN_UNRELATED = [
    "Schreib mir bitte ein Gedicht über das Meer im Herbst, drei Strophen mit je vier Zeilen, ruhig im "
    "Ton und ohne Reime, und gib ihm einen passenden Titel",
    "Erklär mir, wie die Photosynthese funktioniert, als wäre ich zehn Jahre alt, mit einem kleinen "
    "Versuch, den wir an einem Regentag machen können",
    "Ich möchte den Zinseszins verstehen, zeig mir also bitte eine Tabelle mit tausend Euro zu vier "
    "Prozent über zwanzig Jahre und erkläre die Formel",
    "Gib mir fünf Ideen für eine Rede zum Abschied eines Kollegen, der dreißig Jahre in der Firma war und"
    " gern mit dem Motorrad verreist",
    "Fass mir die Handlung von Hamlet in zehn Sätzen zusammen, damit ich am Samstag im Theater folgen "
    "kann, ohne das ganze Stück zu lesen",
    "Ich überlege, mit vierzig noch Klavier zu lernen, und frage mich, wie viele Stunden man in der Woche"
    " üben sollte, um voranzukommen",
    "Vergleiche Elektroautos mit Hybridautos für jemanden, der meist kurze Strecken in der Stadt fährt "
    "und ab und zu weit auf der Autobahn",
    "Mach mir eine Packliste für eine Wanderung von drei Tagen von Hütte zu Hütte im September, mit "
    "allem, was man bei schlechtem Wetter braucht",
    "Ich brauche eine höfliche Nachricht, um die Einladung zu einer Hochzeit in den Bergen abzusagen, "
    "weil wir in der Zeit schon verreist sind",
    "Denk dir eine Gutenachtgeschichte für ein fünfjähriges Kind aus, in der sich ein Igel im Nebel "
    "verirrt und mit einer Eule heimfindet",
    "Seit einer Woche ist das Wetter scheußlich und ich habe Lust auf eine warme Suppe, schlag mir drei "
    "vor, die in einer halben Stunde fertig sind",
    "Empfiehl mir ein paar Filme über Schach oder Mathematiker für einen ruhigen Sonntag und sag in je "
    "einem Satz, warum sie sich lohnen",
]

# Lines that all fit one wish.
MANY_LINES = [
    f"Training with Jonas at the Lake of Constance: {what}."
    for what in (
        "eight kilometres along the shore",
        "intervals on the promenade",
        "rest after the cold",
        "first swim of the year",
        "new shoes from Brooks",
        "a coach from Bregenz came by",
        "hill runs above Meersburg",
        "rain and wind all day",
        "Jonas had a cramp",
        "ten minutes faster than in May",
        "stretching for an hour",
        "we talked about the marathon",
        "swimming to the island and back",
        "the watch was empty",
        "cycling to Lindau",
        "Jonas slept too long",
        "a record over five kilometres",
        "knees hurt a little",
        "tried the new gels",
        "running with the dog",
        "sunrise at the pier",
        "two hours in the fog",
        "core exercises in the gym",
        "breakfast at the harbour after it",
        "technique with short steps",
        "wind from the west",
        "an easy hour",
        "Jonas brought his sister",
        "ice on the path",
        "twelve kilometres to Konstanz",
        "open water course",
        "the pulse was too high",
        "in the heat of noon",
        "relay with the club",
        "last session before the holidays",
        "plan for the autumn",
    )
]
MANY = "Tell me about my training with Jonas at the Lake of Constance"
