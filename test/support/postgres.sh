#!/usr/bin/env bash
# postgres.sh up|down|restart|destroy: a real Postgres with pgvector, for tests. `up` prints its URL, all else is stderr.
# It lives in a chroot made of Debian packages, so the host gets no service, no user and no foreign package (mmdebstrap
# aside). Where that cannot be made (no root, no apt), `up` passes on TEST_DATABASE_URL, or fails.
#   PGV=17 (default, Debian trixie) or 18 (forky, the version PGlite embeds)      PORT (54$PGV)
#   CLUSTER (test): a server of its own with its own PORT, for tests that restart it
#   TUTTI_TEST_CACHE (/var/lib/tutti-test)      DEBIAN_MIRROR (the one this machine's apt uses)
set -euo pipefail
# shellcheck source=test/support/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"
PGV=${PGV:-17} PORT=${PORT:-54${PGV:-17}}
case $PGV in 17) SUITE=trixie ;; 18) SUITE=forky ;; *) die "PGV must be 17 or 18" ;; esac
case ${1:-} in up | down | restart | destroy) ;; *) echo "usage: postgres.sh up|down|restart|destroy" >&2; exit 2 ;; esac

if ! is_debian; then
  [ "$1" = up ] || die "$1 needs root and apt: this Postgres is not ours to control"
  [ -n "${TEST_DATABASE_URL:-}" ] || die "no Postgres: run as root on Debian, or set TEST_DATABASE_URL to one with pgvector"
  echo "$TEST_DATABASE_URL"
  exit
fi

take "$SUITE-$PGV"
CLUSTER=${CLUSTER:-test}
BIN=/usr/lib/postgresql/$PGV/bin DATA=/var/lib/postgresql/$CLUSTER LOG=/var/lib/postgresql/$CLUSTER.log

# 9>&- because a server that inherits the lock would hold it for good.
inroot() { chroot --userspec=postgres:postgres "$ROOT" env -i PATH=/usr/bin:/bin HOME=/var/lib/postgresql LANG=C.UTF-8 "$@" 9>&-; }
# Tells a live server from a pid that some other process got after a machine was killed.
running() {
  local pid
  pid=$(head -n1 "$ROOT$DATA/postmaster.pid" 2>/dev/null) && [ "$(readlink "/proc/$pid/exe")" = "$ROOT$BIN/postgres" ]
}
# Processes of this cluster, or of every one with `*`: each has its data folder as working directory. find fails on processes that end meanwhile.
processes() { { find /proc -maxdepth 2 -name cwd -lname "$ROOT/var/lib/postgresql/$1" 2>/dev/null || true; } | cut -d/ -f3; }
kill_all() { while [ -n "$(processes "$1")" ]; do processes "$1" | xargs -r kill -9 || true; sleep 0.1; done; }

build() {
  # shellcheck disable=SC2016 # $1 is for the hook's own shell
  unpack "$SUITE" minbase "postgresql-$PGV,postgresql-$PGV-pgvector" \
    --setup-hook='mkdir -p "$1/etc/postgresql-common"; echo create_main_cluster = false >"$1/etc/postgresql-common/createcluster.conf"'
  mv "$ROOT.tmp" "$ROOT"
}

start() {
  if [ ! -d "$ROOT$DATA" ]; then
    remove "$ROOT$DATA.new"
    inroot "$BIN/initdb" -D "$DATA.new" -U postgres -E UTF8 --locale=C.UTF-8 --auth=trust >&2
    mv "$ROOT$DATA.new" "$ROOT$DATA"
  fi
  kill_all "$CLUSTER" # backends that outlived a killed postmaster would block the start
  rm -f "$ROOT$DATA/postmaster.pid"
  # Settings come with the start, so a change here needs no new cluster. No socket: its lock file would trip over a pid in
  # use again, or a zombie. mmap: the chroot has no /dev/shm. fsync=off: what was committed outlives the server, only not the machine.
  inroot "$BIN/pg_ctl" -D "$DATA" -l "$LOG" -w -t 120 start -o "-p $PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c dynamic_shared_memory_type=mmap -c fsync=off -c full_page_writes=off -c max_connections=200" >&2 || { tail -n5 "$ROOT$LOG" >&2; die "Postgres did not start"; }
}

case $1 in
up)
  [ -d "$ROOT" ] || build
  running || start
  port=$(sed -n 4p "$ROOT$DATA/postmaster.pid") # of the live server, whatever PORT says now
  for _ in $(seq 600); do
    inroot "$BIN/pg_isready" -q -h 127.0.0.1 -p "$port" && { echo "postgres://postgres@127.0.0.1:$port/postgres"; exit; }
    sleep 0.1
  done
  die "Postgres runs but accepts no connection; see $ROOT$LOG" ;;
restart) # as after a power cut: no shutdown, recovery from the log
  if running; then inroot "$BIN/pg_ctl" -D "$DATA" -l "$LOG" -w -t 120 -m immediate restart >&2; else start; fi ;;
down) ! running || inroot "$BIN/pg_ctl" -D "$DATA" -w -m fast stop >&2 ;;
destroy)
  kill_all '*'
  remove "$ROOT" "$ROOT.tmp" ;;
esac
