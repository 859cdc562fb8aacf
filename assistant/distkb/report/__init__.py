"""One writer per format over the same answer: text for people, JSON for programs, Markdown for issues and chats."""
