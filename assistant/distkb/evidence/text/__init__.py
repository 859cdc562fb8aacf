"""What any text that was given is made of: how it is opened, cleaned, dated, and whose line each is."""
