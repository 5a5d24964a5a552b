"""Pages about runs, plans and programs, which notebooks show and `report` writes."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _native
from .errors import from_json


class Page:
    """An object that can be shown as a page."""

    def record(self) -> Mapping[str, Any]:
        """Returns the JSON of the page."""
        raise NotImplementedError

    def page(self, outputs: bool = False) -> str:
        """Returns the page: one HTML document without scripts, which loads nothing.

        Args:
            outputs: whether to show the outputs. Everybody who sees the page then knows the outputs.
        """
        return self._made(outputs, None)

    def report(self, path: str | os.PathLike[str], outputs: bool = False) -> Path:
        """Writes the page to a file, as `--report` does. Only its owner can read the file, and it is complete
        or absent.

        Args:
            outputs: whether to show the outputs, as `--report-outputs` does.
        """
        self._made(outputs, path)
        return Path(path)

    def _made(self, outputs: bool, path: str | os.PathLike[str] | None) -> str:
        record = dict(self.record())
        if outputs:
            record["outputs"] = self._outputs_of_record()
        try:
            return _native.page(json.dumps(record, default=dict), outputs, path)
        except _native.Failed as failed:
            raise from_json(failed.args[0]) from None

    def _outputs_of_record(self) -> Any:
        """Returns the outputs in the form of the command's JSON. A plan and a program have none."""
        return None

    def _repr_html_(self) -> str:
        # The page is in a frame of its own, so that it shares neither styles nor anything else with the
        # notebook's page.
        whole = html.escape(self.page(), quote=True)
        style = "width: 100%; height: 40em; border: 1px solid #8888"
        return f'<iframe sandbox="" title="Brickwork" style="{style}" srcdoc="{whole}"></iframe>'
