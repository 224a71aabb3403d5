"""The replay contract: what meets noise on a log and on its neighbour, draw for draw."""
