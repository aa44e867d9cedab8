import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures import tiny_folder

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "multi30k"

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs Multi30k beside the repository")
def test_sides_take_turns_and_one_that_cannot_run_is_left_out(tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "model")
    names = ["dragoman torch float32", "ctranslate2 - float32", "dragoman torch float3"]
    command = [sys.executable, str(ROOT / "benchmarks" / "decode.py"), str(model), "--quick"]
    command += ["--data", "multi30k", "--only", "greedy", "--threads", "1", "--sides", *names]
    subprocess.run([*command, "--results", str(tmp_path)], check=True, capture_output=True)
    (file,) = tmp_path.glob("decode-*.json")
    sides = json.loads(file.read_text())["sides"]
    assert list(sides) == names
    assert "float3" in sides[names[2]]["error"]
    # Random weights loop, so whatever differs is cut off at the same length: 100 pieces.
    own, peer = (sides[name]["multi30k greedy"] for name in names[:2])
    assert own["equal"] == own["sentences"] == 16
    assert peer["equal"] == peer["sentences"] == 60
    assert len(own["ratios"]["ctranslate2 - float32"]) == 1
    table = file.with_suffix(".md").read_text()
    assert "| dragoman torch float32 |" in table
    assert "- dragoman torch float3: ConfigError: dtype: 'float3' is not a choice" in table
