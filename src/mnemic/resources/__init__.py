"""What do memories come from, and what can be searched beside them? Chat turns and documents, as chunks."""
