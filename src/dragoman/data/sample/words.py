"""The words of the embedded corpus, as tables: German forms, English forms, what goes with what.

An underscore stands for a space, ``|`` parts a separable prefix from its verb, and a trailing ``*``
marks a noun of the weak declension (der Junge, den Jungen). No German form has two translations.
"""

# kind gender singular plural english english-plural
NOUNS = """
person m Mann Männer man men
person f Frau Frauen woman women
person n Kind Kinder child children
person m Junge* Jungen boy boys
person n Mädchen Mädchen girl girls
person m Lehrer Lehrer teacher teachers
person m Arzt Ärzte doctor doctors
person m Bäcker Bäcker baker bakers
person m Student* Studenten student students
person m Freund Freunde friend friends
person f Mutter Mütter mother mothers
person m Vater Väter father fathers
person m Bruder Brüder brother brothers
person f Schwester Schwestern sister sisters
person m Sohn Söhne son sons
person f Tochter Töchter daughter daughters
person m Onkel Onkel uncle uncles
person f Tante Tanten aunt aunts
person f Großmutter Großmütter grandmother grandmothers
person m Großvater Großväter grandfather grandfathers
person m Nachbar* Nachbarn neighbour neighbours
person m Koch Köche cook cooks
person m Sänger Sänger singer singers
person m Maler Maler painter painters
person m Polizist* Polizisten police_officer police_officers
person m Gast Gäste guest guests
person f Königin Königinnen queen queens
animal m Hund Hunde dog dogs
animal f Katze Katzen cat cats
animal n Pferd Pferde horse horses
animal f Kuh Kühe cow cows
animal m Vogel Vögel bird birds
animal m Fisch Fische fish fish
animal f Maus Mäuse mouse mice
animal m Bär* Bären bear bears
animal m Löwe* Löwen lion lions
animal m Affe* Affen monkey monkeys
animal f Ente Enten duck ducks
animal n Schwein Schweine pig pigs
animal n Schaf Schafe sheep sheep
animal f Ziege Ziegen goat goats
animal m Elefant* Elefanten elephant elephants
animal m Esel Esel donkey donkeys
food m Apfel Äpfel apple apples
food m Kuchen Kuchen cake cakes
food n Ei Eier egg eggs
food f Birne Birnen pear pears
food f Banane Bananen banana bananas
food f Orange Orangen orange oranges
food f Tomate Tomaten tomato tomatoes
food f Kartoffel Kartoffeln potato potatoes
food f Suppe Suppen soup soups
food m Salat Salate salad salads
food f Wurst Würste sausage sausages
text n Buch Bücher book books
text m Brief Briefe letter letters
text f Zeitung Zeitungen newspaper newspapers
text n Gedicht Gedichte poem poems
text f Geschichte Geschichten story stories
text f Postkarte Postkarten postcard postcards
text m Roman Romane novel novels
box n Fenster Fenster window windows
box f Tür Türen door doors
box m Schrank Schränke cupboard cupboards
box f Kiste Kisten box boxes
box m Koffer Koffer suitcase suitcases
box f Flasche Flaschen bottle bottles
thing f Tasse Tassen cup cups
thing m Teller Teller plate plates
thing m Schlüssel Schlüssel key keys
thing f Uhr Uhren clock clocks
thing n Bild Bilder picture pictures
thing m Stuhl Stühle chair chairs
thing m Ball Bälle ball balls
thing n Messer Messer knife knives
thing m Löffel Löffel spoon spoons
thing m Regenschirm Regenschirme umbrella umbrellas
thing n Geschenk Geschenke gift gifts
thing f Blume Blumen flower flowers
device f Lampe Lampen lamp lamps
device n Radio Radios radio radios
device m Fernseher Fernseher television televisions
clothes m Hut Hüte hat hats
clothes m Mantel Mäntel coat coats
clothes f Jacke Jacken jacket jackets
clothes n Hemd Hemden shirt shirts
clothes n Kleid Kleider dress dresses
clothes m Rock Röcke skirt skirts
vehicle n Auto Autos car cars
vehicle m Bus Busse bus buses
vehicle m Zug Züge train trains
vehicle n Fahrrad Fahrräder bicycle bicycles
vehicle n Schiff Schiffe ship ships
vehicle m Lastwagen Lastwagen truck trucks
"""

# kind gender german english: no plural, no "a"
MASS_NOUNS = """
drink f Milch milk
drink n Wasser water
drink m Tee tea
drink m Kaffee coffee
drink m Saft juice
drink m Wein wine
stuff n Brot bread
stuff m Käse cheese
stuff m Reis rice
stuff n Fleisch meat
stuff m Honig honey
stuff f Schokolade chocolate
"""

# preposition gender german preposition english: where something happens
PLACES = """
in m Garten in garden
in f Küche in kitchen
in f Schule at school
in f Stadt in city
in m Park in park
in m Wald in forest
in n Haus in house
in n Zimmer in room
in n Büro in office
in f Kirche in church
in m Bahnhof in station
in n Museum in museum
in n Theater in theatre
in n Dorf in village
in n Hotel in hotel
in n Krankenhaus in hospital
in f Bibliothek in library
in m Keller in cellar
auf n Sofa on sofa
auf m Boden on floor
auf f Bank on bench
auf f Brücke on bridge
auf n Dach on roof
auf f Wiese on meadow
"""

NAMES = "Anna Peter Maria Thomas Lena Paul Julia Felix Sophie Max Clara Jonas"

# german english kinds it describes
ADJECTIVES = """
groß big person animal food box thing device clothes vehicle
klein small person animal food box thing device clothes vehicle
alt old person animal text box thing device clothes vehicle
jung young person animal
neu new text box thing device clothes vehicle
schön beautiful animal text box thing clothes vehicle
rot red food box thing clothes vehicle
blau blue box thing clothes vehicle
grün green food box thing clothes vehicle
gelb yellow food box thing clothes vehicle
weiß white animal box thing clothes vehicle
schwarz black animal box thing clothes vehicle
schnell fast animal vehicle
langsam slow animal vehicle
müde tired person animal
freundlich friendly person animal
traurig sad person text
glücklich happy person
hungrig hungry person animal
reich rich person
arm poor person
stark strong person animal
schwer heavy box thing
billig cheap food text thing device clothes vehicle
frisch fresh food stuff
süß sweet food
reif ripe food
sauber clean box thing clothes vehicle
schmutzig dirty animal box thing clothes vehicle
lang long text
kurz short text
klug clever person animal
interessant interesting text
langweilig boring text
leer empty box
kalt cold drink
warm warm drink clothes
"""

# subject object infinitive ich du er ihr participle auxiliary english third past
VERBS = """
person+animal - schlafen schlafe schläfst schläft schlaft geschlafen haben sleep sleeps slept
person - arbeiten arbeite arbeitest arbeitet arbeitet gearbeitet haben work works worked
person - singen singe singst singt singt gesungen haben sing sings sang
person - tanzen tanze tanzt tanzt tanzt getanzt haben dance dances danced
person - lachen lache lachst lacht lacht gelacht haben laugh laughs laughed
person - weinen weine weinst weint weint geweint haben cry cries cried
person+animal - spielen spiele spielst spielt spielt gespielt haben play plays played
person+animal - warten warte wartest wartet wartet gewartet haben wait waits waited
person+animal - sitzen sitze sitzt sitzt sitzt gesessen haben sit sits sat
person+animal - auf|wachen wache wachst wacht wacht aufgewacht sein wake_up wakes_up woke_up
person - auf|stehen stehe stehst steht steht aufgestanden sein get_up gets_up got_up
person+animal - ein|schlafen schlafe schläfst schläft schlaft eingeschlafen sein fall_asleep falls_asleep fell_asleep
person - ein|kaufen kaufe kaufst kauft kauft eingekauft haben go_shopping goes_shopping went_shopping
person+animal food+stuff essen esse isst isst esst gegessen haben eat eats ate
person drink trinken trinke trinkst trinkt trinkt getrunken haben drink drinks drank
person text lesen lese liest liest lest gelesen haben read reads read
person text schreiben schreibe schreibst schreibt schreibt geschrieben haben write writes wrote
person text+thing+clothes+food+vehicle kaufen kaufe kaufst kauft kauft gekauft haben buy buys bought
person text+thing+clothes+box+vehicle verkaufen verkaufe verkaufst verkauft verkauft verkauft haben sell sells sold
person+animal person+animal+food+thing+vehicle sehen sehe siehst sieht seht gesehen haben see sees saw
person+animal person+animal+food+thing+text suchen suche suchst sucht sucht gesucht haben look_for looks_for looked_for
person+animal thing+text+clothes+food+animal finden finde findest findet findet gefunden haben find finds found
person person+animal lieben liebe liebst liebt liebt geliebt haben love loves loved
person person besuchen besuche besuchst besucht besucht besucht haben visit visits visited
person person fragen frage fragst fragt fragt gefragt haben ask asks asked
person animal+person malen male malst malt malt gemalt haben paint paints painted
person box+device+vehicle reparieren repariere reparierst repariert repariert repariert haben repair repairs repaired
person thing+clothes+vehicle+box waschen wasche wäschst wäscht wascht gewaschen haben wash washes washed
person clothes tragen trage trägst trägt tragt getragen haben wear wears wore
person food+stuff kochen koche kochst kocht kocht gekocht haben cook cooks cooked
person+animal animal jagen jage jagst jagt jagt gejagt haben chase chases chased
person person an|rufen rufe rufst ruft ruft angerufen haben call calls called
person person+thing ab|holen hole holst holt holt abgeholt haben pick_up picks_up picked_up
person box auf|machen mache machst macht macht aufgemacht haben open opens opened
person box zu|machen mache machst macht macht zugemacht haben close closes closed
person device an|machen mache machst macht macht angemacht haben turn_on turns_on turned_on
person device aus|machen mache machst macht macht ausgemacht haben turn_off turns_off turned_off
person clothes an|ziehen ziehe ziehst zieht zieht angezogen haben put_on puts_on put_on
person text vor|lesen lese liest liest lest vorgelesen haben read_out reads_out read_out
person thing+food+text mit|bringen bringe bringst bringt bringt mitgebracht haben bring_along brings_along brought_along
"""

# the same, with the object in the dative
DATIVE_VERBS = """
person person helfen helfe hilfst hilft helft geholfen haben help helps helped
person person danken danke dankst dankt dankt gedankt haben thank thanks thanked
person+animal person+animal folgen folge folgst folgt folgt gefolgt sein follow follows followed
"""

# the same, with a person in the dative before the object
GIVING_VERBS = """
person thing+food+text+clothes geben gebe gibst gibt gebt gegeben haben give gives gave
person thing+text+clothes zeigen zeige zeigst zeigt zeigt gezeigt haben show shows showed
person text+thing schicken schicke schickst schickt schickt geschickt haben send sends sent
person thing+food bringen bringe bringst bringt bringt gebracht haben bring brings brought
"""

# ich du er wir ihr, then english
MODALS = """
kann kannst kann können könnt can
muss musst muss müssen müsst must
soll sollst soll sollen sollt should
will willst will wollen wollt want_to
werde wirst wird werden werdet will
"""

PRESENT_TIMES = (
    "heute=today jetzt=now jeden_Tag=every_day am_Abend=in_the_evening am_Morgen=in_the_morning"
)
PAST_TIMES = (
    "gestern=yesterday letzte_Woche=last_week letztes_Jahr=last_year am_Montag=on_Monday "
    "am_Freitag=on_Friday"
)
FREQUENCIES = "oft=often immer=always manchmal=sometimes nie=never"
NUMBERS = "zwei=two drei=three vier=four fünf=five sechs=six sieben=seven acht=eight zehn=ten"
