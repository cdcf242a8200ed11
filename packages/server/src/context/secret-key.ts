import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const keyFile = 'secret.key'

/**
 * The key that secrets are encrypted with and credentials are derived from: the configured one, else one that is made once and kept in
 * the data folder with mode 600. Nodes that share a database must be given the same key.
 */
export function loadSecretKey(dataDir: string, configured: string | null): Buffer {
  if (configured !== null) return Buffer.from(configured)
  const path = join(dataDir, keyFile)
  try {
    // The folder's lock is held, so nobody else creates it at the same time; `wx` keeps one that is there.
    writeFileSync(path, randomBytes(32).toString('base64url'), {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = readFileSync(path)
  if (key.length < 32)
    throw new Error(
      `${path} holds no key; restore it from a backup, or remove it to make a new one`,
    )
  return key
}
