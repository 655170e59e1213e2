"""What is done by the hour and by night? ``work`` does it, ``runs`` sees that one worker does."""
