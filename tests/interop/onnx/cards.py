"""The program on a card, run by itself."""

import re
import subprocess
import sys
from pathlib import Path


def program_of(folder: Path) -> str:
    """Take the program out of the card."""
    found = re.search(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def run_card(folder: Path, *lines: str) -> str:
    """Run it as its reader would: no Dragoman in sight, and no PyTorch."""
    code = "import sys\nsys.modules['dragoman'] = sys.modules['torch'] = None\n"
    command = [sys.executable, "-X", "utf8", "-c", code + program_of(folder)]
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        command, input=text, cwd=folder, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
