"""One reader for each kind of thing that a user can hand over; none of them knows a cause."""
