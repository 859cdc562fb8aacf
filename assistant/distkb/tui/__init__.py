"""The screen of distkb. Widgets show state and post messages; nothing here decides anything about a diagnosis."""
