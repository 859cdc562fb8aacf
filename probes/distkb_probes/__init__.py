"""Live probes of distkb. They run in the user's environment: standard library and torch only, never distkb."""
