"""Web pages, charts and spreadsheets of releases and experiments: post-processing of released tables."""
