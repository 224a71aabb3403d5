#!/bin/sh
# Release what happened on one day: `nightly.sh 2026-03-06`, or yesterday in UTC if no day is given.
# Run it again whenever you like: what was published for a day is free, and is put in place once more.
set -eu
day=${1:-$(date -u -d yesterday +%F)}
next=$(date -u -d "$day + 1 day" +%F)
mkdir -p releases

# Standard output is one JSON document, and public. Standard error is the curator's.
headcount release visits.csv \
    --user user --item venue --items venues.csv \
    --time time --since "$day" --until "$next" \
    --epsilon 1 --dataset "visits@$day" --analyst nightly \
    --out "releases/$day" --force --quiet --json \
    > releases/.told 2>> curator.log
mv releases/.told "releases/$day.json"
