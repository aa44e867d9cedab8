import pytest

from dragoman.configfile import read_record, to_toml, write_record
from dragoman.errors import ConfigError
from dragoman.tokenization import TargetTokenizer, TokenizerConfig, learn_tokenizers


def test_the_target_side_has_what_its_table_says_and_else_what_the_source_has() -> None:
    table = {"kind": "character", "size": 300, "normal_form": "NFD", "target": {"kind": "word"}}
    config = read_record(TokenizerConfig, table)
    assert config.of_target() == TokenizerConfig(kind="word", size=300, normal_form="NFD")
    all_of_it = TargetTokenizer(kind="bpe", size=99, normal_form="none", byte_fallback=False)
    assert TokenizerConfig(target=all_of_it).of_target() == TokenizerConfig(
        kind="bpe", size=99, normal_form="none", byte_fallback=False
    )
    assert TokenizerConfig(size=700).of_target() == TokenizerConfig(size=700)


def test_a_target_table_means_two_vocabularies_whatever_joint_says() -> None:
    letters = ["h a u s", "m a u s"]
    sounds = ["HH AW S", "M AW S"]
    for joint in (True, False):
        config = TokenizerConfig(
            kind="character", joint=joint, target=TargetTokenizer(kind="word", size=400)
        )
        assert not config.shared
        source, target = learn_tokenizers(letters, sounds, config)
        assert source.pieces(source.encode("hm")) == ["h", "m"]
        assert target.pieces(target.encode("M AW")) == [" M", " AW"]
    assert TokenizerConfig().shared
    assert not TokenizerConfig(joint=False).shared


def test_a_table_written_out_in_full_is_read_back() -> None:
    config = TokenizerConfig(kind="word", target=TargetTokenizer(kind="character"))
    assert read_record(TokenizerConfig, write_record(config)) == config
    assert 'target = { kind = "character" }' in to_toml({"tokenizer": write_record(config)})


def test_mistakes_of_the_target_table_are_located_all_at_once() -> None:
    target = {"kind": "wrod", "sise": 3, "byte_fallback": "yes"}
    with pytest.raises(ConfigError) as caught:
        read_record(TokenizerConfig, {"kind": "charakter", "target": target})
    shown = {mistake.place: mistake.hint for mistake in caught.value.mistakes}
    assert shown.keys() == {"kind", "target.kind", "target.sise", "target.byte_fallback"}
    assert shown["kind"] == "did you mean character?"
    assert shown["target.kind"] == "did you mean word?"
    assert shown["target.sise"] == "did you mean size?"


def test_a_target_size_without_room_is_located_and_the_hint_works() -> None:
    table = {"size": 40, "byte_fallback": False, "target": {"byte_fallback": True, "size": 261}}
    with pytest.raises(ConfigError) as caught:
        read_record(TokenizerConfig, table, file="recipe.toml")
    assert str(caught.value) == (
        "recipe.toml: target.size: 261 leaves no room beside 4 special symbols and 256 byte "
        "pieces; give at least 262"
    )
    hinted = TokenizerConfig(target=TargetTokenizer(size=262))
    assert hinted.of_target().room == 2
    with pytest.raises(ConfigError, match=r"target\.size: 2000000 pieces are more than 1000000"):
        TokenizerConfig(target=TargetTokenizer(size=2_000_000))
