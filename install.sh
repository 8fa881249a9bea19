#!/bin/sh
# Builds tutti from this source tree, or takes a prebuilt binary, and puts it in PREFIX/bin. Never needs root.
# All of it is inside functions, so that a script cut off on its way through `curl | sh` does nothing.
set -eu

usage() {
  cat <<'END'
Usage: ./install.sh [--prefix DIR] [--file BINARY | --url URL] [--sha256 SUM] [--serve [-- ARGS...]]

  --prefix DIR    install to DIR/bin/tutti (default: $HOME/.local)
  --file BINARY   install this prebuilt binary instead of building one; it is checked against --sha256,
                  else BINARY.sha256, else SHA256SUMS beside it
  --url URL       the same from a release: a folder, of which the binary for this system is taken, or one
                  binary (…/tutti-linux-x64); always checked, against --sha256 or SHA256SUMS in that folder
  --sha256 SUM    the SHA-256 that the binary must have
  --serve         afterwards run 'tutti serve', with everything after '--' passed on to it
  --help          show this
END
}
die() { echo "install.sh: $*" >&2; exit 1; }
misuse() { echo "install.sh: $*" >&2; usage >&2; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }

sha256() {
  if has sha256sum; then sha256sum <"$1"
  elif has shasum; then shasum -a 256 <"$1"
  else openssl dgst -sha256 -r <"$1"
  fi | cut -c1-64
}

# The line of a SHA256SUMS file for one name; `*` before it means that it was read as binary.
sum_of() { awk -v name="$2" '{ f = $2; sub(/^\*/, "", f); if (f == name) { print $1; exit } }' "$1"; }

# What `bun run build --all` calls the binary for this system.
binary_name() {
  system=$(uname -s) machine=$(uname -m)
  # A shell that Rosetta translates says x86_64 on an Apple chip.
  if [ "$system" = Darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then machine=arm64; fi
  case $machine in
  x86_64 | amd64) machine=x64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) die "there is no prebuilt tutti for $system $machine; build it from a checkout" ;;
  esac
  case $system in
  Linux)
    if { ldd --version 2>&1 || true; } | grep -qi musl; then
      die "prebuilt tutti needs glibc, and this system (Alpine?) has musl; build it from a checkout"
    fi
    if [ $machine = x64 ] && ! grep -qw avx2 /proc/cpuinfo 2>/dev/null; then machine=x64-baseline; fi
    echo "tutti-linux-$machine"
    ;;
  Darwin) echo "tutti-darwin-$machine" ;;
  *) die "there is no prebuilt tutti for $system that this script could install" ;;
  esac
}

is_loopback() {
  case $1 in http://127.0.0.1[:/]* | http://localhost[:/]* | "http://[::1]"[:/]*) return 0 ;; *) return 1 ;; esac
}

# URL, file. A server that is not on this machine is only spoken to by https, wherever it sends us on to.
fetch() {
  if has curl; then
    protocols='=https'
    if is_loopback "$1"; then protocols='=http,https'; fi
    progress=--silent
    if [ -t 2 ]; then progress=--progress-bar; fi
    curl --fail --location --show-error $progress --proto "$protocols" --proto-redir "$protocols" \
      --connect-timeout 30 --retry 2 --output "$2" -- "$1"
  else
    wget -q -O "$2" "$1"
  fi
}

download() {
  path=${url%%[?#]*}
  case ${path##*/} in
  tutti*) name=${path##*/} ;;
  *)
    name=$(binary_name) || exit 1
    path=${path%/}/$name url=$path
    ;;
  esac
  case $url in
  https://*) ;;
  *) is_loopback "$url" || die "--url takes an https address, not $url" ;;
  esac
  has curl || has wget || die "neither curl nor wget is here to download with"
  if [ -z "$sum" ]; then
    # wget follows from https to http, and the one in busybox checks no certificate: it cannot say what the sum should be.
    has curl || is_loopback "$url" || die "without curl, say what the binary must be with --sha256 SUM (see ${path%/*}/SHA256SUMS)"
    origin=${path%/*}/SHA256SUMS
    fetch "$origin" "$temp" || die "cannot get $origin; give --sha256 SUM if the release has none; nothing was installed"
    sum=$(sum_of "$temp" "$name")
    [ -n "$sum" ] || die "REFUSED: $origin does not name $name; nothing was installed"
  fi
  echo "Downloading $url ..."
  fetch "$url" "$temp" || die "cannot get $url; nothing was installed"
}

take_file() {
  [ -f "$file" ] || die "no such file: $file"
  sums=$(dirname -- "$file")/SHA256SUMS
  if [ -n "$sum" ]; then :
  elif [ -f "$file.sha256" ]; then
    origin=$file.sha256
    sum=$(awk 'NR == 1 { print $1 }' "$origin")
    [ -n "$sum" ] || die "REFUSED: $origin is empty; nothing was installed"
  elif [ -f "$sums" ]; then
    origin=$sums
    sum=$(sum_of "$sums" "$(basename -- "$file")")
    [ -n "$sum" ] || die "REFUSED: $sums does not name $file; give --sha256 SUM if it is the right file"
  else
    echo "install.sh: WARNING: nothing to check $file against (no --sha256, $file.sha256 or SHA256SUMS)" >&2
  fi
  cp -- "$file" "$temp" || die "cannot copy $file to $bin; nothing was installed"
}

build() {
  root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
  if [ ! -f "$0" ] || [ ! -f "$root/scripts/bun.sh" ]; then
    die "no source tree here; install a prebuilt tutti with --url URL or --file BINARY"
  fi
  bun=$(sh "$root/scripts/bun.sh") || exit 1
  echo "Building tutti with $bun ..."
  (
    # The package's own scripts call bun by name; only here, since what comes after asks what is on the PATH of the user.
    # shellcheck disable=SC2030
    PATH=$(dirname -- "$bun"):$PATH && export PATH
    cd -- "$root" && bun install --frozen-lockfile && bun run build
  ) || die "the build failed; nothing was installed"
  cp -- "$root/dist/tutti" "$temp" || die "cannot copy dist/tutti to $bin; nothing was installed"
}

main() {
  prefix='' file='' url='' sum='' origin='--sha256' serve='' passed=''
  while [ $# -gt 0 ]; do
    case $1 in
    --prefix=* | --file=* | --url=* | --sha256=*)
      option=${1%%=*} value=${1#*=}
      shift
      set -- "$option" "$value" "$@"
      ;;
    --prefix | --file | --url | --sha256)
      if [ $# -lt 2 ] || [ -z "$2" ]; then misuse "$1 needs a value"; fi
      case $1 in --prefix) prefix=$2 ;; --file) file=$2 ;; --url) url=$2 ;; *) sum=$2 ;; esac
      shift 2
      ;;
    --serve) serve=1; shift ;;
    --help | -h) usage; exit 0 ;;
    --) passed=1; shift; break ;;
    *) misuse "unknown option: $1" ;;
    esac
  done
  if [ -n "$passed" ] && [ -z "$serve" ]; then misuse "arguments after '--' are for --serve"; fi
  if [ -n "$file" ] && [ -n "$url" ]; then misuse "either --file or --url"; fi
  if [ -n "$sum" ] && [ -z "$file$url" ]; then misuse "--sha256 goes with --file or --url"; fi
  if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || die "HOME is not set; say where to install with --prefix DIR"
    prefix=$HOME/.local
  fi
  if [ -n "$file$url" ]; then
    has sha256sum || has shasum || has openssl || die "no sha256sum, shasum or openssl here to check the binary with"
  fi

  mkdir -p -- "$prefix/bin" || die "cannot make $prefix/bin; choose another place with --prefix DIR"
  bin=$(CDPATH='' cd -- "$prefix/bin" && pwd)
  target=$bin/tutti
  [ ! -d "$target" ] || die "$target is a directory"
  # A new file renamed over the old one: a running tutti keeps its own copy, and a half-written one is never in place.
  temp=$(mktemp "$bin/.tutti.XXXXXX") || die "cannot write to $bin; choose another place with --prefix DIR"
  trap 'rm -f -- "$temp"' EXIT
  trap 'exit 1' HUP INT TERM

  if [ -n "$url" ]; then download; elif [ -n "$file" ]; then take_file; else build; fi
  if [ -n "$sum" ]; then
    # What will be installed is what gets checked, so a file that changes meanwhile cannot slip through.
    actual=$(sha256 "$temp") wanted=$(printf %s "$sum" | tr 'A-F' 'a-f')
    [ "$actual" = "$wanted" ] || die "REFUSED: SHA-256 of $file$url is $actual, but $origin says $wanted; nothing was installed"
    echo "SHA-256 matches $origin"
  fi
  chmod 755 "$temp"
  # Keeps a binary for another system from replacing a working one.
  version=$("$temp" --version 2>/dev/null </dev/null) ||
    die "${file:-${url:-what was built}} does not run on $(uname -s) $(uname -m); nothing was installed"
  mv -f -- "$temp" "$target" || die "cannot replace $target"
  echo "Installed $target ($version)"

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
}

main "$@"
