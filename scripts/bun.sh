#!/bin/sh
# Prints the path of the Bun version that package.json pins. Downloads it once to .tools/ if needed.
# Callers add its folder to PATH (`bun run` does not do that by itself):
#   bun=$(sh scripts/bun.sh) && PATH=$(dirname "$bun"):$PATH
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
version=$(sed -n 's/.*"packageManager": *"bun@\([^"+]*\).*/\1/p' "$root/package.json")
[ -n "$version" ] || { echo "bun.sh: package.json pins no bun version in packageManager" >&2; exit 1; }

# Running a candidate is the only test that detects another version, npm's stub that remains when install scripts are
# off, and a build for another libc or processor. (Since Bun 1.4 one x64 build works with and without AVX2, so there is
# no baseline build to choose.)
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
  echo "Downloading Bun $version with npm to .tools/ ..." >&2
  # No install scripts: the binary is already in the platform package, and the script could only try to reach hosts that
  # may be blocked. npm's output goes to stderr, because stdout is the result of this script.
  mkdir -p "$root/.tools"
  npm install --prefix "$root/.tools" --no-save --ignore-scripts --include=optional --no-audit --no-fund \
    --loglevel=error "bun@$version" >&2 && find_bun && exit 0
  echo "bun.sh: npm has no Bun $version that runs on $(uname -s) $(uname -m)." >&2
else
  echo "bun.sh: neither Bun $version nor npm was found." >&2
fi
cat >&2 <<END
Do one of the following, then run the same command again:
  - install Node.js, which includes npm (Debian, Ubuntu: apt-get install npm; Alpine: apk add npm; macOS: brew install node)
  - install Bun $version itself (see bun.com) so that 'bun --version' prints $version
  - install a prebuilt tutti instead: ./install.sh --file BINARY
END
exit 1
