"""Run Argos Translate on one package: started by ``client.py`` in a process of its own.

It needs nothing of Dragoman, so that it may run where only ``argostranslate`` is installed. That
library reads its settings when it is imported, so they are in the environment already.

Arguments: the package, the codes of both languages. It reads JSON from its input, a list of texts;
the last line that it writes is JSON too: the list of their translations.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def main(package: str, source: str, target: str) -> None:
    """Install the package and translate."""
    # Any: it is optional, and has no types.
    installing: Any = import_module("argostranslate.package")
    translating: Any = import_module("argostranslate.translate")
    installing.install_from_path(Path(package))
    translation = translating.get_translation_from_codes(source, target)
    texts = json.load(sys.stdin)
    # ASCII, so that no encoding of the console matters.
    found = json.dumps([translation.translate(text) for text in texts])
    sys.stdout.write(f"\n{found}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
