import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.inspection import attention_page
from tests.inspection.maps import random_maps

HOSTILE = "</script><b>&"


def held(page: str) -> dict[str, Any]:
    found = re.search(r"^const data = (.*);$", page, re.MULTILINE)
    assert found is not None
    return json.loads(found[1])


def test_the_page_has_every_weight_and_name() -> None:
    maps = random_maps([" 狗", "睡"], [" كلب", HOSTILE])
    data = held(attention_page([maps, maps], "model <1>"))
    assert data["title"] == "model <1>"
    assert len(data["pairs"]) == 2
    cross = data["pairs"][0]["cross"]
    assert cross["columns"] == ["狗", "睡"]
    assert cross["rows"] == ["كلب", HOSTILE, "</s>"]
    numbers = np.frombuffer(base64.b64decode(cross["weights"]), "<u2").reshape(cross["shape"])
    assert cross["shape"] == [2, 3, 3, 2]
    np.testing.assert_allclose(numbers / 65_535, maps.cross, atol=1e-5)
    np.testing.assert_allclose((numbers / 65_535).sum(-1), 1, atol=2e-5)


def test_the_page_asks_for_nothing_and_no_piece_ends_its_script() -> None:
    page = attention_page([random_maps([HOSTILE], [HOSTILE])], HOSTILE)
    assert page.count("</script>") == 1
    assert "default-src 'none'" in page
    without_names = page.replace("http://www.w3.org/2000/svg", "")  # a name space, never fetched
    assert not re.search(r"https?:|\bsrc=|@import|url\(|fetch\(|XMLHttp", without_names)


def test_a_page_needs_a_pair() -> None:
    with pytest.raises(ValueError, match="no pair"):
        attention_page([], "model")


def test_a_browser_draws_it(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here to open the page")
    page = tmp_path / "page.html"
    maps = random_maps([" 狗", "睡"], [" dog"])
    html = attention_page([maps], "a model")
    # As if a mouse were over the word dog.
    page.write_text(html.replace("\nbegin();\n", "\nbegin(); point(0, null);\n"), "utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
    profile = f"--user-data-dir={tmp_path}/profile"
    done = subprocess.run(
        [*command, profile, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    drawn = done.stdout
    assert "<title>a model</title>" in drawn
    assert drawn.count("<canvas") == 2 * 4  # two layers, three heads and their mean
    assert drawn.count("<rect") == 2 * 2  # dog and the end symbol look at two pieces
    assert 'aria-label="layer 2, head 3"' in drawn
    told = re.search(r'id="told"[^>]*>(.*?)</div>', drawn)
    assert told is not None
    words = re.sub(r"<[^>]*>", "", told[1])
    first, second = maps.cross[1].mean(0)[0]  # of the last layer
    shown = sorted([(first, "狗"), (second, "睡")], reverse=True)
    assert words.startswith(f"dog looks at {shown[0][1]} {round(100 * float(shown[0][0]))} %, ")
