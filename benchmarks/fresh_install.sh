#!/bin/sh
# Times each step from an empty Debian 12 to the first text, and says what fills the disk and the memory.
#
#   benchmarks/fresh_install.sh [FOLDER]     as root; needs mmdebstrap; FOLDER (default: a temporary one) is removed after
#
# The repository is cloned from this checkout, so its download is not in the time. Variables of pip and of TLS
# certificates (PIP_*, SSL_CERT_FILE) pass into the new system.

set -eu
repository=$(cd "$(dirname "$0")/.." && git rev-parse --path-format=absolute --git-common-dir)
commit=$(cd "$(dirname "$0")/.." && git rev-parse HEAD)
folder=${1:-$(mktemp -d)}
root=$folder/root
mkdir -p "$root"

unshare --mount --pid --fork --kill-child --propagation private sh -eu -s "$root" "$repository" "$commit" <<'OUTER'
root=$1 repository=$2 commit=$3
mmdebstrap --quiet --variant=minbase bookworm "$root" http://deb.debian.org/debian
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir -p "$root/repository.git" "$root/certificates"
mount --bind "$repository" "$root/repository.git"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/hosts "$root/etc/hosts"
if [ -n "${SSL_CERT_FILE:-}" ]; then
    cp -L "$SSL_CERT_FILE" "$root/certificates/all.pem"
    export SSL_CERT_FILE=/certificates/all.pem PIP_CERT=/certificates/all.pem REQUESTS_CA_BUNDLE=/certificates/all.pem
fi
unset PIP_FIND_LINKS PIP_EXTRA_INDEX_URL
exec chroot "$root" bash -eu -s "$commit" <<'INNER'
export HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
port=${PORT:-17860}
cpu() { awk '/^cpu / { print ($2 + $3 + $4) / 100 }' /proc/stat; } # of the whole machine: what is in the background counts, too
begin() { printf '\n== %s\n' "$1"; since=$EPOCHREALTIME used=$(cpu); }
end() { awk -v name="$1" -v a="$since" -v b="$EPOCHREALTIME" -v c="$used" -v d="$(cpu)" -v load="$(cut -d ' ' -f 1 /proc/loadavg)" \
    'BEGIN { printf "%-28s %6.1f s, %6.1f s of CPU, load %s\n", name, b - a, d - c, load }' | tee -a /steps; }
first=$EPOCHREALTIME

begin apt
apt-get update -qq
apt-get install -qq -y --no-install-recommends git make python3 python3-venv curl ca-certificates >/apt.log 2>&1
end "apt-get install"

begin clone
git config --global --add safe.directory '*'
git clone -q file:///repository.git /inkgate
cd /inkgate
git checkout -q "$1"
end "git clone"

begin "make setup-serve"
make setup-serve
end "make serve: installation"

begin "make serve, curl"
make serve ARGS="--port $port" >/serve.log 2>&1 &
server=$!
until curl -sf "http://127.0.0.1:$port/readyz" >/dev/null; do
    kill -0 $server || { cat /serve.log; exit 1; }
    sleep 0.05
done
end "make serve: start to ready"
begin "first text"
curl -s -H 'Accept: text/markdown' -F file=@examples/report.png "http://127.0.0.1:$port/ocr" >/first.md
end "the first page"
grep -q 'Gaza & West Bank' /first.md || { echo 'the text is missing'; cat /first.md; exit 1; }
awk -v a="$first" -v b="$EPOCHREALTIME" 'BEGIN { printf "%-28s %6.1f s\n", "all", b - a }' | tee -a /steps
echo
for status in /proc/[0-9]*/status; do
    awk -v own="$(cat "${status%status}cmdline" 2>/dev/null | tr '\0' ' ' | cut -c 1-60)" '
        /^VmHWM/ { peak = $2 } /^VmRSS/ { now = $2 }
        END { if (now > 20000 && own ~ /inkgate/) printf "memory: now %.0f MB, at most %.0f MB: %s\n", now / 1024, peak / 1024, own }' "$status" 2>/dev/null || true
done
kill -TERM $server
wait $server || true
echo
packages=.venv/lib/python3*/site-packages
echo "disk: .venv $(du -sm .venv | cut -f 1) MB, repository $(du -sm --exclude=.venv . | cut -f 1) MB, pip's cache $(du -sm /root/.cache 2>/dev/null | cut -f 1) MB, compiled models and caches $(du -sm /root/.cache/inkgate 2>/dev/null | cut -f 1) MB"
du -sm $packages/* | sort -rn | awk -v n="$(ls -d $packages | wc -c)" '$1 >= 3 { print $1, substr($2, n + 1) }'
echo
cat /steps
INNER
OUTER
[ -n "${1:-}" ] || rm -rf "$folder"
