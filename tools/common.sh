# shellcheck shell=bash
# Shared by ./run and ./check: messages, Debian packages, the build.  Sourced from the root.

readonly EXIT_COULD_NOT=3
configure_again=no # yes: programs may have come since a build was configured, or its options are others

say() { printf '%s\n' "$*" >&2; }

step() {
  if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then
    printf '\033[1m==> %s\033[0m\n' "$*" >&2
  else
    printf '==> %s\n' "$*" >&2
  fi
}

# could_not WHAT DO...: says what failed and what to do about it, and stops.
could_not() {
  say "${0##*/}: $1"
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
  exit "$EXIT_COULD_NOT"
}

# packages SET...: the packages of the sets.
packages() {
  local set
  for set in "$@"; do
    awk -v set="$set" '$1 == set { print $2 }' tools/packages.txt
  done
}

# missing_packages SET...: those that are not installed.
missing_packages() {
  local wanted installed
  wanted=$(packages "$@")
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null | awk '$1 ~ /^.i/ { print $2 }' || true)
  grep -vxF -e "${installed:-none}" <<<"$wanted" || true
}

free_megabytes() { df -Pm "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'; }

# need_space DIRECTORY MEGABYTES WHAT
need_space() {
  local free
  free=$(free_megabytes "$1")
  [ -z "$free" ] || [ "$free" -ge "$2" ] ||
    could_not "$3 needs about $2 MB in $1, and only $free MB are free." "Free some space and start ./${0##*/} again."
}

# run_as_root_command: how to become root, or nothing.
root_command() {
  if command -v sudo >/dev/null; then
    echo sudo
  elif command -v pkexec >/dev/null && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    echo pkexec
  fi
}

# install_packages SET...: installs what is missing, asking where someone can answer.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "This is not a Debian system, so nothing is installed. If the build stops, install what these hold:"
    packages "$@" | fmt -w 100 | sed 's/^/  /' >&2
    return
  fi

  local missing root="" answer command
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  missing=$(tr '\n' ' ' <<<"$missing")
  command="apt-get install -y --no-install-recommends ${missing% }"
  step "Debian packages that are missing"
  fmt -w 100 <<<"$missing" | sed 's/^/  /' >&2

  if [ "$(id -u)" -ne 0 ]; then
    root=$(root_command)
    if ! [ -t 0 ] || ! [ -t 2 ]; then
      could_not "the packages above are missing. As root, run:" "$command"
    fi
    [ -n "$root" ] || could_not "there is neither sudo nor pkexec here. As root, run:" "$command"
  fi
  if [ -t 0 ] && [ -t 2 ]; then
    read -r -p "Install them now${root:+ with $root}? [Y/n] " answer
    case "$answer" in
      [nN]*) could_not "nothing was installed. As root, run:" "$command" ;;
    esac
  fi
  need_space /var/cache/apt 1600 "Installing the packages"
  install_now "$root" "$missing" || could_not "the packages could not be installed (the reason is above)." \
    "Without a network, install them from a mirror or a medium:" "$command"
  missing=$(missing_packages "$@")
  [ -z "$missing" ] || could_not "still missing after the installation: $(tr '\n' ' ' <<<"$missing")"
  configure_again=yes
}

# install_now ROOT-COMMAND PACKAGES: the package lists are fetched only where the first try fails.
install_now() {
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 install -y --no-install-recommends)
  # shellcheck disable=SC2086
  if [ -n "$(ls /var/lib/apt/lists/*_Packages* 2>/dev/null)" ] && $1 "${install[@]}" $2 >&2; then
    return 0
  fi
  $1 apt-get update >&2 || say "apt-get update failed; trying with the lists that are here"
  # shellcheck disable=SC2086
  $1 "${install[@]}" $2 >&2
}

# configure_and_build DIRECTORY MESON-OPTION...: sets up once, or again where that is asked for, and builds what
# changed. Meson looks for programs and libraries when it is set up, so those that came later are seen only then.
configure_and_build() {
  local dir=$1 tool again=()
  shift
  for tool in meson ninja pkg-config; do
    command -v "$tool" >/dev/null || could_not "$tool is not here; it is one of the packages in tools/packages.txt."
  done
  command -v "${CC:-cc}" >/dev/null || could_not "there is no C compiler (${CC:-cc})." "Install gcc, or set CC."
  need_space . 600 "The build"
  if [ ! -f "$dir/build.ninja" ]; then
    rm -rf "$dir/meson-private" "$dir/meson-info"
  elif [ "$configure_again" = yes ]; then
    again=(--reconfigure)
  fi
  if [ ! -f "$dir/build.ninja" ] || [ "$configure_again" = yes ]; then
    step "Configuring $dir"
    meson setup "${again[@]}" "$dir" "$@" >&2 ||
      could_not "meson could not configure the build (the reason is above)." \
        "The whole log is $dir/meson-logs/meson-log.txt. If meson or a library was upgraded since, remove $dir."
  fi
  step "Building $dir"
  ninja -C "$dir" >&2 || could_not "the build failed (the first error is above)." \
    "If a library was upgraded since, remove $dir and start ./${0##*/} again."
}
