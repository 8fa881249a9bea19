#!/usr/bin/env bash
# cluster.sh: prints the folder of a chroot with HAProxy, PgBouncer, Patroni, etcd, Caddy, nginx and Postgres from Debian.
# It is made once. Packages are only unpacked, so nothing is installed and no service starts, neither in it nor on the host
# (mmdebstrap aside). Needs root and apt.
#   TUTTI_TEST_CACHE (/var/lib/tutti-test)      DEBIAN_MIRROR (the one this machine's apt uses)
set -euo pipefail
# shellcheck source=test/support/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"
is_debian || die "needs root on Debian"

SUITE=trixie PGV=17
PACKAGES=base-files,dash,coreutils,libc-bin,postgresql-$PGV,postgresql-$PGV-pgvector,patroni,python3-etcd,etcd-server
PACKAGES+=,haproxy,pgbouncer,caddy,nginx,libfaketime
# Another list of packages is another folder.
take "$SUITE-cluster-$(printf %s "$PACKAGES" | sha256sum | cut -c1-8)"

build() {
  unpack "$SUITE" extract "$PACKAGES"
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
  mv "$ROOT.tmp" "$ROOT"
}

[ -d "$ROOT" ] || build
echo "$ROOT"
