#!/usr/bin/env bash
# Runs a command on several versions of Node, whose binaries come from the npm registry:
#
#   scripts/node-versions.sh                                     npm run check on 20, 22, 24 and 26
#   scripts/node-versions.sh 24 26 -- npm test                   another command, on two versions
#
# Programs that the command starts run on the same version. Prints a line for each version at the end.
set -uo pipefail
cd "$(dirname "$0")/.."

versions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  versions+=("$1")
  shift
done
[ $# -gt 0 ] && shift
[ "${#versions[@]}" -gt 0 ] || versions=(20 22 24 26)
[ $# -gt 0 ] || set -- npm run check
for version in "${versions[@]}"; do
  [[ "$version" =~ ^[0-9]+(\.[0-9]+){0,2}$ ]] || {
    echo 'usage: scripts/node-versions.sh [version, such as 24, …] [-- command …]' >&2
    exit 2
  }
done

package=$(node -p '`node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`')
status=0
summary=()
for version in "${versions[@]}"; do
  # Outside the checkout, whose packages stay as they are.
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/hermod-node/$version
  binaries=$folder/node_modules/$package/bin
  [ -x "$binaries/node" ] || npm install --no-save --prefix "$folder" "$package@$version" || exit 1
  if PATH=$binaries:$PATH "$@"; then result=passed; else
    result=FAILED
    status=1
  fi
  summary+=("$("$binaries/node" --version): $result: $*")
done
printf '%s\n' "${summary[@]}"
exit "$status"
