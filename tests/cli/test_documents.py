"""Documents on the command line: where they come from and go to, what is said, exit status."""

import io
import unicodedata
from pathlib import Path

import pytest

from dragoman.cli import documents
from dragoman.cli.main import main
from dragoman.documents import DOCUMENT_FORMATS
from dragoman.translator import Fragment, Tag, Translator
from tests.fixtures import tiny_folder

CATALOGUE = (
    b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    b'msgid "der %d hund"\nmsgstr ""\n\nmsgid "ein hund"\nmsgstr "a dog"\n'
)
FILLED = CATALOGUE.replace(
    b'msgid "der %d hund"\nmsgstr ""', b'#, fuzzy\nmsgid "der %d hund"\nmsgstr "DER %D HUND"'
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("cli") / "model")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Stand in for the model; gives the options that it was asked with."""
    seen: list[dict[str, object]] = []

    def translate_fragments(
        translator: Translator, fragments: list[Fragment], **options: object
    ) -> list[Fragment]:
        assert isinstance(translator, Translator)
        seen.append(options)
        return [tuple(p if isinstance(p, Tag) else p.upper() for p in f) for f in fragments]

    monkeypatch.setattr("dragoman.translate_fragments", translate_fragments, raising=False)
    return seen


def test_a_document_is_filled_and_what_was_done_is_said(
    model: Path,
    asked: list[dict[str, object]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, output = tmp_path / "de.po", tmp_path / "en.po"
    source.write_bytes(CATALOGUE)
    files = ["--input", str(source), "--output", str(output)]
    assert main(["translate", str(model), *files, "--format", "po", "--beam", "2"]) == 0
    assert output.read_bytes() == FILLED
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{source}: line 4: the translation lacks %d" in said.err
    assert f"{source}: 1 filled; left as they were: 1 had a translation" in said.err
    assert asked[0]["beam"] == 2


def test_a_real_model_keeps_tags_and_placeholders(model: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "a.html", tmp_path / "b.html"
    source.write_text("<p class=x>der <b>hund</b> schläft %s <br> ein mann</p>\n")
    files = ["--input", str(source), "--output", str(output)]
    options = ["--format", "html", "--beam", "1", "--max-length", "4"]
    assert main(["translate", str(model), *files, *options]) == 0
    made = output.read_text()
    assert made.startswith("<p class=x>")
    assert made.endswith("</p>\n")
    for kept in ("<b>", "</b>", "%s", "<br>"):
        assert made.count(kept) == 1


def test_decomposed_accents_change_nothing(model: Path, tmp_path: Path) -> None:
    # Field report 10.
    source, made = tmp_path / "a.html", list[bytes]()
    for form in ("NFC", "NFD"):
        source.write_text(unicodedata.normalize(form, "<p>menší <b>hund</b></p>\n"), "utf-8")
        files = ["--input", str(source), "--output", str(tmp_path / "b.html")]
        options = ["--format", "html", "--beam", "1", "--max-length", "4"]
        assert main(["translate", str(model), *files, *options]) == 0
        made.append((tmp_path / "b.html").read_bytes())
    assert made[0] == made[1]


def test_standard_input_becomes_standard_output(
    model: Path,
    asked: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CATALOGUE)))
    assert main(["translate", str(model), "--format", "po"]) == 0
    assert capfdbinary.readouterr().out == FILLED


def test_a_model_of_one_pair_is_not_asked_for_the_language_of_a_memory(
    model: Path, asked: list[dict[str, object]], tmp_path: Path
) -> None:
    unit = b'<tu><tuv xml:lang="de"><seg>hund</seg></tuv>%b</tu>'
    memory = b'<tmx><header srclang="de"/><body>' + unit + b"</body></tmx>"
    source = tmp_path / "a.tmx"
    source.write_bytes(memory % b"")
    files = ["--input", str(source), "--output", str(source)]
    asks = ["--format", "tmx", "--target-language", "en"]
    assert main(["translate", str(model), *files, *asks]) == 0
    assert source.read_bytes() == memory % b'<tuv xml:lang="en"><seg>HUND</seg></tuv>'
    assert "target_language" not in asked[0]


def test_a_broken_document_leaves_no_output(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "a.xlf", tmp_path / "b.xlf"
    source.write_bytes(b"<xliff>\n</xlif>")
    files = ["--input", str(source), "--output", str(output)]
    assert main(["translate", str(model), *files, "--format", "xliff"]) == 2
    assert not output.exists()
    assert f"error: {source}: line 2: not well-formed XML" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--input", "a.po", "--format", "pdf"], "choose from text, html, po, qt, tmx, xliff; "),
        (["--format", "po", "--n-best", "2"], "--n-best: a document holds one translation"),
        (["--format", "po", "--json"], "--json: a document is written as it came"),
        (["--format", "po", "--input", "a.po.gz"], "a.po.gz: packed documents are not filled"),
        (["--format", "po", "--input", "none.po"], "none.po: no such file"),
    ],
)
def test_what_cannot_be_asked_is_two(
    options: list[str], problem: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(model), *options]) == 2
    assert problem in capsys.readouterr().err


def test_a_document_taken_for_lines_is_pointed_out(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.po"
    source.write_text("\n")
    assert main(["translate", str(model), "--input", str(source)]) == 0
    assert "taken as lines of text; --format po fills it" in capsys.readouterr().err


def test_the_command_line_offers_every_format() -> None:
    assert sorted(documents.FORMATS) == sorted({"text", *DOCUMENT_FORMATS})
