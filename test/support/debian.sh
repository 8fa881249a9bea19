# shellcheck shell=bash
# Functions for scripts that unpack programs of Debian into a folder of their own, so that the host gets no service, no
# user and no foreign package (mmdebstrap aside). Each folder is made once.
#   TUTTI_TEST_CACHE (/var/lib/tutti-test)      DEBIAN_MIRROR (the one this machine's apt uses)
die() { echo "${0##*/}: $*" >&2; exit 1; }
is_debian() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
# Never crosses into another file system: a build that was killed may have left mounts behind.
remove() { rm -rf --one-file-system "$@"; }

# take NAME: sets ROOT to the folder of that name. One at a time: a second call waits and finds the first one's work done.
take() {
  local cache=${TUTTI_TEST_CACHE:-/var/lib/tutti-test}
  mkdir -p "$cache"
  ROOT=$(realpath "$cache")/$1
  exec 9>"$ROOT.lock"
  flock 9
}

# unpack SUITE VARIANT PACKAGES [OPTION...]: unpacks Debian packages into $ROOT.tmp. The caller renames it when it is
# complete, so a killed build never looks complete.
unpack() {
  local suite=$1 variant=$2 packages=$3 mirror=${DEBIAN_MIRROR:-}
  shift 3
  command -v mmdebstrap >/dev/null || {
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends mmdebstrap
  } >&2 || die "cannot install mmdebstrap"
  [ -n "$mirror" ] || mirror=$(awk '/^(URIs:|deb )/ && !/security/ { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)
  echo "${0##*/}: unpacking $packages of Debian $suite into $ROOT (once, 1 to 3 minutes)" >&2
  remove "$ROOT.tmp"
  # A Release file may be past its date on a mirror, and forky is not released. 9>&-: whoever inherits the lock holds it.
  mmdebstrap --mode=root --variant="$variant" --keyring=/usr/share/keyrings --include="$packages" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$@" "$suite" "$ROOT.tmp" ${mirror:+"$mirror"} >&2 9>&- || die "mmdebstrap could not unpack $packages of Debian $suite"
}
