"""Languages as the packages of Argos Translate call them, and codes that are none."""

import re

from dragoman.errors import ConfigError
from dragoman.language_names import language_name

_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_OWN = {"nb": "Norwegian", "pb": "Portuguese (Brazil)", "zt": "Chinese (traditional)"}


def package_name(code: str) -> str:
    """Name a language as packages do; the code itself when it is not known."""
    return _OWN.get(code) or language_name(code)


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
