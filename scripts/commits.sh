#!/bin/sh
# Fails if the subject of a commit is longer than 72 characters. Older commits did not follow the rule.
FIRST=c6fcd716
git rev-parse --quiet --verify "$FIRST^{commit}" >/dev/null || exit 0 # not a clone, or a shallow one
long=$(git log --no-merges --format=%s "$FIRST..HEAD" | LC_ALL=C.UTF-8 grep -E '.{73}') || exit 0
printf 'These commit subjects are longer than 72 characters:\n%s\n' "$long" >&2
exit 1
