#!/usr/bin/env bash
# llama.sh: prints the path of a program that runs llama-server (llama.cpp), for tests; all else is stderr.
# It is Debian's own, unpacked from forky into a folder of its own, so the host gets no foreign package (mmdebstrap
# aside). Where that cannot be made (no root, no apt), it passes on TEST_LLAMA_SERVER or the one in the PATH, or fails.
#   TUTTI_TEST_CACHE (/var/lib/tutti-test)      DEBIAN_MIRROR (the one this machine's apt uses)
set -euo pipefail
# shellcheck source=test/support/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

if [ -n "${TEST_LLAMA_SERVER:-}" ]; then echo "$TEST_LLAMA_SERVER"; exit; fi
if command -v llama-server; then exit; fi
is_debian || die "no llama-server: run as root on Debian, or set TEST_LLAMA_SERVER to the path of one"

take llama

if [ ! -x "$ROOT/llama-server" ]; then
  remove "$ROOT"
  # Only unpacked, not configured: nothing but the program and its libraries is needed.
  unpack forky extract llama.cpp-tools
  for folder in bin lib lib64; do ln -s "usr/$folder" "$ROOT.tmp/$folder"; done # base-files would make them
  # /tmp inside is where models are put: the program sees nothing outside of its folder.
  cat >"$ROOT.tmp/llama-server" <<END
#!/bin/sh
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp chroot "$ROOT" /usr/bin/llama-server "\$@"
END
  chmod 755 "$ROOT.tmp/llama-server"
  mkdir -p "$ROOT.tmp/tmp"
  mv "$ROOT.tmp" "$ROOT"
fi
echo "$ROOT/llama-server"
