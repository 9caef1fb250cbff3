"""Steps of hatchling, which builds the wheel: what it depends on, and the files outside its packages.

The requirement files are the only list of what OneClaw needs; CONTRIBUTING.md says how they are pinned.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# Folders and files of the checkout that the wheel has in oneclaw/shipped (oneclaw/config/release.py).
SHIPPED = ("templates", "static", "locale", "CHANGELOG.md", "requirements/saml.txt")
EXTRAS = ("saml",)


class MetadataHook(MetadataHookInterface):
    """What the wheel depends on: requirements/base.in, and a file for each extra."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the dependencies and the extras to `metadata`."""
        folder = Path(self.root, "requirements")
        metadata["dependencies"] = (folder / "base.in").read_text().split("\n")[:-1]
        metadata["optional-dependencies"] = {
            **{name: (folder / f"{name}.in").read_text().split() for name in EXTRAS},
            # Runs the model of a folder that ONECLAW_LOCAL_MODEL names; pinned for tests in requirements/test.txt.
            "onnx": ["onnxruntime"],
        }


class BuildHook(BuildHookInterface[Any]):
    """The files outside the packages, and the tested versions as constraints."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include them in the wheel; a source distribution has them where the checkout has them."""
        if self.target_name != "wheel":
            return
        included = build_data["force_include"]
        for name in SHIPPED:
            included[str(Path(self.root, name))] = f"oneclaw/shipped/{name}"
        self.temporary = tempfile.TemporaryDirectory()
        constraints = Path(self.temporary.name, "constraints.txt")
        constraints.write_text(constraints_of(Path(self.root, "requirements", "run.txt").read_text()))
        included[str(constraints)] = "oneclaw/shipped/requirements/constraints.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file of the constraints."""
        if self.target_name == "wheel":
            self.temporary.cleanup()


def constraints_of(pinned: str) -> str:
    """Return the lines `name==version` of a requirement file with hashes, which uv refuses in constraints of a wheel
    that has none."""
    lines = re.findall(r"^([a-z0-9._-]+==[^\\\n]+?)\s*\\?$", pinned, re.MULTILINE)
    return "# The versions with which this release was tested.\n" + "".join(f"{line}\n" for line in lines)
