#!/bin/sh
# Makes the secrets of compose.postgres.yaml and compose.cluster.yaml in deploy/secrets; those that
# are there stay. Keep copies of the files apart from the backups of the database.
set -eu
umask 077
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
chmod 700 "$folder"

# Containers read them as users of their own, who are kept from the folder on this machine.
keep() {
  if [ ! -s "$folder/$1" ]; then
    # An interrupted run leaves this file, into which only root could write.
    rm -f "$folder/$1.new"
    printf '%s\n' "$2" >"$folder/$1.new"
    chmod 444 "$folder/$1.new"
    mv "$folder/$1.new" "$folder/$1"
  fi
}

# Assignments end the script when openssl fails; arguments would be empty.
key=$(openssl rand -hex 32)
password=$(openssl rand -hex 32)
keep secret-key "$key"
keep postgres-password "$password"
keep database-url "postgres://hermod:$(cat "$folder/postgres-password")@postgres:5432/hermod"
