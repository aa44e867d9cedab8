"""Words whose full stop does not end a sentence, over languages, in lower case without that stop.

No list is complete, and none is needed to be: initials, dotted letters (``z. B.``, ``U.S.``), stops
inside a word and stops before a small letter are told by rule in ``sentences.py``.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# With a capital, stand before a name, so what follows begins with one too.
TITLES = _words(
    """
    mr mrs ms mx dr drs prof profs rev fr hon st ste mt ft sr sra srta dna gen col maj capt cpt cmdr
    lt lieut sgt cpl adm gov sen rep reps pres supt det insp amb messrs mme mlle mm mgr ing dipl
    hr hrn frl mag dott sig sigg avv geom dhr mevr mw ir drh tn sdr dk dak dkt bw bi mh bldg attn
    проф акад св tp ths ts pgs gs bs
    """
)

# Seldom end a sentence, and what follows may begin with a capital: a name, a German noun.
BEFORE_ANYTHING = _words(
    """
    vs cf ca approx evtl ggf bzw inkl exkl zzgl bspw vgl sog ehem geb gest gegr österr engl franz
    ital resp zb bijv incl excl hrsg bearb mrd mio dr prof mr mrs
    им ул пр пл наб просп обл г-н г-жа см ср напр англ нем фр лат рус г
    """
)

# End nothing when a number follows, or a letter alone: "No. 5", "Jan. 3", "Fig. IV", "App. B".
BEFORE_A_NUMBER = _words(
    """
    no nos nr nrn nro núm num vol vols fig figs abb tab eq eqs sec sect ch chap kap art arts abs
    p pp pg pgs s ss seq bd bde bl ff pag pág págs ps ver bk app op ep pt ph rn rdnr az ziff
    jan feb mär mrz apr jun jul aug sep sept okt oct nov dec dez janv févr fév avr juil déc
    ene abr ago dic gen mag giu lug set ott стр рис табл гл п пп ст с т № тел д кв корп
    """
)

# German writes ordinals with a stop and nouns with a capital: "der 1. Platz", "am 3. Mai".
BEFORE_AN_ORDINAL = _words(
    """
    am im der die das den dem des vom zum zur beim bis seit ab ein eine einen einem einer eines
    jeden jeder jede jedes dieser diese diesem diesen ihr ihre ihrem ihren ihrer sein seine seinem
    seinen seiner mein meine meinem meinen unser unsere unserem unseren kein keine und
    """
)

AFTER_AN_ORDINAL = _words(
    """
    januar jänner februar feber märz april mai juni juli august september oktober november dezember
    jan feb mär mrz apr jun jul aug sep sept okt nov dez jahrhundert jahrhunderts jh jhd jahrestag
    lebensjahr mal platz rang stock klasse liga bundesliga minute spieltag runde etage
    """
)

# After dotted letters that may end a sentence ("in the U.S.", "at 5 p.m."), these begin a new one.
SENTENCE_STARTERS = _words(
    """
    the a an he she it they we i you his her its their our this that these those there in on at as
    but and if when while after before since for however although though what who how why where
    der die das ein eine er sie es wir ich dies diese dieser in im am auf nach aber und wenn als
    le la les un une il elle ils elles on nous ce cette ces mais et dans en après el los las una
    """
)
