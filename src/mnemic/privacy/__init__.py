"""What a user may ask of us about their own data: to be forgotten."""
