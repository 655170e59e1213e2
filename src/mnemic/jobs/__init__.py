"""What is done by the hour and by night, while nobody asks? ``work`` does it, ``runs`` sees that one worker does."""
