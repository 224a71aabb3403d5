"""What is compiled of topics, of PriTop and of graph ranking."""
