"""The use cases of the studio, as plain functions below pages and API."""
