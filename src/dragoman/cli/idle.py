"""Options that would do nothing, as the one they belong to is not given."""

from collections.abc import Mapping

from dragoman.errors import ConfigError, Mistake


def refuse_idle(options: Mapping[str, tuple[bool, str]]) -> None:
    """See that every option that is given does something.

    Args:
        options: of each by name, whether it is given and idle, and what it needs.

    Raises:
        ConfigError: some are idle, all of them at once.
    """
    mistakes = [
        Mistake(name, "does nothing alone", f"add {needed}, or leave it out")
        for name, (idle, needed) in options.items()
        if idle
    ]
    if mistakes:
        raise ConfigError.together(mistakes)
