"""What must hold in a knowledge base beyond the types: one module per kind of rule."""
