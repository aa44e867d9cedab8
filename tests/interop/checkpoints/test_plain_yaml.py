"""The part of YAML that is read gives what PyYAML gives; all else is refused by its line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.interop.checkpoints.plain_yaml import read_plain_yaml

AS_USERS_WRITE = """\
name: "transformer_small"   # a comment
joeynmt_version: "2.3.0"

data:
    train: "data/train"
    dataset_type: "huggingface"
    src:
        lang: "de"
        lowercase: False
        level: 'bpe'
        tokenizer_cfg:
            model_file: sp.model
            alpha: 0.1
    special_symbols:
        lang_tags: ["<de>", "<en>"]
        empty: []
        tags:
        - one
        - 2
    dev: data/#dev
testing:
    beam_size: 5
    beam_alpha: -1.0
    n: 1e-3
    eval_metrics: [bleu, chrf]
training:
    learning_rate: 0.0005
    nothing:
    overwrite: True
    amp: yes
    shuffle: Off
    print: ~
    weight: .5
    title: two words: no  # and so on
"""


def read(text: str, folder: Path) -> dict[str, Any]:
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return read_plain_yaml(file)


def test_settings_are_read_as_pyyaml_reads_them(tmp_path: Path) -> None:
    yaml: Any = pytest.importorskip("yaml", reason="needs PyYAML to compare with")
    text = AS_USERS_WRITE.replace("two words: no", "two words").replace("1e-3", "1.0e-3")
    assert read(text, tmp_path) == yaml.safe_load(text)


_names = st.from_regex(r"\A[a-z][a-z_]{0,8}\Z")
_words = st.from_regex(r"\A[A-Za-z./_][A-Za-z0-9./_ -]{0,12}[A-Za-z0-9]\Z").filter(
    lambda text: text.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
)
_values = st.one_of(
    st.booleans(), st.none(), st.integers(-(10**12), 10**12), _words, st.lists(_words, max_size=3)
)
_tables = st.recursive(
    st.dictionaries(_names, _values, min_size=1, max_size=4),
    lambda inner: st.dictionaries(_names, st.one_of(_values, inner), min_size=1, max_size=4),
    max_leaves=6,
)


@given(table=_tables)
def test_what_pyyaml_writes_is_read_back(
    table: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    yaml: Any = pytest.importorskip("yaml", reason="needs PyYAML to compare with")
    text = yaml.safe_dump(table, default_flow_style=False, width=10_000)
    assert read(text, tmp_path_factory.getbasetemp()) == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system ['x']", "line 1: .* is more of YAML than is read"),
        ("a: &b 1", "line 1: .* is more of YAML"),
        ("a: *b", "line 1: .* is more of YAML"),
        ("a: {b: 1}", "line 1: .* is more of YAML"),
        ("a: |\n  text", "line 1: .* is more of YAML"),
        ("a: 'it''s'", "line 1: .* is more of YAML"),
        ("a: 1\n  b: 2", "line 2: .* is more of YAML"),
        ("a:\n    b: 1\n  c: 2", "line 3: .* is more of YAML"),
        ("a:\n- b: 1", "line 2: .* is more of YAML"),
        ("a: 1\na: 2", "line 2: a stands there twice"),
        ("a: 010", "line 1: .* is more of YAML"),
        ("a: 1_000", "line 1: .* is more of YAML"),
        ("a: 0x1F", "line 1: .* is more of YAML"),
        ("a: 1:30", "line 1: .* is more of YAML"),
        ("a: " + "b " * 3000, "has a line longer than lines of settings are"),
        ("just text", "line 1: .* is more of YAML"),
        ("- a\n- b", "holds a list, not a table of settings"),
        ("# nothing", "holds no settings"),
        ("", "holds no settings"),
    ],
)
def test_what_is_not_read_is_refused_by_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        read(text, tmp_path)
    assert str(tmp_path / "config.yaml") in str(caught.value)


def test_a_file_without_end_or_without_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a: \xff")
    with pytest.raises(ModelError, match="is no text in UTF-8"):
        read_plain_yaml(file)
    file.write_bytes(b"#" * (1 << 21))
    with pytest.raises(ModelError, match="is larger than settings are"):
        read_plain_yaml(file)
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        read_plain_yaml(tmp_path / "other.yaml")
    deep = "\n".join(f"{' ' * depth}a:" for depth in range(100))
    with pytest.raises(ModelError, match="is more of YAML"):
        read(deep, tmp_path)
