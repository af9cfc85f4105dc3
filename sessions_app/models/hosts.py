"""Which processes run actors, as each says of itself again and again."""

from __future__ import annotations

from django.db import models


class Host(models.Model):
    """One actor host; it is alive until `alive_until`, by the database's clock."""

    name = models.CharField(max_length=200, primary_key=True)
    alive_until = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
