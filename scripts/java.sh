#!/bin/sh
# Make sure that Spark finds a Java >= 17: keep the one there is, else install a headless one if we may.
set -eu

has_java() {
  java=java
  [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
  major=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1) || return 1
  [ "${major:-0}" -ge 17 ]
}

stop() {
  echo "set-up: $1; install Java 17 or newer (a JRE is enough) and point JAVA_HOME or PATH at it" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

! has_java || exit 0
[ -z "${JAVA_HOME:-}" ] || stop "JAVA_HOME ($JAVA_HOME) holds no Java >= 17"
command -v apt-get >/dev/null || stop "no Java >= 17 and no apt-get"
as_root true 2>/dev/null || stop "no Java >= 17 and no right to install one"

as_root apt-get update -qq
for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
  if apt-cache show "$package" >/dev/null 2>&1; then
    echo "set-up: installing $package"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package"
    break
  fi
done
has_java || stop "the system's packages hold no Java >= 17"
