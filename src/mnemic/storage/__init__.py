"""Where are the rows? PostgreSQL: connections, statements, migrations, the embedded server."""
