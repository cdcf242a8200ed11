import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerSecrets } from '../config/secrets.js'
import type { KeyFile } from '../domain/secrets/secret-service.js'
import { syncFolder } from '../lib/system/sync-folder.js'

/** The secret key as the service starts with it. */
export interface LoadedSecretKeys {
  readonly current: Buffer
  /** The key of secrets that a rotation has not sealed again yet; null except during a rotation. */
  readonly previous: Buffer | null
  /** The file that a rotation writes a new key to; null when the keys come from the settings. */
  readonly file: KeyFile | null
}

const fileName = 'secret.key'
const minKeyBytes = 32

/**
 * The configured keys, else those of secret.key in the data folder, which is created once with mode
 * 600. Its first line is the key; during a rotation its second line is the previous key. Nodes that
 * share a database must have the same keys.
 */
export function loadSecretKeys(
  dataDir: string,
  { secretKey, secretKeyOld }: Pick<ServerSecrets, 'secretKey' | 'secretKeyOld'>,
): LoadedSecretKeys {
  if (secretKey !== null) {
    const previous = secretKeyOld === null ? null : Buffer.from(secretKeyOld)
    return { current: Buffer.from(secretKey), previous, file: null }
  }
  const path = join(dataDir, fileName)
  try {
    // The folder is locked, so no other process creates the file at the same time; `wx` keeps an
    // existing file.
    writeFileSync(path, newSecretKey(), { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const [current, previous, ...rest] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const keys = [current, previous].filter((key) => key !== undefined).map((key) => Buffer.from(key))
  if (rest.length > 0 || keys.some((key) => key.length < minKeyBytes))
    throw new Error(
      `${path} holds no key; restore it from a backup, or remove it to make a new one`,
    )
  return { current: keys[0] as Buffer, previous: keys[1] ?? null, file: keyFile(dataDir, path) }
}

/** Reports whether {@link loadSecretKeys} finds a key, and makes none. */
export function hasSecretKey(
  dataDir: string,
  { secretKey }: Pick<ServerSecrets, 'secretKey'>,
): boolean {
  return secretKey !== null || existsSync(join(dataDir, fileName))
}

function newSecretKey(): string {
  return randomBytes(32).toString('base64url')
}

function keyFile(dataDir: string, path: string): KeyFile {
  return {
    newKey: () => Buffer.from(newSecretKey()),
    async write(current, previous) {
      const text = previous === null ? `${current}` : `${current}\n${previous}`
      const next = `${path}.new`
      await writeFile(next, text, { mode: 0o600, flush: true })
      await rename(next, path)
      await syncFolder(dataDir)
    },
  }
}

/**
 * Files that other users of the machine can read and should not, each with its mode and the mode it
 * needs.
 */
export function readableByOthers(
  dataDir: string,
): { readonly path: string; readonly mode: string; readonly needed: string }[] {
  // Windows has no such modes.
  if (process.platform === 'win32') return []
  const places = [
    { path: dataDir, needed: '700' },
    { path: join(dataDir, fileName), needed: '600' },
  ]
  return places.flatMap(({ path, needed }) => {
    const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
    return (mode & 0o077) === 0 ? [] : [{ path, mode: mode.toString(8), needed }]
  })
}
