"""How do agents of other frameworks use the memory? Each framework is an extra, loaded when asked for."""
