#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the project is built and tested with; does nothing where they all are.
#
# Without those of `build` nothing works, so it fails if they can't be had. Tests that want one of `tests` say so and
# skip, so for lack of those it only says which.
set -eu

build="gcc g++ make pkg-config binutils perl python3
    libunwind-dev libprotobuf-c-dev protobuf-c-compiler zlib1g-dev libdw-dev libelf-dev libiberty-dev libdeflate-dev libmicrohttpd-dev golang-go"
tests="valgrind elfutils llvm libjemalloc-dev libgoogle-perftools-dev libmimalloc-dev
    gdb strace ltrace musl-tools
    jq sqlite3 redis-server redis-tools nginx-light curl git procps util-linux golang-github-google-pprof-dev"
# For `make check-long` and `make bench` (deps.sh --long).
long="clang libclang-rt-14-dev chromium nodejs npm zsh mandoc groff heaptrack linux-perf apache2-utils
    apache2 binutils bubblewrap busybox-static bzip2 cargo cmake default-jdk-headless emacs-nox erlang-base ffmpeg findutils gawk
    gdb ghostscript graphviz guile-3.0 haproxy imagemagick iproute2 librsvg2-bin libxml2-utils lua5.4 mariadb-client
    mariadb-server mawk memcached ninja-build ocaml ocaml-findlib openssh-client openssl php-cli poppler-utils postgresql
    qemu-user rsync ruby rustc samba-common-bin sbcl smbclient strace stress-ng systemd tcl8.6 tdb-tools tesseract-ocr
    tesseract-ocr-eng tmux vim xsltproc xz-utils zstd"
[ "${1:-}" != --long ] || tests="$tests $long"

missing() {
    for package; do
        case " $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2> /dev/null)" in
        *" installed "*) ;;
        *) printf ' %s' "$package" ;;
        esac
    done
}

# Servers start when their package is installed, unless this file says no (see /usr/share/doc/init-system-helpers).
policy=/usr/sbin/policy-rc.d

keep_services_down() {
    [ ! -e $policy ] || [ -e $policy.cprof-deps ] || mv $policy $policy.cprof-deps
    trap restore_policy EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod 755 $policy
}

restore_policy() {
    rm -f $policy
    [ ! -e $policy.cprof-deps ] || mv $policy.cprof-deps $policy
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq install -y --no-install-recommends "$@" > /dev/null
}

if ! command -v dpkg-query > /dev/null; then
    echo "deps: not a Debian; see that what is known there as these is installed:" $build $tests
    exit 0
fi
need=$(missing $build)
want=$(missing $tests)
[ -n "$need$want" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "deps: not root; please run: apt-get install$need$want" >&2
    [ -z "$need" ]
    exit
fi
echo "deps: installing$need$want"
keep_services_down
apt-get -qq update || true # what is in the cache may be enough
[ -z "$need" ] || install $need
[ -z "$want" ] || install $want || for package in $want; do
    install "$package" || echo "deps: $package could not be installed; the tests that want it are skipped" >&2
done
