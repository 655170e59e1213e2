"""Which routes are there? One module a resource, each with one ``router``."""
