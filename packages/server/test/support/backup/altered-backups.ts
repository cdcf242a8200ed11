/** Changes of backups that keep their hashes right. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '../../../dist/backup/manifest.js'

/** Returns the SHA-256 of bytes. */
export const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const sha256 = (path: string) => sha256Of(readFileSync(path))

/** Describes the parts of a backup as they are. */
export function partsOf(folder: string): Manifest['parts'] {
  return ['hermod.db', 'files.ndjson'].map((name) => {
    const path = join(folder, name)
    return { name, size: statSync(path).size, sha256: sha256(path) }
  })
}

/** Writes a manifest, and COMPLETE for it. */
export function writeManifest(folder: string, text: string): void {
  writeFileSync(join(folder, 'manifest.json'), text)
  const hash = createHash('sha256').update(text).digest('hex')
  writeFileSync(join(folder, 'COMPLETE'), `${hash}\n`)
}

/** Returns the paths of all files in a folder and below it; files in progress are left out. */
export function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith('.')) return []
    return entry.isDirectory() ? filesOf(path) : [path]
  })
}
