"""The pages that people see: shells that the browser fills from the API and the stream."""
