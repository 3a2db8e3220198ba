# What the scripts in deploy/services share: options, fetching, processes, waiting. Sourced, never run.
# The script that sources it sets `service`, `default_version`, `default_port`, `default_other_port`, `other_port_option`, `default_heap`,
# and defines `usage`, `java_for`, `own_option`, `unpack`, `configure`, `launch` and `answers`.
# shellcheck shell=bash disable=SC2034,SC2154

set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
prefix="TRIBUTARY_$(printf '%s' "$service" | tr '[:lower:]' '[:upper:]')"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$service: $*"; exit 1; }

# The value of an environment variable such as TRIBUTARY_KAFKA_PORT, or nothing.
from_environment() {
  local variable="${prefix}_$1"
  printf '%s' "${!variable:-}"
}

# --- options -------------------------------------------------------------------------------------------------------------

command="${1:-}"
[ $# -eq 0 ] || shift
name="$(from_environment NAME)"
name="${name:-default}"
port="" other_port="" heap="" version="" wait_s="${TRIBUTARY_SERVICES_WAIT_S:-120}" purge="" extra=()

read_options() {
  while [ $# -gt 0 ]; do
    case "$1" in
      -h | --help) usage; exit 0 ;;
      --purge) purge=yes; shift; continue ;;
      --*) [ $# -ge 2 ] || fail "$1 needs a value, or there is no such option (see $service --help)" ;;
      *) fail "not an option: $1 (see $service --help)" ;;
    esac
    case "$1" in
      --name) name="$2"; shift 2 ;;
      --port) port="$2"; shift 2 ;;
      "$other_port_option") other_port="$2"; shift 2 ;;
      --heap) heap="$2"; shift 2 ;;
      --version) version="$2"; shift 2 ;;
      --wait) wait_s="$2"; shift 2 ;;
      --set) extra+=("$2"); shift 2 ;;
      *) own_option "$1" "$2" || fail "no such option: $1 (see $service --help)"; shift 2 ;;
    esac
  done
  case "$name" in "" | *[!A-Za-z0-9_.-]* | .*) fail "not a name: '$name' (letters, digits, '.', '_' and '-')" ;; esac
  case "$wait_s" in "" | *[!0-9]*) fail "--wait wants seconds, not '$wait_s'" ;; esac
  folder="${TRIBUTARY_SERVICES_FOLDER:-$here/../../.tributary/services}"
  mkdir -p "$folder"
  folder="$(cd "$folder" && pwd)"
  instances="${TRIBUTARY_SERVICES_INSTANCES:-$folder/instances}"
  mkdir -p "$instances"
  instances="$(cd "$instances" && pwd)"
  instance="$instances/$service-$name"
  pid_file="$instance/pid"
  log_file="$instance/log"
}

# What an instance was started with, so that a restart needs no options.
remembered() {
  [ -f "$instance/options" ] || return 0
  sed -n "s/^$1=//p" "$instance/options" | tail -n 1
}

# The first that is not empty: the option, the environment, what the instance had, the default.
first_of() {
  local value
  for value in "$@"; do
    [ -z "$value" ] || { printf '%s' "$value"; return; }
  done
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Whether somebody listens on a port. The last threads of a process that was killed may still hold that of this instance for a moment, after the
# process has stopped to be seen.
is_taken() {
  local tries=0
  while listens "$1"; do
    [ "$(remembered "$2")" = "$1" ] && [ "$tries" -lt 100 ] || return 0
    sleep 0.1
    tries=$((tries + 1))
  done
  return 1
}

# A port nobody listens on, below those that the system gives to outgoing connections.
free_port() {
  local candidate attempt
  for attempt in {1..200}; do
    candidate=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    [ "$candidate" != "${1:-}" ] && ! listens "$candidate" && { printf '%s' "$candidate"; return; }
  done
  fail "found no free port in $attempt attempts"
}

choose() {
  version="$(first_of "$version" "$(from_environment VERSION)" "$(remembered version)" "$default_version")"
  needed_java="$(java_for "$version")"
  heap="$(first_of "$heap" "$(from_environment HEAP)" "$(remembered heap)" "$default_heap")"
  if [ -z "$port$(from_environment PORT)" ] && [ -z "$other_port" ]; then other_port="$(remembered other_port)"; fi
  port="$(first_of "$port" "$(from_environment PORT)" "$(remembered port)" "$default_port")"
  if [ "$port" = free ]; then
    port="$(free_port)"
    other_port="${other_port:-$(free_port "$port")}"
  fi
  case "$port" in "" | *[!0-9]*) fail "--port wants a number or 'free', not '$port'" ;; esac
  other_port="${other_port:-$((port + default_other_port - default_port))}"
  if [ ${#extra[@]} -eq 0 ] && [ -f "$instance/options" ]; then
    local line
    while IFS= read -r line; do extra+=("$line"); done < <(sed -n 's/^set=//p' "$instance/options")
  fi
}

remember() {
  {
    printf 'version=%s\nport=%s\nother_port=%s\nheap=%s\n' "$version" "$port" "$other_port" "$heap"
    if [ ${#extra[@]} -gt 0 ]; then printf 'set=%s\n' "${extra[@]}"; fi
  } >"$instance/options"
}

# --- what must be installed ----------------------------------------------------------------------------------------------

major_of() { "$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1; }

# The oldest JDK here that is new enough: sets `java`. Fails if there is none.
find_java() {
  local candidate major best=""
  java=""
  for candidate in "${JAVA_HOME:-/nonexistent}/bin/java" "$(command -v java || true)" /usr/lib/jvm/*/bin/java /opt/*/bin/java /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
    [ -x "$candidate" ] && [ -x "$(dirname "$(readlink -f "$candidate")")/javac" ] || continue
    candidate="$(readlink -f "$candidate")"
    major="$(major_of "$candidate")"
    [ "${major:-0}" -ge "$needed_java" ] || continue
    if [ -z "$best" ] || [ "$major" -lt "$best" ]; then best="$major" java="$candidate"; fi
  done
  [ -n "$java" ]
}

# Installs Debian packages if this user may.
install_packages() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  say "$service: installing $*"
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2 && return 0
  ${as_root[@]+"${as_root[@]}"} apt-get update -qq </dev/null >&2 || return 1
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

require_java() {
  find_java && return
  # The default of the distribution may be old or new enough: one more look after each.
  { install_packages default-jdk-headless || true; } && find_java && return
  { install_packages "openjdk-$needed_java-jdk-headless" || true; } && find_java && return
  fail "a JDK of version $needed_java or later is needed: install it (Debian: apt-get install openjdk-$needed_java-jdk-headless) or set JAVA_HOME"
}

require_maven() {
  command -v mvn >/dev/null && return
  install_packages maven && command -v mvn >/dev/null && return
  fail "Maven is needed to fetch the server: install it (Debian: apt-get install maven)"
}

# --- fetching ------------------------------------------------------------------------------------------------------------

# Takes the lock of a folder, waiting for whoever has it; a lock whose owner is gone is taken over.
lock() {
  local waited=0
  while ! mkdir "$1" 2>/dev/null; do
    if [ -f "$1/pid" ] && ! kill -0 "$(cat "$1/pid" 2>/dev/null || echo 0)" 2>/dev/null; then rm -rf "$1"; continue; fi
    sleep 0.2
    waited=$((waited + 1))
    [ "$waited" -lt 3000 ] || fail "waited ten minutes for $1; remove it if nothing is being fetched"
  done
  echo $$ >"$1/pid"
}

# The folder of the fetched server: sets `software`. Fetches it once; a folder appears only when it is whole.
fetch() {
  software="$folder/software/$service-$version"
  [ ! -f "$software/complete" ] || return 0
  require_java
  require_maven
  mkdir -p "$folder/software"
  lock "$software.lock"
  if [ -f "$software/complete" ]; then rm -rf "$software.lock"; return; fi
  work="$software.part.$$"
  trap 'rm -rf "$work" "$software.lock"' EXIT
  trap 'exit 130' INT TERM
  say "$service $version: fetching with Maven"
  mkdir -p "$work/lib"
  # A pom in a folder of its own: Maven writes nothing beside the committed one.
  cp "$here/$service-pom.xml" "$work/pom.xml"
  JAVA_HOME="$(dirname "$(dirname "$java")")" mvn -q -B -C -Dstyle.color=never -f "$work/pom.xml" "-Dservice.version=$version" \
    dependency:copy-dependencies "-DoutputDirectory=$work/lib" -DincludeScope=runtime </dev/null 2>&1 | sed $'s/\033\\[[0-9;]*m//g' | grep -v '^$' >&2 || [ "${PIPESTATUS[0]}" -eq 0 ] ||
    fail "Maven could not fetch $service $version (check the network and Maven's settings)"
  unpack
  touch "$work/complete"
  rm -rf "$software"
  mv "$work" "$software"
  rm -rf "$software.lock"
  trap - EXIT INT TERM
  say "$service $version: $software"
}

# --- processes -----------------------------------------------------------------------------------------------------------

# The process of this instance: prints its id. A pid file whose process is gone or is another program counts as none.
running_pid() {
  local pid
  [ -f "$pid_file" ] || return 1
  pid="$(cat "$pid_file" 2>/dev/null)"
  case "$pid" in "" | *[!0-9]*) return 1 ;; esac
  ps -ww -o args= -p "$pid" 2>/dev/null | grep -qF -- "-Dtributary.instance=$instance " || return 1
  printf '%s' "$pid"
}

address() { printf '127.0.0.1:%s' "$(remembered port)"; }

# Runs a program as a service of its own session, with its output in the log.
in_background() {
  local own_session=()
  command -v setsid >/dev/null && own_session=(setsid)
  # Nothing of the caller may be held open: whoever reads the output of this script must see its end.
  ${own_session[@]+"${own_session[@]}"} nohup "$@" </dev/null >>"$log_file" 2>&1 3>&- 4>&- 5>&- &
  echo $! >"$pid_file"
}

start() {
  local pid
  if pid="$(running_pid)"; then
    say "$service $name: already running (process $pid)"
    wait_until_it_answers
    address; echo
    return
  fi
  rm -f "$pid_file"
  choose
  require_java
  fetch
  ! is_taken "$port" port || fail "something else listens on 127.0.0.1:$port; choose another --port (or --port free)"
  ! is_taken "$other_port" other_port || fail "something else listens on 127.0.0.1:$other_port; choose another $other_port_option (or --port free)"
  mkdir -p "$instance"
  remember
  : >>"$log_file"
  log_start=$(($(wc -c <"$log_file") + 1))
  echo "$log_start" >"$instance/log-start"
  configure
  launch
  wait_until_it_answers
  say "$service $name: $version answers at $(address) (process $(cat "$pid_file"), log $log_file)"
  address; echo
}

wait_until_it_answers() {
  local deadline=$((SECONDS + wait_s))
  port="$(remembered port)"
  until answers; do
    if ! running_pid >/dev/null; then
      tail -n 20 "$log_file" >&2
      rm -f "$pid_file"
      fail "$name ended while it was starting; its log: $log_file"
    fi
    if [ "$SECONDS" -ge "$deadline" ]; then
      tail -n 20 "$log_file" >&2
      fail "$name did not answer within $wait_s s; its log: $log_file"
    fi
    sleep 0.1
  done
}

stop() {
  local pid tries=0
  if pid="$(running_pid)"; then
    kill -TERM "$pid" 2>/dev/null || true
    # One that is paused hears nothing else before it goes on.
    kill -CONT "$pid" 2>/dev/null || true
    while running_pid >/dev/null; do
      sleep 0.1
      tries=$((tries + 1))
      if [ "$tries" -eq 300 ]; then say "$service $name: did not stop within 30 s; killing it"; kill -KILL "$pid" 2>/dev/null || true; fi
      [ "$tries" -lt 400 ] || fail "$name (process $pid) cannot be ended"
    done
    say "$service $name: stopped"
  else
    say "$service $name: not running"
  fi
  rm -f "$pid_file"
  if [ -n "$purge" ]; then
    rm -rf "$instance"
    say "$service $name: data removed"
  fi
}

signal() {
  local pid tries=0
  pid="$(running_pid)" || fail "$name is not running"
  kill "-$1" "$pid"
  [ "$1" = KILL ] || return 0
  while running_pid >/dev/null; do
    sleep 0.05
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "$name (process $pid) cannot be ended"
  done
  rm -f "$pid_file"
}

# 0: it answers; 3: it does not run; 4: it runs and does not answer.
status() {
  local pid
  if ! pid="$(running_pid)"; then
    echo "$service $name: not running"
    [ ! -f "$pid_file" ] || say "$service $name: $pid_file is stale"
    exit 3
  fi
  port="$(remembered port)"
  if answers; then
    echo "$service $name: $(remembered version) answers at $(address) (process $pid)"
  else
    echo "$service $name: process $pid does not answer at $(address); its log: $log_file"
    exit 4
  fi
}

# Runs a command of this script for every instance.
for_all() {
  local entry worst=0 options=()
  [ "$1" != stop ] || [ -z "$purge" ] || options=(--purge)
  for entry in "$instances/$service-"*/; do
    [ -d "$entry" ] || continue
    entry="$(basename "$entry")"
    "$0" "$1" --name "${entry#"$service-"}" ${options[@]+"${options[@]}"} || worst=$?
  done
  [ "$1" = status ] || return "$worst"
}

run_command() {
  case "$command" in
    "" | -h | --help | help) usage; [ -n "$command" ] || exit 1; exit 0 ;;
  esac
  read_options "$@"
  case "$command" in
    start) start ;;
    stop) stop ;;
    stop-all) for_all stop ;;
    restart) purge="" stop; start ;;
    status) status ;;
    list) for_all status ;;
    address) running_pid >/dev/null || fail "$name is not running"; address; echo ;;
    kill) signal KILL; say "$service $name: killed" ;;
    pause) signal STOP; say "$service $name: paused" ;;
    resume) signal CONT; say "$service $name: goes on" ;;
    clean) purge=yes; stop ;;
    fetch) choose; fetch ;;
    check) choose; find_java || fail "no JDK of version $needed_java or later is here for version $version" ;;
    log) [ -f "$log_file" ] || fail "$name has no log"; cat "$log_file" ;;
    *) fail "unknown command: $command (see $service --help)" ;;
  esac
}
