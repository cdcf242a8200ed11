/** Backups of the data folder of a server that does not run, for tests of what reads backups. */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Manifest, manifestText } from '../../../dist/backup/manifest.js'
import { installationOf } from '../../../dist/backup/target.js'
import { keyId } from '../../../dist/lib/secrets/secret-keys.js'

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Makes a complete backup in a target. @returns its folder */
export function makeBackup(
  dataDir: string,
  target: string,
  changes: Partial<Manifest> = {},
): string {
  const folder = join(target, '20261129T160000Z-k3f9a1')
  mkdirSync(join(folder), { recursive: true })
  const database = new DatabaseSync(join(dataDir, 'hermod.db'))
  database.exec('pragma wal_checkpoint(truncate)')
  const { epoch, channel } = database
    .prepare('select epoch, bus_channel as channel from database_identity')
    .get() as { epoch: string; channel: string }
  database.close()
  const mark = { format: 1, installation: installationOf(channel) }
  writeFileSync(join(target, 'hermod-backups.json'), `${JSON.stringify(mark)}\n`)
  cpSync(join(dataDir, 'hermod.db'), join(folder, 'hermod.db'))
  const files = filesOf(join(dataDir, 'files'))
  const lines = files.map((path) => {
    const key = relative(join(dataDir, 'files'), path)
    mkdirSync(dirname(join(target, 'files', key)), { recursive: true })
    cpSync(path, join(target, 'files', key))
    return { key, size: statSync(path).size, sha256: sha256(path) }
  })
  writeFileSync(join(folder, 'files.ndjson'), '')
  for (const line of lines)
    appendFileSync(join(folder, 'files.ndjson'), `${JSON.stringify(line)}\n`)
  const manifest: Manifest = {
    format: 1,
    created_at: '2026-11-29T16:00:00.000Z',
    version: '0.0.0',
    schema: { number: 1, name: '001-initial' },
    engine: 'sqlite',
    epoch,
    secret_key_fingerprint: keyId(
      Buffer.from(readFileSync(join(dataDir, 'secret.key'), 'utf8').split('\n')[0] as string),
    ),
    parts: partsOf(folder),
    positions: {},
    newest_message: null,
    files: {
      store: 'folder',
      count: lines.length,
      bytes: lines.reduce((sum, { size }) => sum + size, 0),
      missing: 0,
    },
    key_inside: false,
    ...changes,
  }
  writeManifest(folder, manifestText(manifest))
  return folder
}

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
