import pytest

from dragoman import errors
from dragoman.errors import (
    ConfigError,
    DataError,
    DragomanError,
    MissingExtraError,
    Mistake,
)


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (Mistake("heads", "is wrong"), "heads: is wrong"),
        (Mistake("heads", "is wrong", "try 8"), "heads: is wrong; try 8"),
        (Mistake("heads", "is wrong", "try 8", "a.toml"), "a.toml: heads: is wrong; try 8"),
        (Mistake("", "no such file", "", "a.toml"), "a.toml: no such file"),
        (Mistake("", "nothing works"), "nothing works"),
    ],
)
def test_a_mistake_says_where_what_and_what_to_do(mistake: Mistake, text: str) -> None:
    assert str(mistake) == text


def test_whoever_read_the_file_adds_table_and_file() -> None:
    error = ConfigError("heads", "6 does not divide d_model 512", "try 4 or 8")
    located = error.inside("model", file="config.toml")
    text = "config.toml: model.heads: 6 does not divide d_model 512; try 4 or 8"
    assert str(located) == text


def test_the_file_nearest_to_the_mistake_is_kept() -> None:
    error = ConfigError("heads", "is wrong").inside(file="model.toml")
    assert str(error.inside("run", file="recipe.toml")) == "model.toml: run.heads: is wrong"


def test_several_mistakes_are_one_error_with_a_line_each() -> None:
    error = ConfigError.together([Mistake("a", "is wrong"), Mistake("b", "is missing")])
    assert str(error) == "a: is wrong\nb: is missing"
    assert error.args == (str(error),)


def test_a_wrong_setting_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^heads: is wrong$"):
        raise ConfigError("heads", "is wrong")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            DataError("corpus.de", "not UTF-8 (byte 0xff)", "re-save it as UTF-8", line=4018),
            "corpus.de: line 4018: not UTF-8 (byte 0xff); re-save it as UTF-8",
        ),
        (DataError("corpus.de", "is empty"), "corpus.de: is empty"),
        (DataError("corpus.de", "starts badly", line=0), "corpus.de: line 0: starts badly"),
        (
            MissingExtraError("the server", "serve"),
            "the server needs an extra; install it with: pip install 'dragoman[serve]'",
        ),
    ],
)
def test_other_errors_name_their_place_and_the_way_out(error: DragomanError, text: str) -> None:
    assert str(error) == text


def test_every_error_of_ours_is_a_dragoman_error_and_stands_in_the_tree() -> None:
    made = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    assert len(made) > 4
    assert errors.__doc__ is not None
    for kind in made:
        assert issubclass(kind, DragomanError)
        assert kind.__name__ in errors.__doc__
