"""English names of languages by code, as the packages of Argos Translate give them."""

import re

from dragoman.errors import ConfigError

_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_NAMES = {
    "ar": "Arabic", "az": "Azerbaijani", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew",
    "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "ky": "Kyrgyz", "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay",
    "nb": "Norwegian", "nl": "Dutch", "pb": "Portuguese (Brazil)", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sv": "Swedish", "sw": "Swahili", "th": "Thai", "tl": "Tagalog",
    "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
    "zt": "Chinese (traditional)",
}  # fmt: skip


def language_name(code: str) -> str:
    """Name a language; the code itself when it is not one of those."""
    return _NAMES.get(code, code)


def is_language_code(code: object) -> bool:
    """Whether something is a language code, and so safe in the name of a file."""
    return isinstance(code, str) and _CODE.fullmatch(code) is not None


def check_language_code(place: str, code: str) -> None:
    """Refuse what is no language code.

    Raises:
        ConfigError: at ``place``.
    """
    if not is_language_code(code):
        problem = f"{code!r} is not the code of a language"
        raise ConfigError(place, problem, "give one such as de, en or pt-BR")
