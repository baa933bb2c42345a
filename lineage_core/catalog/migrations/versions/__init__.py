"""The migrations, oldest first; one module each."""
