"""How the local engine measures each bound."""
