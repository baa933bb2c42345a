"""Running what a captured plan needs besides the user's job: saving the chosen intermediates."""
