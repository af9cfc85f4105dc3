"""Django's SQLite backend, which besides minds that the files it writes are those in the data folder."""
