#!/bin/sh
# Prints the path of the Bun version that package.json pins, fetching it once into .tools/ when needed.
# Callers put its folder on PATH (`bun run` does not do that by itself):
#   bun=$(sh scripts/bun.sh) && PATH=$(dirname "$bun"):$PATH
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
version=$(sed -n 's/.*"packageManager": *"bun@\([^"+]*\).*/\1/p' "$root/package.json")
[ -n "$version" ] || { echo "bun.sh: package.json pins no bun version in packageManager" >&2; exit 1; }

# Running a candidate is the only test that covers all of: another version, npm's stub that is left when install
# scripts are off, and a build for another libc or processor. (Since Bun 1.4 one x64 build serves CPUs with and
# without AVX2, so there is no baseline build to choose.)
fits() { [ -x "$1" ] && [ "$("$1" --version 2>/dev/null </dev/null)" = "$version" ]; }

find_bun() {
  for candidate in "$(command -v bun 2>/dev/null || true)" "$root/.tools/node_modules/.bin/bun" \
    "$root"/.tools/node_modules/@oven/*/bin/bun; do
    if fits "$candidate"; then echo "$candidate"; return 0; fi
  done
  return 1
}

find_bun && exit 0
if command -v npm >/dev/null 2>&1; then
  echo "Fetching Bun $version with npm into .tools/ ..." >&2
  # No install scripts: the binary lies ready inside the platform package, and the script could only try to reach
  # hosts that may be blocked. npm's own words go to stderr, since stdout is our answer.
  mkdir -p "$root/.tools"
  npm install --prefix "$root/.tools" --no-save --ignore-scripts --include=optional --no-audit --no-fund \
    --loglevel=error "bun@$version" >&2 && find_bun && exit 0
  echo "bun.sh: npm did not bring a Bun $version that runs on $(uname -s) $(uname -m)." >&2
else
  echo "bun.sh: neither Bun $version nor npm was found." >&2
fi
cat >&2 <<END
To go on, do one of these and run the same command again:
  - install Node.js, which brings npm (Debian, Ubuntu: apt-get install npm; Alpine: apk add npm; macOS: brew install node)
  - install Bun $version itself (see bun.com) so that 'bun --version' says $version
  - or build nothing: ./install.sh --file BINARY installs a ready-made tutti
END
exit 1
