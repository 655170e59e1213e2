"""How does a program in another process use the memory? Over REST: ``mnemic.api.app.create_app``."""
