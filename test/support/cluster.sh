#!/usr/bin/env bash
# cluster.sh: prints the folder of a chroot with HAProxy, PgBouncer, Patroni, etcd, Caddy, nginx and Postgres from Debian.
# It is made once. Packages are only unpacked, so nothing is installed and no service starts, neither in it nor on the host
# (mmdebstrap aside). Needs root and apt.
#   TUTTI_TEST_CACHE (/var/lib/tutti-test)      DEBIAN_MIRROR (the one this machine's apt uses)
set -euo pipefail
die() { echo "cluster.sh: $*" >&2; exit 1; }
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then die "needs root on Debian"; fi

CACHE=${TUTTI_TEST_CACHE:-/var/lib/tutti-test} SUITE=trixie PGV=17
PACKAGES=base-files,dash,coreutils,libc-bin,postgresql-$PGV,postgresql-$PGV-pgvector,patroni,python3-etcd,etcd-server
PACKAGES+=,haproxy,pgbouncer,caddy,nginx,libfaketime
mkdir -p "$CACHE"
# Another list of packages is another folder.
ROOT=$(realpath "$CACHE")/$SUITE-cluster-$(printf %s "$PACKAGES" | sha256sum | cut -c1-8)
exec 9>"$ROOT.lock"
flock 9 # one at a time: a second one waits for the first and finds its work done

build() {
  command -v mmdebstrap >/dev/null || {
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends mmdebstrap
  } >&2 || die "cannot install mmdebstrap"
  local mirror=${DEBIAN_MIRROR:-}
  [ -n "$mirror" ] || mirror=$(awk '/^(URIs:|deb )/ && !/security/ { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)
  echo "cluster.sh: unpacking HAProxy, PgBouncer, Patroni and etcd from Debian $SUITE in $ROOT (once, about a minute)" >&2
  rm -rf --one-file-system "$ROOT.tmp"
  mmdebstrap --mode=root --variant=extract --keyring=/usr/share/keyrings --include="$PACKAGES" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$SUITE" "$ROOT.tmp" ${mirror:+"$mirror"} >&2 9>&- || die "mmdebstrap could not unpack the packages"
  # What the packages' scripts would have made.
  printf '%s\n' root:x:0:0::/root:/bin/sh postgres:x:101:101::/var/lib/postgresql:/bin/sh \
    nobody:x:65534:65534::/:/bin/sh >"$ROOT.tmp/etc/passwd"
  printf '%s\n' root:x:0: postgres:x:101: nobody:x:65533: nogroup:x:65534: >"$ROOT.tmp/etc/group"
  printf '%s\n' '127.0.0.1 localhost' >"$ROOT.tmp/etc/hosts"
  mkdir -p "$ROOT.tmp/proc" "$ROOT.tmp/dev/shm" "$ROOT.tmp/tmp" "$ROOT.tmp/runs"
  chmod 1777 "$ROOT.tmp/tmp" "$ROOT.tmp/runs"
  local device
  for device in null:3 zero:5 random:8 urandom:9; do
    [ -e "$ROOT.tmp/dev/${device%:*}" ] || mknod -m 666 "$ROOT.tmp/dev/${device%:*}" c 1 "${device#*:}"
  done
  mv "$ROOT.tmp" "$ROOT" # so a killed build never looks complete
}

[ -d "$ROOT" ] || build
echo "$ROOT"
