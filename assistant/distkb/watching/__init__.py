"""Stays beside a job: knows how it goes on, looks at all ranks when it does not, and keeps what was seen."""
