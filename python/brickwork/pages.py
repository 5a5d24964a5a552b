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
    """Something that a page can be made of."""

    def record(self) -> Mapping[str, Any]:
        """Returns the JSON that the page is about."""
        raise NotImplementedError

    def page(self) -> str:
        """Returns the page: one HTML document without scripts, which loads nothing, without any output."""
        try:
            return _native.page(json.dumps(self.record(), default=dict))
        except _native.Failed as failed:
            raise from_json(failed.args[0]) from None

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page to a file, as `--report` does."""
        Path(path).write_text(self.page(), encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        # In a frame of its own, so that neither styles nor anything else of the notebook's page meet it.
        whole = html.escape(self.page(), quote=True)
        style = "width: 100%; height: 40em; border: 1px solid #8888"
        return f'<iframe sandbox="" title="Brickwork" style="{style}" srcdoc="{whole}"></iframe>'
