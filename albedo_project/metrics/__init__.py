"""`/metrics` for Prometheus: what this process counts, and what the database has to do."""

from albedo_project.metrics.view import metrics

__all__ = ["metrics"]
