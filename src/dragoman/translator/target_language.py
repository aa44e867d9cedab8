"""Which language a model of many is asked for: the tag in front of what it reads."""

from dragoman.configfile import suggest
from dragoman.errors import ConfigError
from dragoman.tokenization import Tokenizer


def language_tag(source_tokenizer: Tokenizer, target_language: str | None) -> tuple[int, ...]:
    """Give the ids that go in front of each source, so that it becomes the language asked for.

    Args:
        source_tokenizer: of the model; knows its languages.
        target_language: its name; not needed when there is only one, or none.

    Returns:
        One id, or none for a model without tags.

    Raises:
        ConfigError: the model does not know the language, or has several and none is asked for
            (place ``target_language``).
    """
    known = source_tokenizer.languages
    if not known:
        if target_language is None:
            return ()
        problem = f"{target_language!r} is asked for, and this model has no language tags"
        raise ConfigError("target_language", problem, "leave it out")
    if target_language is None and len(known) > 1:
        problem = f"this model writes {len(known)} languages, and none is asked for"
        raise ConfigError("target_language", problem, f"choose from {', '.join(known)}")
    if target_language is None:
        return tuple(known.values())
    if target_language not in known:
        problem = f"{target_language!r} is no language of this model"
        raise ConfigError("target_language", problem, suggest(target_language, [*known]))
    return (known[target_language],)
