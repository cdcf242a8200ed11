#!/usr/bin/env bash
# Makes images that stand for those of registries, from Debian's packages and the Node of the npm
# registry:
#
#   deploy/check/base-images.sh STORAGE node 24     the two images that deploy/Dockerfile begins with
#   deploy/check/base-images.sh STORAGE services    PostgreSQL and HAProxy of the compose files
#
# STORAGE is a folder of images for buildah and podman, apart from those of the machine. Images that
# are there stay. Needs root, buildah, mmdebstrap and, for Node, npm.
set -euo pipefail
storage=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

image() { buildah --root "$storage/root" --runroot "$storage/run" "$@"; }
is_there() { image inspect --type image "$1" >/dev/null 2>&1; }

# image_of FOLDER NAME [option of buildah config …]
image_of() {
  local folder=$1 name=$2 container
  shift 2
  container=$(image from scratch)
  image add --quiet "$container" "$folder" / >/dev/null
  image config "$@" "$container"
  image commit --quiet --rm --format docker "$container" "$name" >/dev/null
}

# debian FOLDER PACKAGES [option of mmdebstrap …]: Debian 13 of the mirror of this machine
debian() {
  local folder=$1 packages=$2 mirror
  shift 2
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
  mmdebstrap --quiet --variant=minbase --include="$packages" "$@" trixie "$folder" "$mirror"
}

node_images() {
  local major=$1 machine node slim=$build/slim distroless=$build/distroless
  local slim_name=docker.io/library/node:$major-trixie-slim
  local distroless_name=gcr.io/distroless/nodejs$major-debian13:nonroot
  if is_there "$slim_name" && is_there "$distroless_name"; then return; fi
  machine=$(node -p process.arch)
  npm install --silent --no-save --prefix "$build/node" "node-linux-$machine@$major" npm@11
  node=$build/node/node_modules/node-linux-$machine/bin/node
  debian "$slim" ca-certificates

  # Files of packages, without their scripts and their manager.
  local packages='base-files netbase tzdata media-types libc6 libssl3t64 zlib1g libzstd1 gcc-14-base
    libgcc-s1 libgomp1 libstdc++6'
  mkdir -m 777 "$slim/packages"
  cp /etc/resolv.conf "$slim/etc/resolv.conf"
  chroot "$slim" sh -c "apt-get update --quiet=2 && cd /packages && apt-get download --quiet=2 $(tr -s '\n ' ' ' <<<"$packages")"
  mkdir -p "$distroless"
  for package in "$slim/packages"/*.deb; do dpkg-deb --extract "$package" "$distroless"; done
  rm -rf "$slim/packages" "$slim/var/lib/apt/lists" "$distroless/usr/share/doc" "$distroless/usr/share/man"
  mkdir -p "$distroless/nodejs/bin" "$distroless/etc/ssl/certs"
  cp "$slim/etc/ssl/certs/ca-certificates.crt" "$distroless/etc/ssl/certs/"
  chmod 1777 "$distroless/tmp"
  install -d -o 65532 -g 65532 -m 700 "$distroless/home/nonroot"
  printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' \
    >"$distroless/etc/passwd"
  printf 'root:x:0:\nnonroot:x:65532:\n' >"$distroless/etc/group"
  cp "$node" "$distroless/nodejs/bin/node"
  image_of "$distroless" "$distroless_name" --env "PATH=$path" \
    --env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    --user 65532 --workingdir /home/nonroot --entrypoint '["/nodejs/bin/node"]'

  cp "$node" "$slim/usr/local/bin/node"
  mkdir -p "$slim/usr/local/lib/node_modules"
  cp -r "$build/node/node_modules/npm" "$slim/usr/local/lib/node_modules/npm"
  for command in npm npx; do
    ln -s "../lib/node_modules/npm/bin/$command-cli.js" "$slim/usr/local/bin/$command"
  done
  image_of "$slim" "$slim_name" --env "PATH=$path" --cmd node
}

# Its own image has a longer script with the same settings.
postgres_script() {
  cat <<'END'
#!/bin/sh
set -eu
export PGDATA=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -m 700 "$PGDATA"
  install -d -o postgres /run/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait start --options "-c listen_addresses=''"
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl --wait stop
fi
exec "$@" -c 'listen_addresses=*'
END
}

service_images() {
  local postgres=$build/postgres haproxy=$build/haproxy
  if ! is_there docker.io/library/postgres:17-trixie; then
    # shellcheck disable=SC2016
    debian "$postgres" postgresql-17 --essential-hook='mkdir "$1/etc/postgresql-common" &&
      echo create_main_cluster=false >"$1/etc/postgresql-common/createcluster.conf"'
    postgres_script >"$postgres/usr/local/bin/docker-entrypoint.sh"
    chmod 755 "$postgres/usr/local/bin/docker-entrypoint.sh"
    image_of "$postgres" docker.io/library/postgres:17-trixie \
      --env "PATH=$path:/usr/lib/postgresql/17/bin" --env LANG=C.UTF-8 --stop-signal SIGINT \
      --entrypoint '["docker-entrypoint.sh"]' --cmd postgres
  fi
  if ! is_there docker.io/library/haproxy:3.2; then
    debian "$haproxy" haproxy
    image_of "$haproxy" docker.io/library/haproxy:3.2 --env "PATH=$path" --user haproxy \
      --stop-signal SIGUSR1 --entrypoint '["haproxy", "-W", "-db"]' \
      --cmd '-f /usr/local/etc/haproxy/haproxy.cfg'
  fi
}

case ${2:-} in
  node) node_images "$3" ;;
  services) service_images ;;
  *)
    sed -n '2,10p' "$0" >&2
    exit 2
    ;;
esac
