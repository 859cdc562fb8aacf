"""Bilingual search: tokens, index, query, and how well a free-text report fits each entry."""
