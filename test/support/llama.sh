#!/usr/bin/env bash
# llama.sh: prints the path of a program that runs llama-server (llama.cpp), for tests; all else is stderr.
# It is Debian's own, unpacked from forky into a folder of its own, so the host gets no foreign package (mmdebstrap
# aside). Where that cannot be made (no root, no apt), it passes on TEST_LLAMA_SERVER or the one in the PATH, or fails.
#   TUTTI_TEST_CACHE (/var/lib/tutti-test)      DEBIAN_MIRROR (the one this machine's apt uses)
set -euo pipefail
die() { echo "llama.sh: $*" >&2; exit 1; }

if [ -n "${TEST_LLAMA_SERVER:-}" ]; then echo "$TEST_LLAMA_SERVER"; exit; fi
if command -v llama-server; then exit; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  die "no llama-server: run as root on Debian, or set TEST_LLAMA_SERVER to the path of one"
fi

CACHE=${TUTTI_TEST_CACHE:-/var/lib/tutti-test}
mkdir -p "$CACHE"
ROOT=$(realpath "$CACHE")/llama
exec 9>"$ROOT.lock"
flock 9 # one at a time: a second call waits for the first and finds its work done

if [ ! -x "$ROOT/llama-server" ]; then
  command -v mmdebstrap >/dev/null || {
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends mmdebstrap
  } >&2 || die "cannot install mmdebstrap"
  mirror=${DEBIAN_MIRROR:-}
  [ -n "$mirror" ] || mirror=$(awk '/^(URIs:|deb )/ && !/security/ { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)
  echo "llama.sh: unpacking llama-server of Debian forky into $ROOT (once)" >&2
  rm -rf --one-file-system "$ROOT" "$ROOT.tmp"
  # Only unpacked, not configured: nothing but the program and its libraries is needed. forky is not released, and its
  # Release file may be past its date on a mirror.
  mmdebstrap --mode=root --variant=extract --keyring=/usr/share/keyrings --include=llama.cpp-tools \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    forky "$ROOT.tmp" ${mirror:+"$mirror"} >&2 9>&- || die "mmdebstrap could not unpack llama.cpp-tools"
  for folder in bin lib lib64; do ln -s "usr/$folder" "$ROOT.tmp/$folder"; done # base-files would make them
  # /tmp inside is where models are put: the program sees nothing outside of its folder.
  cat >"$ROOT.tmp/llama-server" <<END
#!/bin/sh
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp chroot "$ROOT" /usr/bin/llama-server "\$@"
END
  chmod 755 "$ROOT.tmp/llama-server"
  mkdir -p "$ROOT.tmp/tmp"
  mv "$ROOT.tmp" "$ROOT" # so a killed run never looks complete
fi
echo "$ROOT/llama-server"
