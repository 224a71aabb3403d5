"""The part of a release's page that belongs to one family of methods."""
