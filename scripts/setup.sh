#!/usr/bin/env bash
# Installs what Noctune needs and this host lacks, and says what it does. Run it as often as you like.
#
#   scripts/setup.sh        server, sysbench, compiler, Rust, strace: enough to build, test and tune
#   scripts/setup.sh dev    also what `make lint` and `make evidence` need: shellcheck, cargo-deny, jq
#
# No running service is touched: only packages without a service are installed, and nothing is ever removed.
set -euo pipefail

cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '  next: %s\n' "$line" >&2; done
    exit 3
}

have() { command -v "$1" >/dev/null 2>&1; }

# Servers and administration tools live where an ordinary user's PATH does not look.
have_program() {
    have "$1" || [ -x "/usr/sbin/$1" ] || [ -x "/usr/local/sbin/$1" ] || [ -x "/usr/libexec/$1" ]
}

have_server() { have_program mariadbd || have_program mysqld; }

# Runs a command as root: directly, or through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        fail "root is needed for: $*" "run this script as root, install sudo, or ask an administrator to run that command"
    fi
}

# ---- packages of the distribution --------------------------------------------------------------------------------

missing_packages() { # missing_packages apt|dnf: names, one a line
    local family=$1
    if ! have_server; then
        if [ "$family" = apt ]; then
            printf '%s\n' mariadb-server-core mariadb-client-core
        else
            printf '%s\n' mariadb-server
        fi
    fi
    have sysbench || echo sysbench
    have cc || echo gcc
    # The C library's headers: Debian's gcc only recommends them, elsewhere it depends on them.
    if [ "$family" = apt ] && ! [ -e /usr/include/stdio.h ]; then echo libc6-dev; fi
    have make || echo make
    have curl || { have cargo || echo curl; }
    # curl and cargo check certificates against these; Debian only recommends them.
    if [ "$family" = apt ] && ! [ -s /etc/ssl/certs/ca-certificates.crt ]; then echo ca-certificates; fi
    if ! have pkg-config; then
        if [ "$family" = apt ]; then echo pkg-config; else echo pkgconf-pkg-config; fi
    fi
    if [ "$want_dev" = yes ] && ! have shellcheck; then
        if [ "$family" = apt ]; then echo shellcheck; else echo ShellCheck; fi
    fi
    # A test records the system calls of a trial with it.
    [ "$family" = none ] || have strace || echo strace
    # The evidence parts read reports with it.
    if [ "$want_dev" = yes ] && ! have jq; then echo jq; fi
}

install_with_apt() {
    say "installing with apt-get: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
    # --no-remove: a package that would replace the user's own server must fail, not replace it.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-remove --no-install-recommends "$@" </dev/null ||
        fail "apt-get could not install $* without removing something" \
            "install another build of these packages by hand, then run this again"
}

install_with_dnf() {
    say "installing with dnf: $*"
    local package
    for package in "$@"; do
        if [ "$package" = sysbench ] || [ "$package" = ShellCheck ]; then
            # Both come from EPEL on RHEL and its rebuilds; Fedora has them itself, and no such package.
            as_root dnf install -q -y epel-release </dev/null || say "no epel-release package here; trying without"
            break
        fi
    done
    # dnf install never removes packages unless told to (--allowerasing), and RHEL-like systems start no service by it.
    as_root dnf install -y "$@" </dev/null ||
        fail "dnf could not install $*" "install these packages by hand, then run this again"
}

install_packages() {
    local family
    if have apt-get; then
        family=apt
    elif have dnf; then
        family=dnf
    else
        family=none
    fi
    local packages=()
    mapfile -t packages < <(missing_packages "$family")
    if [ "${#packages[@]}" -eq 0 ]; then
        say "server, sysbench, C compiler, make, pkg-config and strace are there"
        return
    fi
    case $family in
    apt) install_with_apt "${packages[@]}" ;;
    dnf) install_with_dnf "${packages[@]}" ;;
    none)
        fail "neither apt-get nor dnf is here, and something is missing: ${packages[*]}" \
            "install a MariaDB or MySQL server (mariadbd or mysqld on PATH), sysbench 1.0, a C compiler with the C headers, make and pkg-config (and strace for the tests), then run this again"
        ;;
    esac
}

# ---- Rust --------------------------------------------------------------------------------------------------------

wanted_rust() { sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1; }

# rust_is_enough CARGO: whether that cargo is at least as new as Cargo.toml asks.
rust_is_enough() {
    local found
    found=$("$1" --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$(wanted_rust)" "$found" | sort -V | head -n 1)" = "$(wanted_rust)" ]
}

install_rust() {
    # A toolchain of rustup's need not be on PATH of this shell, and it comes before an older one of the distribution's.
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    if have cargo && rust_is_enough cargo; then
        say "$(cargo --version) is there"
        return
    fi
    local by_hand
    by_hand="install Rust $(wanted_rust) or newer (https://rustup.rs, or the distribution's package), then run this again"
    if have rustup; then
        say "installing the stable Rust toolchain with rustup (Rust $(wanted_rust) or newer is needed)"
        { rustup toolchain install stable --profile minimal -c rustfmt -c clippy && rustup default stable; } </dev/null ||
            fail "rustup could not install the stable toolchain" "$by_hand"
    elif have curl && curl --proto '=https' --tlsv1.2 -sSf -m 60 -o "$scratch/rustup-init.sh" https://sh.rustup.rs; then
        say "installing Rust with rustup into ${CARGO_HOME:-$HOME/.cargo} (Rust $(wanted_rust) or newer is needed)"
        # --no-modify-path: nobody's shell profile is edited.
        sh "$scratch/rustup-init.sh" -y --no-modify-path --profile minimal -c rustfmt -c clippy </dev/null ||
            fail "rustup could not install Rust" "$by_hand"
    elif ! have cargo && have apt-get; then
        say "rustup cannot be reached; trying the distribution's Rust"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-remove cargo rustc </dev/null || true
    elif ! have cargo && have dnf; then
        say "rustup cannot be reached; trying the distribution's Rust"
        as_root dnf install -y cargo rust clippy rustfmt </dev/null || true
    fi
    if ! { have cargo && rust_is_enough cargo; }; then fail "there is no Rust $(wanted_rust) or newer" "$by_hand"; fi
    say "$(cargo --version) is installed"
}

# ---- development tools -------------------------------------------------------------------------------------------

install_dev_tools() {
    if cargo deny --version >/dev/null 2>&1; then
        say "$(cargo deny --version) is there"
    else
        say "installing cargo-deny (built from source, some minutes)"
        # A folder of its own: this build must not throw away the project's.
        # Optimised for the time it takes to build: it runs for seconds.
        CARGO_TARGET_DIR="$scratch/cargo-deny" CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
            CARGO_PROFILE_RELEASE_CODEGEN_UNITS=64 CARGO_PROFILE_RELEASE_DEBUG=0 \
            cargo install --locked cargo-deny </dev/null
    fi
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && return
    if have rustup; then
        say "installing rustfmt and clippy"
        rustup component add rustfmt clippy </dev/null
    else
        fail "rustfmt or clippy is missing" "install them with your distribution's packages, then run this again"
    fi
}

want_dev=no
case "${1:-}" in
"") ;;
dev) want_dev=yes ;;
*) fail "unknown argument \"$1\"" "scripts/setup.sh, or scripts/setup.sh dev" ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

install_packages
install_rust
if [ "$want_dev" = yes ]; then install_dev_tools; fi
