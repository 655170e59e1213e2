"""What can be done from a terminal? One verb a job."""
