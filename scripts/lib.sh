# SPDX-License-Identifier: Apache-2.0
# What quickstart and test share: finding and installing packages, configuring and building.
# Sourced with $root set to the repository. Everything it prints goes to stderr.

log_dir="$root/build/logs"
assume_yes=no
may_install=yes

# The oldest 1.NN that builds src/bridge, as src/bridge/CMakeLists.txt has it.
rust_minimum=87
# Where nobody uses cargo yet, what it fetches stays in the build folder.
if [ -z "${CARGO_HOME:-}" ] && [ ! -d "${HOME:-}/.cargo" ]; then
  export CARGO_HOME="$root/build/cargo-home"
fi

say() { printf 'pawl: %s\n' "$*" >&2; }

# die STATUS MESSAGE...: 2 wrong usage, 3 the surroundings failed.
die() {
  local status=$1
  shift
  printf 'pawl: error: %s\n' "$*" >&2
  exit "$status"
}

# The packages of the named groups of packages.txt, one a line.
wanted_packages() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$root/scripts/packages.txt"
  done
}

# Those of the named packages that dpkg does not know as installed.
missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    grep -qxF -- "$name installed" <<<"$installed" || echo "$name"
  done
}

# The distribution's id and version, "debian 12", or "unknown".
distribution() {
  if [ -r /etc/os-release ]; then
    (. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
  else
    echo unknown
  fi
}

# True once the person at the terminal agrees; without a terminal or with --yes nobody is asked.
agreed() {
  local answer
  if [ "$assume_yes" = yes ] || [ ! -t 0 ] || [ ! -t 2 ]; then
    return 0
  fi
  read -r -p 'pawl: go on? [Y/n] ' answer || return 1
  case "$answer" in '' | y | Y | yes | Yes) return 0 ;; *) return 1 ;; esac
}

# as_root COMMAND...: directly or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" \
    >>"$log_dir/packages.log" 2>&1 </dev/null
}

# True when a cargo is here that is new enough: as cargo, or as a package that has its version in its name.
has_cargo() {
  local name minor
  for name in cargo /usr/bin/cargo-1.*; do
    minor=$("$name" --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p') || continue
    if [ -n "$minor" ] && [ "$minor" -ge "$rust_minimum" ]; then return 0; fi
  done
  return 1
}

# The packages of this system that bring a cargo that is new enough: Debian 12 has one beside its old one, Ubuntu
# 24.04 has versions side by side. To be asked after `apt-get update`.
rust_packages() {
  local minor
  if [ -n "$(apt-cache search --names-only '^cargo-web$')" ]; then
    echo rustc-web cargo-web
    return
  fi
  minor=$(apt-cache search --names-only '^cargo-1\.[0-9]+$' | sed -n 's/^cargo-1\.\([0-9]*\) .*/\1/p' |
    sort -n | tail -n 1)
  if [ -n "$minor" ] && [ "$minor" -ge "$rust_minimum" ]; then
    echo "rustc-1.$minor" "cargo-1.$minor"
  else
    echo rustc cargo
  fi
}

# install_missing GROUP...: the groups of packages.txt and a Rust toolchain are installed afterwards, or the script
# ends.
install_missing() {
  [ "$may_install" = yes ] || return 0
  local wanted missing system reason lacks_cargo=no
  mapfile -t wanted < <(wanted_packages "$@")
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die 3 "no apt-get here: install what Debian calls ${wanted[*]}, then use --no-install"
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  has_cargo || lacks_cargo=yes
  [ ${#missing[@]} -gt 0 ] || [ "$lacks_cargo" = yes ] || return 0

  system=$(distribution)
  case "$system" in
    'debian 12' | 'ubuntu 24.04') ;;
    *) say "this is $system; tried are debian 12 and ubuntu 24.04, the package names may differ" ;;
  esac
  local listed=(${missing[@]+"${missing[@]}"})
  if [ "$lacks_cargo" = yes ]; then listed+=("a Rust toolchain (1.$rust_minimum or newer)"); fi
  say "to install with apt-get: ${listed[*]}"
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    die 3 "installing packages needs root or sudo: apt-get install ${listed[*]}"
  fi
  agreed || die 3 "packages are missing: ${listed[*]}"

  mkdir -p "$log_dir"
  : >"$log_dir/packages.log"
  say 'installing (a few minutes on a fresh machine) ...'
  apt_get update || say 'apt-get update failed; going on with the package lists that are here'
  if [ "$lacks_cargo" = yes ]; then
    # shellcheck disable=SC2207 # names without blanks
    missing+=($(rust_packages))
  fi
  if ! apt_get install --no-install-recommends --no-remove "${missing[@]}"; then
    reason=$(grep -m 1 '^E: ' "$log_dir/packages.log" || true)
    die 3 "apt-get could not install the packages: ${reason:-see the log} ($log_dir/packages.log)"
  fi
  has_cargo && return
  # Debian 12 itself stopped at 1.85; what it installs by default has its security updates beside it, with newer ones.
  [ "$system" != 'debian 12' ] || say 'without the suite bookworm-security apt-get finds no newer one'
  die 3 "this system has no cargo of 1.$rust_minimum or newer: install one, for example with rustup"
}

# How many compilers fit: the CPUs of this process, and 1.2 GB of memory for each.
build_jobs() {
  local cpus available limit
  cpus=$(nproc)
  available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ] && [ $((limit / 1048576)) -lt "$available" ]; then
    available=$((limit / 1048576))
  fi
  local fitting=$((available / 1200))
  [ "$fitting" -ge 1 ] || fitting=1
  if [ "$fitting" -lt "$cpus" ]; then echo "$fitting"; else echo "$cpus"; fi
}

# configure PRESET [CMAKE OPTION...]: only when it was never done or the presets changed since;
# ninja itself repeats it when a CMakeLists.txt changes.
configure() {
  local preset=$1 build="$root/build/$1"
  shift
  if [ -e "$build/build.ninja" ] && [ ! "$root/CMakePresets.json" -nt "$build/build.ninja" ]; then
    return 0
  fi
  say "configuring build/$preset"
  mkdir -p "$log_dir"
  if ! (cd "$root" && cmake --preset "$preset" "$@") >"$log_dir/configure-$preset.log" 2>&1; then
    cat "$log_dir/configure-$preset.log" >&2
    die 3 "cmake could not configure build/$preset ($log_dir/configure-$preset.log)"
  fi
}

# build PRESET JOBS TARGET: on a terminal ninja shows its one line of progress.
build() {
  local quiet=()
  [ -t 2 ] || quiet=(--quiet)
  ninja "${quiet[@]}" -C "$root/build/$1" -j "$2" "$3" >&2 || die 3 "the build of build/$1 failed"
}
