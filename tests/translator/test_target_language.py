"""Models of several languages: what is asked for goes in front of the source, and counts."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dragoman.bundle import Bundle, save_bundle
from dragoman.cli.main import main
from dragoman.data import Files
from dragoman.errors import ConfigError
from dragoman.run import evaluate
from dragoman.run.start_from import find_start
from dragoman.tokenization import with_languages
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN, build_encoder_decoder, tiny_bundle


def tagged(*languages: str, learned: int | None = None) -> Bundle:
    """Make a model with random weights that knows languages."""
    before = tiny_bundle(learned=learned)
    tokenizer = with_languages(before.source_tokenizer, languages)
    config = replace(before.config, vocabulary=tokenizer.size)
    model = build_encoder_decoder(config, torch.Generator().manual_seed(3))  # type: ignore[arg-type]  # its kind
    return Bundle(config, model.eval(), (tokenizer,))


two = Translator(tagged("de", "en"))


def test_the_tag_goes_in_front_of_what_the_model_reads() -> None:
    tokenizer = two.bundle.source_tokenizer
    assert two.languages == ("de", "en")
    maps = two.attention(GERMAN[:1], ENGLISH[:1], target_language="en")[0]
    pieces = tokenizer.pieces(tokenizer.encode(GERMAN[0]))
    assert maps.source_pieces == ("<2en>", *pieces, "</s>")
    scores = {
        language: two.score(GERMAN, ENGLISH, target_language=language)[0].log_prob
        for language in two.languages
    }
    assert scores["de"] != scores["en"]
    texts = {each: two.translate(GERMAN, target_language=each)[0].tokens for each in two.languages}
    assert texts["de"] != texts["en"]


def test_typed_tags_are_text() -> None:
    asked = two.translate(["<2de> hund"], target_language="en")[0]
    assert asked.tokens != two.translate(["hund"], target_language="de")[0].tokens
    maps = two.attention(["<2de> hund"], ["dog"], target_language="en")[0]
    assert maps.source_pieces.count("<2de>") == 0
    assert maps.source_pieces[0] == "<2en>"


def test_one_language_need_not_be_named() -> None:
    one = Translator(tagged("en"))
    unnamed, named = (one.translate(GERMAN, target_language=each) for each in (None, "en"))
    assert unnamed == named


@pytest.mark.parametrize("run", ["translate", "score", "attention"])
def test_what_cannot_be_asked_is_refused_with_the_choices(run: str) -> None:
    given = (GERMAN,) if run == "translate" else (GERMAN, ENGLISH)
    with pytest.raises(ConfigError, match=r"target_language: .* none is asked for; .* de, en$"):
        getattr(two, run)(*given)
    with pytest.raises(ConfigError, match=r"'fr' is no language of this model; choose from de, en"):
        getattr(two, run)(*given, target_language="fr")
    with pytest.raises(ConfigError, match=r"no language tags; leave it out"):
        getattr(Translator(tiny_bundle()), run)(*given, target_language="en")


def test_the_tag_counts_in_every_part_of_a_long_source() -> None:
    translator = Translator(tagged("de", "en", learned=16))
    found = translator.translate([" ".join(GERMAN * 4)], target_language="en")[0]
    assert found.parts > 1  # and no part had a position too many, which would be an error
    limit = translator.source_limit - 2  # tag and end
    tokenizer = translator.bundle.source_tokenizer
    text = "a" * limit
    assert len(tokenizer.encode(text)) >= limit
    assert translator.translate([text], target_language="en", too_long="cut")[0].hypotheses


def write(folder: Path) -> tuple[Path, Path]:
    for name, lines in (("a.de", GERMAN), ("a.en", ENGLISH)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "a.de", folder / "a.en"


def test_evaluation_asks_for_the_language_of_the_corpus(tmp_path: Path) -> None:
    source, target = write(tmp_path)
    corpus = Files(source=source, target=target, target_language="de")
    german, english = (
        evaluate(two, corpus, target_language=language).loss_nats for language in ("de", "en")
    )
    assert evaluate(two, corpus).loss_nats == german != english
    plain = Translator(tiny_bundle())
    assert evaluate(plain, corpus).hypotheses  # to a model without tags it says nothing
    with pytest.raises(ConfigError, match="none is asked for"):
        evaluate(two, Files(source=source, target=target))


def test_commands_take_the_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = write(tmp_path)
    save_bundle(tmp_path / "model", two.bundle, "# card\n")
    model, files = str(tmp_path / "model"), ["--source", str(source), "--target", str(target)]
    printed: list[str] = []
    for command in (["score", model, *files], ["evaluate", model, *files]):
        for language in ("de", "en"):
            assert main([*command, "--device", "cpu", "--target-language", language]) == 0
            printed.append(capsys.readouterr().out)
        assert main([*command, "--device", "cpu"]) == 2
        assert "target_language: this model writes 2 languages" in capsys.readouterr().err
    assert len({*printed}) == 4
    translate = ["translate", model, "--input", str(source), "--device", "cpu"]
    assert main([*translate, "--target-language", "en"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(GERMAN)
    assert main([*translate, "--target-language", "cs"]) == 2
    assert "choose from de, en" in capsys.readouterr().err


def test_a_model_can_learn_one_more_language(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", two.bundle, "# card\n")
    start = find_start(tmp_path / "run", tmp_path / "model", new=True)
    assert start is not None
    tokenizer = with_languages(start.tokenizers[0], ["cs", "en"])
    assert tokenizer.languages == {
        **two.bundle.source_tokenizer.languages,
        "cs": tokenizer.size - 1,
    }
    config = replace(two.bundle.config, vocabulary=tokenizer.size)
    model = build_encoder_decoder(config, torch.Generator().manual_seed(4))  # type: ignore[arg-type]  # its kind
    start.fill(model, (tokenizer,))
    old = dict(two.model.named_parameters())
    for name, weight in model.named_parameters():
        rows = old[name].size(0)
        assert torch.equal(weight[:rows], old[name])
        if weight.size(0) > rows:  # the mean of the tags that were there
            torch.testing.assert_close(weight[rows:], old[name][rows - 2 :].mean(0, keepdim=True))
    translator = Translator(Bundle(config, model.eval(), (tokenizer,)))
    assert translator.languages == ("de", "en", "cs")
    assert translator.translate(GERMAN, target_language="cs")[0].hypotheses
