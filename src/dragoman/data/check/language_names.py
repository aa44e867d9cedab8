"""Languages by the codes people use, and those that identifiers take for each other."""

# Codes of three letters (ISO 639-2 and 639-3, macrolanguages and their usual member) for those of
# two that identifiers give.
_SHORT = {
    code: short
    for short, codes in {
        "af": "afr", "am": "amh", "ar": "ara arb", "as": "asm", "az": "aze azj", "be": "bel",
        "bg": "bul", "bn": "ben", "br": "bre", "bs": "bos", "ca": "cat", "cs": "ces cze",
        "cy": "cym wel", "da": "dan", "de": "deu ger", "el": "ell gre", "en": "eng", "eo": "epo",
        "es": "spa", "et": "est ekk", "eu": "eus baq", "fa": "fas per pes", "fi": "fin",
        "fr": "fra fre", "fy": "fry", "ga": "gle", "gd": "gla", "gl": "glg", "gu": "guj",
        "ha": "hau", "he": "heb iw", "hi": "hin", "hr": "hrv", "ht": "hat", "hu": "hun",
        "hy": "hye arm", "id": "ind in", "ig": "ibo", "is": "isl ice", "it": "ita", "ja": "jpn",
        "jv": "jav", "ka": "kat geo", "kk": "kaz", "km": "khm", "kn": "kan", "ko": "kor",
        "ku": "kur kmr", "ky": "kir", "la": "lat", "lg": "lug", "ln": "lin", "lo": "lao",
        "lt": "lit", "lv": "lav lvs", "mg": "mlg plt", "mk": "mkd mac", "ml": "mal",
        "mn": "mon khk", "mr": "mar", "ms": "msa may zsm", "mt": "mlt", "my": "mya bur",
        "ne": "nep npi", "nl": "nld dut", "nn": "nno", "no": "nor nob nb", "oc": "oci",
        "om": "orm gaz", "or": "ori ory", "pa": "pan", "pl": "pol", "ps": "pus pbt", "pt": "por",
        "qu": "que", "ro": "ron rum", "ru": "rus", "rw": "kin", "sa": "san", "si": "sin",
        "sk": "slk slo", "sl": "slv", "sn": "sna", "so": "som", "sq": "sqi alb als", "sr": "srp",
        "st": "sot", "sv": "swe", "sw": "swa swh", "ta": "tam", "te": "tel", "tg": "tgk",
        "th": "tha", "tk": "tuk", "tl": "tgl fil", "tr": "tur", "tt": "tat", "ug": "uig",
        "uk": "ukr", "ur": "urd", "uz": "uzb uzn", "vi": "vie", "xh": "xho", "yo": "yor",
        "zh": "zho chi cmn", "zu": "zul",
    }.items()
    for code in codes.split()
}  # fmt: skip

# Within a family neither text nor identifier is sure enough to call anything wrong.
_FAMILIES = tuple(
    frozenset(family.split())
    for family in (
        "no nn da", "hr bs sr", "id ms", "zh yue wuu", "ar ary arz", "uz uzs", "ku sdh",
        "cs sk", "az tr", "he hbo", "el grc", "fr gcr gcf wa", "en pcm", "es ext an", "zu xh",
        "nso st", "ca oc", "mr gom", "fuv ha", "qu gug", "it lij vec", "lv ltg", "de lb",
    )
)  # fmt: skip


def short_name(language: str) -> str:
    """Give the code that identifiers use: ``pt-BR`` and ``por`` are ``pt``."""
    base = language.replace("_", "-").partition("-")[0].lower()
    return _SHORT.get(base, base)


def family_of(language: str) -> frozenset[str]:
    """List a language, by its short name, and those too close to it."""
    return frozenset((language,)).union(*(f for f in _FAMILIES if language in f))
