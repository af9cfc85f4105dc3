"""Sessions under faults."""
