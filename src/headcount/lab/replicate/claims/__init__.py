"""The claims of papers, and the rules that judge them."""
