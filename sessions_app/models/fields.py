"""A JSON value kept as text: the same on every database, and with NUL allowed inside strings.

`jsonb` refuses `\\u0000`, which tool arguments may well hold; nothing here is ever queried by its inside.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    TextField = models.TextField[Any, Any]
else:
    TextField = models.TextField


_SURROGATE = re.compile("[\ud800-\udfff]")


def dump_json(value: Any) -> str:
    """Compact JSON that encodes to UTF-8 whatever it holds: a lone surrogate makes the whole text ASCII."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if _SURROGATE.search(text):
        return json.dumps(value, separators=(",", ":"))
    return text


class JSONTextField(TextField):
    """A text column read and written as the JSON value it spells."""

    # What type checkers take for the column's Python side.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else dump_json(value)

    def to_python(self, value: Any) -> Any:
        return value

    def value_to_string(self, obj: models.Model) -> str:
        return dump_json(self.value_from_object(obj))
