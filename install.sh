#!/bin/sh
# Builds tutti from this source tree, or takes a prebuilt binary, and puts it in PREFIX/bin. Never needs root.
set -eu

usage() {
  cat <<'END'
Usage: ./install.sh [--prefix DIR] [--file BINARY [--sha256 SUM]] [--serve [-- ARGS...]]

  --prefix DIR    install to DIR/bin/tutti (default: $HOME/.local)
  --file BINARY   install this prebuilt binary instead of building one; it is checked against --sha256,
                  else BINARY.sha256, else SHA256SUMS beside it
  --sha256 SUM    the SHA-256 that BINARY must have
  --serve         afterwards run 'tutti serve', with everything after '--' passed on to it
  --help          show this
END
}
die() { echo "install.sh: $*" >&2; exit 1; }
misuse() { echo "install.sh: $*" >&2; usage >&2; exit 2; }

prefix='' file='' sum='' serve='' passed=''
while [ $# -gt 0 ]; do
  case $1 in
  --prefix=* | --file=* | --sha256=*)
    option=${1%%=*} value=${1#*=}
    shift
    set -- "$option" "$value" "$@"
    ;;
  --prefix | --file | --sha256)
    if [ $# -lt 2 ] || [ -z "$2" ]; then misuse "$1 needs a value"; fi
    case $1 in --prefix) prefix=$2 ;; --file) file=$2 ;; *) sum=$2 ;; esac
    shift 2
    ;;
  --serve) serve=1; shift ;;
  --help | -h) usage; exit 0 ;;
  --) passed=1; shift; break ;;
  *) misuse "unknown option: $1" ;;
  esac
done
if [ -n "$passed" ] && [ -z "$serve" ]; then misuse "arguments after '--' are for --serve"; fi
if [ -n "$sum" ] && [ -z "$file" ]; then misuse "--sha256 goes with --file"; fi
if [ -z "$prefix" ]; then
  [ -n "${HOME:-}" ] || die "HOME is not set; say where to install with --prefix DIR"
  prefix=$HOME/.local
fi

sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum <"$1"
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 <"$1"
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r <"$1"
  else die "no sha256sum, shasum or openssl here to check the binary with"
  fi | cut -c1-64
}

if [ -n "$file" ]; then
  [ -f "$file" ] || die "no such file: $file"
  source=$file
  sums=$(dirname -- "$file")/SHA256SUMS
  if [ -n "$sum" ]; then
    origin=--sha256
  elif [ -f "$file.sha256" ]; then
    origin=$file.sha256
    sum=$(awk 'NR == 1 { print $1 }' "$origin")
    [ -n "$sum" ] || die "$origin is empty; nothing was installed"
  elif [ -f "$sums" ]; then
    origin=$sums
    sum=$(awk -v name="$(basename -- "$file")" '{ f = $2; sub(/^\*/, "", f); if (f == name) { print $1; exit } }' "$sums")
  fi
  sum=$(printf %s "$sum" | tr 'A-F' 'a-f')
else
  root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
  [ -f "$root/scripts/bun.sh" ] || die "no source tree here; use --file BINARY to install a prebuilt tutti"
  bun=$(sh "$root/scripts/bun.sh") || exit 1
  echo "Building tutti with $bun ..."
  (
    # The package's own scripts call bun by name; only here, since what comes after asks what is on the PATH of the user.
    # shellcheck disable=SC2030
    PATH=$(dirname -- "$bun"):$PATH && export PATH
    cd -- "$root" && bun install --frozen-lockfile && bun run build
  ) || die "the build failed; nothing was installed"
  source=$root/dist/tutti
  [ -f "$source" ] || die "the build left no dist/tutti; nothing was installed"
fi

mkdir -p -- "$prefix/bin" || die "cannot make $prefix/bin; choose another place with --prefix DIR"
bin=$(CDPATH='' cd -- "$prefix/bin" && pwd)
target=$bin/tutti
[ ! -d "$target" ] || die "$target is a directory"

# A new file renamed over the old one: a running tutti keeps its own copy, and a half-written one is never in place.
temp=$bin/.tutti.new.$$
trap 'rm -f -- "$temp"' EXIT
trap 'exit 1' HUP INT TERM
cp -- "$source" "$temp" || die "cannot write to $bin; choose another place with --prefix DIR"
if [ -n "$file" ] && [ -n "$sum" ]; then
  # The copy is what gets checked, so a file that changes meanwhile cannot slip through.
  actual=$(sha256 "$temp")
  [ "$actual" = "$sum" ] || die "REFUSED: SHA-256 of $file is $actual, but $origin says $sum; nothing was installed"
  echo "SHA-256 matches $origin"
elif [ -n "$file" ] && [ -f "$(dirname -- "$file")/SHA256SUMS" ]; then
  die "REFUSED: the SHA256SUMS beside $file does not name it; give --sha256 SUM if it is the right file"
elif [ -n "$file" ]; then
  echo "install.sh: WARNING: nothing to check $file against (no --sha256, $file.sha256 or line in SHA256SUMS)" >&2
fi
chmod 755 "$temp"
# Keeps a binary for another system from replacing a working one.
"$temp" --help >/dev/null 2>&1 </dev/null || die "$source does not run on $(uname -s) $(uname -m); nothing was installed"
mv -f -- "$temp" "$target"
echo "Installed $target"

# shellcheck disable=SC2031
case ":$PATH:" in
*":$bin:"*) run=tutti ;;
*)
  run="\"$target\""
  echo "WARNING: $bin is not on your PATH. To add it, for this shell and later ones:"
  echo "  export PATH=\"$bin:\$PATH\"; echo 'export PATH=\"$bin:\$PATH\"' >> ~/.profile"
  ;;
esac
if [ -n "$serve" ]; then exec "$target" serve "$@"; fi
echo "Next: $run serve     (and $run --help for the rest)"
