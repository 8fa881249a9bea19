#!/bin/sh
# Builds tutti from this source tree, or takes a prebuilt binary, and installs it in PREFIX/bin. Never needs root.
# Everything is inside functions, so that a script that is cut off in `curl | sh` does nothing.
set -eu

usage() {
  cat <<'END'
Usage: ./install.sh [--prefix DIR] [--file BINARY | --url URL] [--sha256 SUM] [--serve [-- ARGS...]]

  --prefix DIR    install to DIR/bin/tutti (default: $HOME/.local)
  --file BINARY   install this prebuilt binary instead of building one; its checksum is taken from --sha256,
                  or else from BINARY.sha256 or SHA256SUMS in the same folder
  --url URL       download a prebuilt binary: URL is one binary (…/tutti-linux-x64), or the folder of a release
                  with a binary for this system; always verified with --sha256 or SHA256SUMS in that folder
  --sha256 SUM    the SHA-256 that the binary must have
  --serve         run 'tutti serve' afterwards, with the arguments after '--'
  --help          show this help
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

# Prints the sum for one name in a SHA256SUMS file; `*` before a name marks a file that was read as binary.
sum_of() { awk -v name="$2" '{ f = $2; sub(/^\*/, "", f); if (f == name) { print $1; exit } }' "$1"; }

# Prints the name that `bun run build --all` gives to the binary for this system.
binary_name() {
  system=$(uname -s) machine=$(uname -m)
  # A shell that runs under Rosetta reports x86_64 on an Apple chip.
  if [ "$system" = Darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then machine=arm64; fi
  case $machine in
  x86_64 | amd64) machine=x64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) die "there is no prebuilt tutti for $system $machine; build it from source" ;;
  esac
  case $system in
  Linux)
    if { ldd --version 2>&1 || true; } | grep -qi musl; then
      die "prebuilt tutti needs glibc, but this system (Alpine?) has musl; build it from source"
    fi
    if [ $machine = x64 ] && ! grep -qw avx2 /proc/cpuinfo 2>/dev/null; then machine=x64-baseline; fi
    echo "tutti-linux-$machine"
    ;;
  Darwin) echo "tutti-darwin-$machine" ;;
  *) die "there is no prebuilt tutti for $system that this script can install" ;;
  esac
}

is_loopback() {
  case $1 in http://127.0.0.1[:/]* | http://localhost[:/]* | "http://[::1]"[:/]*) return 0 ;; *) return 1 ;; esac
}

# Arguments: URL, file. Uses only https, also after redirects, unless the server is on this computer.
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
  *) is_loopback "$url" || die "--url must be an https address, not $url" ;;
  esac
  has curl || has wget || die "curl or wget is needed for downloading; neither was found"
  if [ -z "$sum" ]; then
    # wget follows redirects from https to http, and busybox's wget checks no certificate: neither can be trusted with the sum.
    has curl || is_loopback "$url" || die "without curl, the checksum must be given with --sha256 SUM (see ${path%/*}/SHA256SUMS)"
    origin=${path%/*}/SHA256SUMS
    fetch "$origin" "$temp" || die "cannot download $origin; use --sha256 SUM if the release has none; nothing was installed"
    sum=$(sum_of "$temp" "$name")
    [ -n "$sum" ] || die "REFUSED: $origin does not list $name; nothing was installed"
  fi
  echo "Downloading $url ..."
  fetch "$url" "$temp" || die "cannot download $url; nothing was installed"
}

take_file() {
  [ -f "$file" ] || die "file not found: $file"
  sums=$(dirname -- "$file")/SHA256SUMS
  if [ -n "$sum" ]; then :
  elif [ -f "$file.sha256" ]; then
    origin=$file.sha256
    sum=$(awk 'NR == 1 { print $1 }' "$origin")
    [ -n "$sum" ] || die "REFUSED: $origin is empty; nothing was installed"
  elif [ -f "$sums" ]; then
    origin=$sums
    sum=$(sum_of "$sums" "$(basename -- "$file")")
    [ -n "$sum" ] || die "REFUSED: $sums does not list $file; use --sha256 SUM if it is the right file"
  else
    echo "install.sh: WARNING: $file was not verified (no --sha256, $file.sha256 or SHA256SUMS)" >&2
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
    # The package's scripts call bun by name. In a subshell, because the check below needs the user's own PATH.
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
  if [ -n "$file" ] && [ -n "$url" ]; then misuse "use either --file or --url"; fi
  if [ -n "$sum" ] && [ -z "$file$url" ]; then misuse "--sha256 goes with --file or --url"; fi
  if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || die "HOME is not set; choose where to install with --prefix DIR"
    prefix=$HOME/.local
  fi
  if [ -n "$file$url" ]; then
    has sha256sum || has shasum || has openssl || die "sha256sum, shasum or openssl is needed to verify the binary; none was found"
  fi

  mkdir -p -- "$prefix/bin" || die "cannot create $prefix/bin; choose another place with --prefix DIR"
  bin=$(CDPATH='' cd -- "$prefix/bin" && pwd)
  target=$bin/tutti
  [ ! -d "$target" ] || die "$target is a directory"
  # A new file is renamed over the old one: a running tutti keeps its own copy, and a partly written file is never in place.
  temp=$(mktemp "$bin/.tutti.XXXXXX") || die "cannot write to $bin; choose another place with --prefix DIR"
  trap 'rm -f -- "$temp"' EXIT
  trap 'exit 1' HUP INT TERM

  if [ -n "$url" ]; then download; elif [ -n "$file" ]; then take_file; else build; fi
  if [ -n "$sum" ]; then
    # The copy that will be installed is verified, so that a file that changes meanwhile is not installed.
    actual=$(sha256 "$temp") wanted=$(printf %s "$sum" | tr 'A-F' 'a-f')
    [ "$actual" = "$wanted" ] || die "REFUSED: SHA-256 of $file$url is $actual, but $origin says $wanted; nothing was installed"
    echo "SHA-256 matches $origin"
  fi
  chmod 755 "$temp"
  # A binary for another system must not replace a working one.
  version=$("$temp" --version 2>/dev/null </dev/null) ||
    die "${file:-${url:-what was built}} does not run on $(uname -s) $(uname -m); nothing was installed"
  mv -f -- "$temp" "$target" || die "cannot replace $target"
  echo "Installed $target ($version)"

  # shellcheck disable=SC2031
  case ":$PATH:" in
  *":$bin:"*) run=tutti ;;
  *)
    run="\"$target\""
    echo "WARNING: $bin is not in your PATH. To add it for this and future shells:"
    echo "  export PATH=\"$bin:\$PATH\"; echo 'export PATH=\"$bin:\$PATH\"' >> ~/.profile"
    ;;
  esac
  if [ -n "$serve" ]; then exec "$target" serve "$@"; fi
  echo "Next: $run serve     ($run --help shows all commands)"
}

main "$@"
