"""Which conversation does `mnemic demo` show? The bundled sample and its questions, as data."""
