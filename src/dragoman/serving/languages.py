"""Which language a text seems to be in.

The guess is by simple rules: the script, letters that few languages have, and the commonest short
words. It is meant for a field in a form, not for cleaning corpora.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection

# First word of a character's Unicode name; where several languages share a script, the first named
# is taken unless letters or words say otherwise.
SCRIPTS = {
    "HIRAGANA": ("ja",), "KATAKANA": ("ja",), "HANGUL": ("ko",), "CJK": ("zh", "ja"),
    "ARABIC": ("ar", "fa", "ur", "ps"), "HEBREW": ("he",), "GREEK": ("el",), "THAI": ("th",),
    "CYRILLIC": ("ru", "uk", "bg", "sr", "be", "mk", "kk", "ky", "mn"), "ARMENIAN": ("hy",),
    "GEORGIAN": ("ka",), "DEVANAGARI": ("hi", "mr", "ne"), "BENGALI": ("bn",), "TAMIL": ("ta",),
    "TELUGU": ("te",), "KANNADA": ("kn",), "MALAYALAM": ("ml",), "GUJARATI": ("gu",),
    "GURMUKHI": ("pa",), "SINHALA": ("si",), "ETHIOPIC": ("am",), "KHMER": ("km",), "LAO": ("lo",),
    "MYANMAR": ("my",),
}  # fmt: skip

LETTERS = {
    "be": "ў", "cs": "ěřů", "da": "æø", "de": "ß", "es": "ñ¿¡", "et": "õ", "eo": "ĉĝĥĵŝŭ",
    "fa": "پچژگ", "ha": "ɓɗƙ", "hu": "őű", "is": "ðþ", "kk": "әғқңұһ", "lt": "ėįųū", "lv": "āēģķļņ",
    "mk": "ѓќѕ", "mt": "ċġħ", "nb": "æø", "pl": "ąęłńśźż", "ps": "ټډړښ", "pt": "ãõ",
    "ro": "șțăâ", "ru": "ыэ", "sk": "ľĺŕ", "sr": "ђћџ", "sv": "å", "tr": "ğışİ", "uk": "їєґі",
    "ur": "ٹڈڑے", "vi": "ăđơưạảấầẩậắằẵặẹẻếềểệịọốồổộớờợụủứừửữự", "yo": "ẹọṣ",
}  # fmt: skip

WORDS = {
    "af": "die en nie van het is om te wat ons", "ca": "el la de i que els amb per una és",
    "cs": "a se na je že to v s jsem ale", "cy": "y yr yn ac mae i o ar ei",
    "da": "og det er en at jeg ikke af til på",
    "de": "der die und das ist ein nicht ich zu mit den",
    "en": "the of and to a in is it you that was", "eo": "la kaj de en estas ne al mi ke",
    "es": "de la que el en y los no una por con", "et": "ja on ei ta et see oli ma kui",
    "eu": "eta da ez du bat dira ere baina", "fi": "ja on ei että se oli hän ovat mutta",
    "fr": "de la le et les des est un une que pas je", "ga": "an na agus is ar le bhí sé",
    "gl": "de que o a e do non unha os para", "ha": "da na ya ta a ba ne shi wani",
    "hr": "i je u da se na su za nije što", "hu": "a az és hogy nem egy is ez van",
    "id": "yang dan di itu dengan tidak untuk dari ini", "ig": "na nke ya ndị ka bụ n'ime",
    "is": "og að er ekki það ég sem við", "it": "di che e la il non un per è una sono",
    "lt": "ir kad yra su ne tai jis bet", "lv": "un ir ka no tas par viņš bet",
    "ms": "yang dan di itu dengan tidak untuk ini ialah", "mt": "u li ta l-il- ma kien huwa",
    "nb": "og det er en at jeg ikke av til på", "nl": "de en het van een is dat niet ik te",
    "pl": "i w na nie że się z do jest to", "pt": "de que o a e do não uma os para com",
    "ro": "și de a în la nu cu pe o că este", "sk": "a sa na je že to v s som ale",
    "sl": "in je da se na so za ni pa", "so": "iyo ka ku waa in oo waxaa u",
    "sq": "dhe të në një për me nuk është", "sv": "och det är en att jag inte av till på som",
    "sw": "na ya wa kwa ni katika la za kuwa", "tl": "ang ng sa na mga ay at hindi",
    "tr": "bir ve bu için da de ne çok ile", "uz": "va bu bir uchun bilan ham emas",
    "vi": "và của là có không một cho được", "xh": "ukuba kwaye yi nge uku",
    "yo": "ni ti si ó àti fún", "zu": "ukuthi futhi kanye nge uku",
    "bg": "и на да се не е от за това", "mk": "и на да се не од во за тоа",
    "ru": "и в не на что я с он как это", "sr": "и је у да се на су за није",
    "uk": "і в не на що я з та це", "be": "і у не на што я з гэта", "kk": "және бұл бір мен үшін",
    "ky": "жана бул бир менен үчүн", "mn": "нь байна энэ бол ба",
    "ar": "في من على أن إلى ما هذا لا", "fa": "و در به از که این را است",
    "ur": "کے میں کی ہے اور سے کا کو", "ps": "په د چې او ته کې دی",
    "hi": "के में है की और से का को", "mr": "आहे आणि या च्या ते हे", "ne": "छ र को मा ले यो पनि",
}  # fmt: skip


def guess_language(text: str, among: Collection[str] = ()) -> list[tuple[str, float]]:
    """Guess the language of a text.

    Args:
        text: any.
        among: codes to choose from; any unless given.

    Returns:
        Codes by falling confidence, 0 to 1, which sum to 1; none where nothing tells.
    """
    text = unicodedata.normalize("NFC", text[:2000])
    points: defaultdict[str, float] = defaultdict(float)
    scripts = _scripts(text)
    latin = scripts.pop("LATIN", 0)
    for script, count in scripts.items():
        for place, code in enumerate(SCRIPTS.get(script, ())):
            points[code] += count * (1.0 if place == 0 else 0.5)
    if latin:
        for code in WORDS:
            if code not in _OTHER_SCRIPTS:
                points[code] += 0.01 * latin
    lower = text.lower()
    for code, letters in LETTERS.items():
        if found := sum(lower.count(letter) for letter in letters):
            points[code] += 3 * found if points[code] else 0
    words = Counter(re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*", lower))
    for code, common in WORDS.items():
        if points[code]:
            points[code] += 4 * sum(words[word] for word in common.split())
    allowed = {
        code: value for code, value in points.items() if value > 0 and (not among or code in among)
    }
    total = sum(allowed.values())
    ranked = sorted(allowed.items(), key=lambda each: (-each[1], each[0]))
    return [(code, value / total) for code, value in ranked]


def _scripts(text: str) -> Counter[str]:
    """Count letters by script; kana tell Japanese from Chinese, so the signs beside them count."""
    scripts: Counter[str] = Counter()
    for character in text:
        if character.isalpha():
            scripts[unicodedata.name(character, "").split(" ")[0]] += 1
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > 0:
        scripts["HIRAGANA"] += scripts.pop("CJK", 0)
    return +scripts


_OTHER_SCRIPTS = {code for codes in SCRIPTS.values() for code in codes}
