"""Fetch the scripts of others that the studio's pages use: ``python tools/packaging/vendor.py``.

Which they are is in ``static/vendor/VERSIONS.toml``. They come through ``npm pack``, from whatever registry npm is
set up for; one whose digest is not the one that is written down is refused, so a new version is a change of that
file that somebody read. What is written beside it is committed: nobody who installs or tests Headcount runs this.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parents[2] / "src" / "headcount" / "studio" / "static" / "vendor"


def main() -> int:
    for name, wanted in listed().items():
        with tempfile.TemporaryDirectory() as folder:
            packed = pack(f"{name}@{wanted['version']}", Path(folder))
            digest = integrity(packed.read_bytes())
            if digest != wanted["integrity"]:
                print(f"{name}: the package is {digest}, not {wanted['integrity']}", file=sys.stderr)
                return 1
            with tarfile.open(packed) as held:
                for file in wanted["files"]:
                    content = vendored(member(held, file["inside"]))
                    (VENDOR / file["file"]).write_bytes(content)
                    print(f"{file['file']}: {name} {wanted['version']}, sha256 {sha256(content)}")
    return 0


def listed() -> dict[str, dict[str, Any]]:
    """Return what is vendored: packages, their versions and digests, and which of their files are kept."""
    return tomllib.loads((VENDOR / "VERSIONS.toml").read_text(encoding="utf-8"))


def pack(package: str, folder: Path) -> Path:
    done = subprocess.run(
        ["npm", "pack", package, "--silent"], cwd=folder, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.split()[-1]


def integrity(content: bytes) -> str:
    """Return the digest of a package as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def member(held: tarfile.TarFile, inside: str) -> bytes:
    opened = held.extractfile(f"package/{inside}")
    if opened is None:
        raise SystemExit(f"{inside} is not a file of the package")
    return opened.read()


def vendored(content: bytes) -> bytes:
    """Return a file as pages load it: a module on top of Vega as a plain script, and no names of maps.

    >>> vendored(b"import { a, b } from 'vega-util';\\nexport { f as g };\\n//# sourceMappingURL=x.map\\n")
    b'(function () {\\nconst { a, b } = window.vega;\\nwindow.vega.g = f;\\n})();\\n'
    """
    text = re.sub(r"//# sourceMappingURL=\S+\n?", "", content.decode())
    plain = re.sub(r"^import (\{[^}]*\}) from 'vega-util';", r"const \1 = window.vega;", text, flags=re.MULTILINE)
    if plain == text:
        return text.encode()
    plain = re.sub(r"^export \{ (\w+) as (\w+) \};", r"window.vega.\2 = \1;", plain, flags=re.MULTILINE)
    return f"(function () {{\n{plain}}})();\n".encode()


if __name__ == "__main__":
    sys.exit(main())
