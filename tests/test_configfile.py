import math
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Discriminator, Field

from dragoman.configfile import (
    override,
    read_record,
    read_toml,
    record,
    suggest,
    to_toml,
    write_record,
)
from dragoman.errors import ConfigError


@record
class Cat:
    kind: Literal["cat"] = "cat"
    lives: Annotated[int, Field(ge=1)] = 9


@record
class Dog:
    kind: Literal["dog"] = "dog"
    tail: float = 1.0


@record
class Files:
    source: Path
    target: Path | None = None


@record
class House:
    pet: Annotated[Cat | Dog, Discriminator("kind")] = Cat()
    rooms: int = 3
    names: tuple[str, ...] = ()
    papers: Files | None = None
    shelves: tuple[Files, ...] = ()

    def __post_init__(self) -> None:
        if self.rooms == 13:
            raise ConfigError("rooms", "13 brings bad luck", "try 12 or 14")


@record
class Street:
    house: House = House()
    other: House = House()
    side: Literal["left", "right"] = "left"
    open: bool = True


def mistakes(table: dict[str, Any], file: str = "") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_record(Street, table, file=file)
    return str(caught.value).splitlines()


# Reading


def test_a_table_becomes_a_record_with_its_defaults() -> None:
    street = read_record(Street, {"house": {"pet": {"kind": "dog"}, "names": ["a", "b"]}})
    assert street == Street(house=House(pet=Dog(), names=("a", "b")))


def test_text_becomes_a_path() -> None:
    papers = read_record(House, {"papers": {"source": "a/b.de"}}).papers
    assert papers == Files(source=Path("a/b.de"))


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    assert read_record(Dog, {"kind": "dog", "tail": 2}) == Dog(tail=2.0)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"huose": {}}, "huose: unknown key; did you mean house?"),
        (
            {"quay": 1},
            "quay: unknown key; choose from house, other, side, open",
        ),
        ({"house": {"romms": 1}}, "house.romms: unknown key; did you mean rooms?"),
        ({"house": {"rooms": "x"}}, "house.rooms: 'x' should be a valid integer"),
        ({"house": {"rooms": 3.5}}, "house.rooms: 3.5 should be a valid integer"),
        ({"house": {"rooms": True}}, "house.rooms: True should be a valid integer"),
        ({"open": 1}, "open: 1 should be a valid boolean"),
        ({"open": "yes"}, "open: 'yes' should be a valid boolean"),
        ({"house": {"names": "abc"}}, "house.names: 'abc' should be a valid array"),
        ({"house": {"names": ["a", 3]}}, "house.names.2: 3 should be a valid string"),
        ({"house": 3}, "house: 3 should be a table"),
        ({"house": {"papers": {}}}, "house.papers.source: is missing"),
        (
            {"house": {"papers": {"source": "a", "traget": "b"}}},
            "house.papers.traget: unknown key; did you mean target?",
        ),
        ({"side": "rihgt"}, "side: 'rihgt' is not a choice; did you mean right?"),
        ({"side": "up"}, "side: 'up' is not a choice; choose from left, right"),
        (
            {"house": {"pet": {"kind": "cta"}}},
            "house.pet.kind: 'cta' is not a choice; did you mean cat?",
        ),
        (
            {"house": {"pet": {"lives": 3}}},
            'house.pet: says no kind; write it as { kind = "...", ... }',
        ),
        (
            {"house": {"pet": {"kind": "cat", "livs": 3}}},
            "house.pet.livs: unknown key; did you mean lives?",
        ),
        (
            {"house": {"pet": {"kind": "cat", "lives": 0}}},
            "house.pet.lives: 0 should be greater than or equal to 1",
        ),
        (
            {"house": {"shelves": [{"source": "a"}, {"source": "b", "taget": "c"}]}},
            "house.shelves.2.taget: unknown key; did you mean target?",
        ),
        ({"house": {"rooms": 13}}, "house.rooms: 13 brings bad luck; try 12 or 14"),
    ],
)
def test_each_mistake_is_named_with_its_place_and_a_way_out(
    table: dict[str, Any], message: str
) -> None:
    assert mistakes(table) == [message]


def test_all_mistakes_are_reported_at_once_each_with_the_file() -> None:
    table = {
        "house": {"rooms": 13},
        "other": {"rooms": "x", "pet": {"kind": "cow"}},
        "side": "up",
        "huose": 1,
    }
    assert sorted(mistakes(table, "street.toml")) == [
        "street.toml: house.rooms: 13 brings bad luck; try 12 or 14",
        "street.toml: huose: unknown key; did you mean house?",
        "street.toml: other.pet.kind: 'cow' is not a choice; choose from cat, dog",
        "street.toml: other.rooms: 'x' should be a valid integer",
        "street.toml: side: 'up' is not a choice; choose from left, right",
    ]


@pytest.mark.parametrize(
    "street",
    [
        Street(),
        Street(house=House(pet=Dog(tail=0.5), names=("x",)), side="right", open=False),
        Street(other=House(shelves=(Files(source=Path("a")), Files(source=Path("b"))))),
        Street(house=House(papers=Files(source=Path("a"), target=Path("b")))),
    ],
)
def test_a_record_written_and_read_back_is_the_same(street: Street) -> None:
    assert read_record(Street, write_record(street)) == street
    assert read_record(Street, tomllib.loads(to_toml(write_record(street)))) == street


def test_keys_without_a_value_are_left_out_when_written() -> None:
    assert "papers" not in write_record(House())
    assert write_record(Files(source=Path("a"))) == {"source": "a"}


def test_records_cannot_be_changed_or_made_by_position() -> None:
    with pytest.raises(AttributeError):
        Cat().lives = 3  # pyright: ignore[reportAttributeAccessIssue]  # what is tested
    with pytest.raises(TypeError):
        Cat("cat", 3)  # pyright: ignore[reportCallIssue]  # what is tested


# TOML files


def test_a_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes("\ufeffa = 1\r\nb = 'ü'\r\n".encode())
    assert read_toml(path) == {"a": 1, "b": "ü"}


def test_a_missing_file_is_named_with_a_similar_one(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").touch()
    path = tmp_path / "recpie.toml"
    with pytest.raises(ConfigError) as caught:
        read_toml(path)
    found = tmp_path / "recipe.toml"
    assert str(caught.value) == f"{path}: no such file; did you mean {found}?"


def test_a_missing_file_without_a_similar_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml(tmp_path / "recipe.toml")
    assert str(caught.value) == f"{tmp_path / 'recipe.toml'}: no such file"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "recipe.toml"
    with pytest.raises(ConfigError) as caught:
        read_toml(path)
    assert str(caught.value) == f"{path}: no such file; there is no folder {path.parent}"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml(tmp_path)
    assert str(caught.value) == f"{tmp_path}: Is a directory"
    (tmp_path / "recipe.toml").touch()  # as in the folder of a run
    with pytest.raises(ConfigError) as caught:
        read_toml(tmp_path)
    hint = f"the recipe in it is {tmp_path / 'recipe.toml'}"
    assert str(caught.value) == f"{tmp_path}: Is a directory; {hint}"


def test_bytes_that_are_not_utf_8_are_located(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"a = '\xe9'")
    with pytest.raises(ConfigError) as caught:
        read_toml(path)
    assert str(caught.value) == f"{path}: not UTF-8 (byte 0xe9 at 5); re-save it as UTF-8"


def test_broken_toml_is_located(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 1\nb = = 2\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"a\.toml: not TOML: .*line 2, column 5"):
        read_toml(path)


# Overrides


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("a.b=1", {"a": {"b": 1, "c": 7}}),
        ("a.b = 1.5", {"a": {"b": 1.5, "c": 7}}),
        ("a.b=true", {"a": {"b": True, "c": 7}}),
        ("a.b=post", {"a": {"b": "post", "c": 7}}),
        ('a.b="1"', {"a": {"b": "1", "c": 7}}),
        ("a.b=x = y", {"a": {"b": "x = y", "c": 7}}),
        ("a.b=[1, 2]", {"a": {"b": [1, 2], "c": 7}}),
        ("a.b={ kind = 'cat' }", {"a": {"b": {"kind": "cat"}, "c": 7}}),
        ("n.m.k=3", {"a": {"b": 5, "c": 7}, "n": {"m": {"k": 3}}}),
        ("top=3", {"a": {"b": 5, "c": 7}, "top": 3}),
    ],
)
def test_a_setting_replaces_one_value(setting: str, expected: dict[str, Any]) -> None:
    table = {"a": {"b": 5, "c": 7}}
    override(table, setting)
    assert table == expected


@pytest.mark.parametrize("setting", ["a.b", "=3", "a..b=3", ".a=3", ""])
def test_what_is_no_setting_is_refused_with_an_example(setting: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override({}, setting)
    message = f"--set: {setting!r} is not a setting; write it as training.steps=100"
    assert str(caught.value) == message


def test_the_example_in_the_message_works() -> None:
    table: dict[str, Any] = {}
    override(table, "training.steps=100")
    assert table == {"training": {"steps": 100}}


def test_a_setting_cannot_go_through_a_value() -> None:
    with pytest.raises(ConfigError, match=r"^--set a\.b\.c: a\.b is not a table$"):
        override({"a": {"b": 5}}, "a.b.c=3")


# Suggestions


def test_a_near_word_is_proposed_and_otherwise_all() -> None:
    assert suggest("haeds", ["heads", "layers"]) == "did you mean heads?"
    assert suggest("zzz", ["heads", "layers"]) == "choose from heads, layers"
    assert suggest("zzz", []) == ""


# Writing TOML

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(table=st.dictionaries(TEXT, VALUES, max_size=4))
def test_every_table_written_as_toml_reads_back_the_same(table: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(table)) == table


def test_values_keep_their_types() -> None:
    table = {"whole": 1, "real": 1.0, "yes": True, "text": "1", "tiny": 5e-324, "huge": 1e308}
    back = tomllib.loads(to_toml(table))
    assert {key: type(value) for key, value in back.items()} == {
        "whole": int,
        "real": float,
        "yes": bool,
        "text": str,
        "tiny": float,
        "huge": float,
    }
    assert back == table


def test_numbers_beyond_the_finite_are_written_as_toml_writes_them() -> None:
    back = tomllib.loads(to_toml({"a": math.inf, "b": -math.inf, "c": math.nan}))
    assert (back["a"], back["b"]) == (math.inf, -math.inf)
    assert math.isnan(back["c"])


@pytest.mark.parametrize("value", [None, b"x", {1}])
def test_what_toml_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=f"^TOML cannot hold {type(value).__name__}$"):
        to_toml({"a": value})
