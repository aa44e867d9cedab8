"""The command line: exit status, where output goes, line parity, messages."""

import io
import json
import subprocess
import sys
import unicodedata
from importlib.metadata import version
from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.fixtures import GERMAN, tiny_folder, write_corpus

VERBS = (
    *("quickstart", "train", "translate", "generate", "classify", "fill", "check"),
    *("score", "evaluate", "average", "inspect", "doctor"),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("cli") / "model")


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_help_does_not_import_torch() -> None:
    code = (
        "import sys\n"
        "from dragoman.cli.main import main\n"
        "assert main(['--help']) == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for verb in VERBS:
        assert verb in done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_a_wrong_command_line_is_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian"]) == 2
    assert main(["translate"]) == 2
    assert main(["translate", "x", "--beam", "0"]) == 2
    assert "Traceback" not in capsys.readouterr().err


# As many lines out as in, in order (field reports 1, 2, 4, 6, 12).
ODD = [
    b"",
    b"   ",
    "😀".encode(),
    "der hund\u2028schläft".encode(),
    "der\u0085hund".encode(),
    b"der \x0b hund",
    b"der\rhund",
    b"der hund",
]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", 0),
        (b"der hund", 1),
        (b"der hund\n", 1),
        (b"\n\n\n", 3),
        (b"\xef\xbb\xbfder hund\nwir gehen\n", 2),
        (b"der hund\r\nwir gehen\r\n", 2),
        (b"\n".join(ODD) + b"\n", len(ODD)),
        (("hund " * 3000).encode() + b"\nwir gehen\n", 2),
    ],
    ids=["none", "no-newline", "one", "blank", "mark", "crlf", "odd", "long"],
)
def test_translate_writes_one_line_for_each_line(
    data: bytes, lines: int, model: Path, tmp_path: Path
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(data)
    options = ["--beam", "1", "--max-length", "4"]
    assert (
        main(["translate", str(model), "--input", str(source), "--output", str(output), *options])
        == 0
    )
    written = output.read_bytes()
    assert written.count(b"\n") == lines
    assert written == b"" or written.endswith(b"\n")
    assert b"\r" not in written


def test_translate_reads_standard_input_and_writes_standard_output(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    standard_input(monkeypatch, b"\n12\nwir gehen\n")
    assert main(["translate", str(model), "--max-length", "4"]) == 0
    out = capfdbinary.readouterr().out.split(b"\n")
    assert out[:2] == [b"", b"12"]
    assert len(out) == 4  # three lines and what follows the last line end


def test_n_best_stands_on_one_line_with_tabs_between(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    standard_input(monkeypatch, b"wir gehen\n\nder hund\n")
    assert main(["translate", str(model), "--n-best", "3", "--max-length", "4"]) == 0
    lines = capfdbinary.readouterr().out.split(b"\n")[:-1]
    assert [line.count(b"\t") for line in lines] == [2, 0, 2]


def test_controls_of_the_search_reach_it(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    controls = "--no-repeat-ngram 1 --min-length 4 --repetition-penalty 1.2 --word-reward 0.1"
    controls += " --length-penalty average --coverage 0.1 --patience 2 --groups 2 --diversity 0.4"
    standard_input(monkeypatch, b"wir gehen\n\n")
    command = ["translate", str(model), "--max-length", "6", "--json", *controls.split()]
    assert main([*command, "--ban", "dog"]) == 0
    first = json.loads(capfdbinary.readouterr().out.split(b"\n")[0])
    tokens = first["hypotheses"][0]["tokens"]
    assert len(tokens) >= 4
    assert len(set(tokens)) == len(tokens)


def test_a_prefix_begins_every_line(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    standard_input(monkeypatch, b"wir gehen\n\nder hund\n")
    assert main(["translate", str(model), "--max-length", "8", "--prefix", "the man"]) == 0
    lines = capfdbinary.readouterr().out.split(b"\n")
    assert [line.startswith(b"the man") for line in lines] == [True, False, True, False]
    assert main(["translate", str(model), "--format", "html", "--prefix", "the"]) == 2
    assert b"--prefix: is for lines of text, not for documents" in capfdbinary.readouterr().err


def test_controls_that_cannot_be_are_refused(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, message in (
        (["--groups", "3"], "groups: 3 does not divide beam 4; choose from 1, 2, 4"),
        (["--length-penalty", "wu"], "length_penalty: 'wu' is not a form"),
        (["--ban", " "], "banned_words: one of them is blank"),
    ):
        standard_input(monkeypatch, b"der hund\n")
        assert main(["translate", str(model), *options]) == 2
        assert message in capsys.readouterr().err


def test_words_and_terms_are_required_and_named(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("# animals\nhund\thound|dog\n", encoding="utf-8")
    standard_input(monkeypatch, b"der hund\n\nwir gehen\n")
    command = ["translate", str(model), "--max-length", "20", "--json"]
    assert main([*command, "--require", "the man", "--glossary", str(terms)]) == 0
    found = list(map(json.loads, capfdbinary.readouterr().out.splitlines()))
    assert [each["required"] for each in found] == [["the man", "hound|dog"], [], ["the man"]]
    assert all("the man" in found[line]["text"] for line in (0, 2))
    assert all(each["missing"] == [] for each in found)
    terms.write_text("hund\n", encoding="utf-8")
    assert main([*command, "--glossary", str(terms)]) == 2
    assert b"terms.tsv: line 1: 1 column in place of 2" in capfdbinary.readouterr().err


def test_alternatives_at_a_word_are_written_on_its_line(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["translate", str(model), "--max-length", "9", "--alternatives", "3"]
    standard_input(monkeypatch, b"wir gehen\n\n12\n")
    assert main([*command, "--at", "2"]) == 0
    lines = capfdbinary.readouterr().out.split(b"\n")
    assert [line.count(b"\t") for line in lines] == [2, 0, 0, 0]
    assert lines[1:] == [b"", b"12", b""]
    standard_input(monkeypatch, b"wir gehen\n")
    assert main([*command, "--json"]) == 0
    (found,) = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert len(found["alternatives"]) == 3
    assert {*found["alternatives"][0]} == {"word", "probability", "text", "place"}
    assert found["alternatives"][0]["text"] == found["text"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--at", "2"], "--at: says where --alternatives stand, and none are asked for"),
        (["--alternatives", "2", "--n-best", "2"], "--alternatives: each completes one"),
        (["--alternatives", "2", "--explain"], "--alternatives: are of lines of text, without"),
        (["--alternatives", "2", "--ban", "a"], "are found without --prefix, --ban, --require"),
        (["--alternatives", "2", "--prefix", "a"], "--alternatives: are found without --prefix"),
    ],
)
def test_alternatives_with_what_does_not_go_with_them_are_refused(
    model: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["translate", str(model), *options]) == 2
    assert message in capsys.readouterr().err


def test_json_lines_hold_text_score_and_pieces(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    standard_input(monkeypatch, b"wir gehen\n\n")
    assert main(["translate", str(model), "--json", "--n-best", "2", "--max-length", "4"]) == 0
    first, second = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert (first["line"], first["source"], first["copied"]) == (1, "wir gehen", False)
    assert len(first["hypotheses"]) == 2
    best = first["hypotheses"][0]
    assert best["text"] == first["text"]
    assert best["score"] == first["score"] >= first["hypotheses"][1]["score"]
    assert len(best["tokens"]) == len(best["token_log_probs"])
    assert (second["line"], second["text"], second["copied"]) == (2, "", True)


def test_lines_that_were_not_translated_whole_are_named_and_the_status_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_folder(tmp_path / "model", learned=40)
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("wir gehen\n" + "hund " * 100 + "\nwir gehen\n", encoding="utf-8")
    command = ["translate", str(model), "--input", str(source), "--output", str(output)]
    assert main([*command, "--max-length", "4", "--too-long", "cut"]) == 2
    assert "line 2" in capsys.readouterr().err
    assert output.read_bytes().count(b"\n") == 3
    assert main([*command, "--max-length", "4", "--too-long", "split"]) == 0


def test_bad_bytes_leave_no_output_file(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in.de", tmp_path / "out"
    source.write_bytes(b"wir gehen\n\n\xe9\n")
    assert main(["translate", str(model), "--input", str(source), "--output", str(output)]) == 2
    assert f"error: {source}: line 3: not UTF-8 (byte 0xe9" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [source]


def test_an_output_that_cannot_be_written_is_two(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in", tmp_path / "none/out"
    source.write_text("wir gehen\n", encoding="utf-8")
    assert main(["translate", str(model), "--input", str(source), "--output", str(output)]) == 2
    err = capsys.readouterr().err
    assert "none" in err
    assert f"error: {output}: No such file or directory" in err


def test_a_missing_model_is_two_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'none'}: no such model folder\n"


def test_every_mistake_of_a_recipe_is_reported_before_any_data_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        "[data]\n"
        'train = { source = "missing.de", target = "missing.en" }\n'
        "[model]\n"
        "heads = 6\n"
        "[training]\n"
        "stesp = 100\n"
        "[decoding]\n"
        'beam = "four"\n',
        encoding="utf-8",
    )
    assert main(["train", str(recipe)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors == [
        f"error: {recipe}: model.heads: 6 does not divide d_model 512; try 4 or 8",
        f"error: {recipe}: training.stesp: unknown key; did you mean steps?",
        f"error: {recipe}: decoding.beam: 'four' should be a valid integer",
    ]


def test_an_unknown_preset_suggests_the_one_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('[data]\ntrain = "x.tsv"\n[model]\npreset = "bse"\n', encoding="utf-8")
    assert main(["train", str(recipe)]) == 2
    assert "model.preset: 'bse' is not a preset; did you mean base?" in capsys.readouterr().err


def test_a_missing_recipe_or_corpus_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text("", encoding="utf-8")
    assert main(["train", str(tmp_path / "mien.toml")]) == 2
    err = capsys.readouterr().err
    assert f"mien.toml: no such file; did you mean {tmp_path / 'mine.toml'}?" in err
    source = tmp_path / "a.de"
    source.write_text("x\n", encoding="utf-8")
    missing = tmp_path / "a.en"
    assert main(["train", "--source", str(source), "--target", str(missing)]) == 2
    assert f"error: {missing}: no such file" in capsys.readouterr().err


def test_unequal_sides_are_refused_with_both_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.de").write_text("eins\nzwei\ndrei\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("one\ntwo\n", encoding="utf-8")
    run = tmp_path / "run"
    files = ["--source", str(tmp_path / "a.de"), "--target", str(tmp_path / "a.en")]
    assert main(["train", *files, "--run", str(run)]) == 2
    err = capsys.readouterr().err
    assert "3 lines" in err
    assert "has 2" in err
    assert not run.exists()


def test_an_empty_corpus_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.de").write_bytes(b"")
    (tmp_path / "a.en").write_bytes(b"")
    files = ["--source", str(tmp_path / "a.de"), "--target", str(tmp_path / "a.en")]
    assert main(["train", *files, "--run", str(tmp_path / "run")]) == 2
    assert "no lines" in capsys.readouterr().err


def test_train_wants_a_recipe_or_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train"]) == 2
    assert "give a recipe, or both --source and --target" in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["training.steps", "=3", "training..steps=3"])
def test_a_setting_that_is_none_is_explained(
    setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write_corpus(tmp_path)
    files = ["--source", str(source), "--target", str(target)]
    assert main(["train", *files, "--set", setting]) == 2
    assert "write it as training.steps=100" in capsys.readouterr().err


def test_a_dry_run_prints_a_recipe_that_can_be_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write_corpus(tmp_path)
    files = ["--source", str(source), "--target", str(target)]
    small = ["--set", "training.epochs=1", "--set", "tokenizer.size=300"]
    small += ["--set", "model.preset=tiny", "--set", "model.d_model=32", "--set", "model.layers=1"]
    assert main(["train", *files, *small, "--dry-run"]) == 0
    recipe = tmp_path / "printed.toml"
    recipe.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["train", str(recipe), "--run", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run/model.safetensors").exists()


def test_train_translate_evaluate_score_and_average_work_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write_corpus(tmp_path)
    run = tmp_path / "run"
    files = ["--source", str(source), "--target", str(target)]
    small = [
        *("--set", "tokenizer.size=300", "--set", "training.epochs=2"),
        *("--set", "training.checkpoint_every=1", "--set", "training.batch_tokens=256"),
        *("--set", "model.preset=tiny", "--set", "model.d_model=16", "--set", "model.d_ff=16"),
        *("--set", "model.heads=2"),
    ]
    assert main(["train", *files, "--run", str(run), *small]) == 0
    err = capsys.readouterr().err
    assert "saved" in err
    assert f"done: {run} holds the" in err
    for name in ("config.json", "tokenizer.json", "model.safetensors", "README.md"):
        assert (run / name).is_file()
    for name in ("recipe.toml", "metrics.jsonl"):
        assert (run / name).is_file()

    hypotheses = tmp_path / "hypotheses"
    options = ["--metrics", "bleu,chrf,ter", "--hypotheses", str(hypotheses), "--json"]
    assert main(["evaluate", str(run), *files, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"] == 40
    assert set(found["metrics"]) == {"bleu", "chrf", "ter"}
    assert "version:" in found["metrics"]["bleu"]["signature"]
    assert hypotheses.read_bytes().count(b"\n") == 40
    assert main(["evaluate", str(run), *files, "--metrics", "blue"]) == 2
    assert "did you mean bleu?" in capsys.readouterr().err

    assert main(["score", str(run), *files]) == 0
    scores = capsys.readouterr().out.splitlines()
    assert len(scores) == 40
    assert all(float(score) < 0 for score in scores)

    checkpoints = sorted(map(str, (run / "checkpoints").iterdir()))[-2:]
    assert main(["average", *checkpoints, "--to", str(tmp_path / "mean")]) == 0
    assert main(["score", str(tmp_path / "mean"), *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["line"] == 1


def test_training_on_two_lines_sees_two_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Field report 1: U+2028 is part of a line.
    (tmp_path / "a.de").write_bytes("a\u2028b\nc\n".encode())
    (tmp_path / "a.en").write_bytes(b"x\ny\n")
    files = ["--source", str(tmp_path / "a.de"), "--target", str(tmp_path / "a.en")]
    small = ["--set", "training.epochs=1", "--set", "model.d_model=16", "--set", "model.heads=2"]
    assert main(["train", *files, "--run", str(tmp_path / "run"), *small]) == 0
    assert "on 2 examples" in capsys.readouterr().err


def test_the_machine_encoding_does_not_matter(model: Path, tmp_path: Path) -> None:
    # Field report 3: a C locale with UTF-8 mode off.
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes("é 日\n日\n".encode())
    command = ["translate", str(model), "--input", str(source), "--output", str(output)]
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", *command, "--max-length", "3", "--json"],
        env={"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PATH": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in output.read_bytes().split(b"\n")[:-1]]
    assert [line["source"] for line in lines] == ["é 日", "日"]


def test_doctor_says_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["devices"]["cpu"] == "works"
    assert "torch" in found["versions"]
    engines = found["engines of translate"]
    assert "float32" in engines["torch"]
    assert all(kind in engines["fused"] for kind in ("float32 (", "bfloat16 (", "int8 ("))
    assert engines["kernels of fused"].startswith("kept ")
    assert "int8" in engines["ctranslate2"]
    assert found["optional libraries"]["numba"].endswith("--engine fused, --dtype int8")
    assert main(["doctor"]) == 0
    assert "GFLOP/s" in capsys.readouterr().out


def test_an_interrupt_saves_and_exits_with_130(tmp_path: Path) -> None:
    source, target = write_corpus(tmp_path)
    run = tmp_path / "run"
    command = [
        *(sys.executable, "-m", "dragoman", "train", "--source", str(source)),
        *("--target", str(target), "--run", str(run), "--set", "training.epochs=100000"),
        *("--set", "training.log_every=1", "--set", "model.d_model=16", "--set", "model.heads=2"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("step"):
                process.send_signal(2)
                break
        rest = process.stderr.read()
        assert process.wait(timeout=120) == 130, rest
    assert "(interrupted)" in rest
    assert "the same command goes on from there" in rest
    assert list((run / "checkpoints").glob("step-*"))
    assert (run / "model.safetensors").is_file()  # what there is can be used


def test_lines_of_german_reach_the_model_whole(model: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("\n".join(GERMAN), encoding="utf-8")
    command = ["translate", str(model), "--input", str(source), "--output", str(output), "--json"]
    assert main([*command, "--max-length", "3"]) == 0
    lines = output.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["source"] for line in lines] == GERMAN


def test_relative_paths_continue_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["train", "--source", "train.de", "--target", "train.en", "--run", "runs/mine"]
    small = ["--set", "training.steps=3", "--set", "model.d_model=16", "--set", "model.heads=2"]
    assert main([*command, *small, "--set", "training.stop_after=1"]) == 0
    assert "stopped after update 1 of 3" in capsys.readouterr().err
    assert main([*command, *small]) == 0
    assert "from update 1" in capsys.readouterr().err
    assert main([*command, *small]) == 0
    assert "this run is finished" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path / "runs")  # the kept recipe means the same files from anywhere
    assert main(["train", "mine/recipe.toml", "--run", "mine"]) == 0
    assert "this run is finished" in capsys.readouterr().err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == version("dragoman")


def test_a_tokenizer_that_sacrebleu_lacks_is_two(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write_corpus(tmp_path)
    files = ["--source", str(source), "--target", str(target)]
    assert main(["evaluate", str(model), *files, "--tokenize", "zhh"]) == 2
    assert "'zhh' is not a tokenizer of sacreBLEU; did you mean zh?" in capsys.readouterr().err


def test_a_checkpoint_is_not_a_model_and_the_message_says_how_it_becomes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "step-00000001").mkdir()
    assert main(["translate", str(tmp_path / "step-00000001")]) == 2
    assert "dragoman average CHECKPOINT --to FOLDER" in capsys.readouterr().err


def test_average_does_not_write_over_a_model(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["average", str(model), str(model), "--to", str(model)]) == 2
    assert "holds a model already; choose a new folder" in capsys.readouterr().err


def test_output_to_a_device_leaves_the_device_a_device(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("wir gehen\n", encoding="utf-8")
    command = ["translate", str(model), "--input", str(source), "--max-length", "3"]
    assert main([*command, "--output", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    assert main([*command, "--output", str(link)]) == 0
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes().count(b"\n") == 1
    assert main([*command, "--output", str(tmp_path)]) == 2


def test_a_pair_longer_than_the_learned_positions_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_folder(tmp_path / "model", learned=20)
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("wir\n" + "wir " * 30 + "\n", encoding="utf-8")
    target.write_text("we\nwe\n", encoding="utf-8")
    assert main(["score", str(model), "--source", str(source), "--target", str(target)]) == 2
    err = capsys.readouterr().err
    assert "source 2: " in err
    assert "the model has 20 positions; shorten it" in err


def test_every_line_of_the_metrics_is_json(tmp_path: Path) -> None:
    source, target = write_corpus(tmp_path)
    files = ["--source", str(source), "--target", str(target), "--run", str(tmp_path / "run")]
    small = ["--set", "training.steps=3", "--set", "model.d_model=16", "--set", "model.heads=2"]
    assert main(["train", *files, *small]) == 0
    for line in (tmp_path / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.d_model=99999999999999999999", "model.d_model"),
        ("model.preset=[1]", "model.preset"),
        ("training.batch_tokens=1", "training.batch_tokens"),
        ("training.seed=99999999999999999999999", "training.seed"),
        ("training.clip_norm=inf", "training.clip_norm"),
        ("tokenizer.size=99999999999999999", "tokenizer.size"),
        ("decoding.beam=99999999999999", "decoding.beam"),
    ],
)
def test_numbers_beyond_reason_are_refused_at_once(
    setting: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write_corpus(tmp_path)
    files = ["--source", str(source), "--target", str(target), "--run", str(tmp_path / "run")]
    assert main(["train", *files, "--set", setting]) == 2
    assert f"error: {message}: " in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("composed", ["menší hund", "한국어 hund", "क़लम hund"])
def test_decomposed_accents_change_nothing(
    composed: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Field report 10: the same sentence to the eye, in two Unicode forms.
    forms = [unicodedata.normalize(form, composed) for form in ("NFC", "NFD")]
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("".join(f"{form}\n" for form in forms), encoding="utf-8")
    command = ["translate", str(model), "--input", str(source), "--output", str(output)]
    assert main([*command, "--max-length", "5"]) == 0
    first, second = output.read_bytes().splitlines()
    assert first == second
    target = tmp_path / "target"
    target.write_text("".join(f"{form}\n" for form in reversed(forms)), encoding="utf-8")
    files = ["--source", str(source), "--target", str(target)]
    assert main(["score", str(model), *files]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
