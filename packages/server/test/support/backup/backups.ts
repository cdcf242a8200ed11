/** Backups as tests make them, and restores of them by hand. */
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryDisk, TempFolder } from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Manifest } from '../../../dist/backup/manifest.js'
import { callHermod } from '../hermod-command.js'

/** Settings of the server whose data is backed up. */
export type Settings = Readonly<Record<string, string | undefined>>

/** Runs `hermod backup …`. @returns the last line of its output, from JSON */
export async function backup(args: readonly string[], settings: Settings) {
  const { code, out, err } = await callHermod(['backup', ...args, '--json'], settings)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out.trim().split('\n').at(-1) ?? '')
}

/** Makes a backup. @returns its folder and its manifest */
export async function makeBackup(
  target: string,
  settings: Settings,
): Promise<{ readonly folder: string; readonly manifest: Manifest }> {
  const { result } = await backup(['create', '--to', target], settings)
  const folder = join(target, result.name)
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  return { folder, manifest }
}

/** A data folder with the contents of a backup. */
export class RestoredFolder implements Disposable {
  readonly #folder = new TempFolder('restored', memoryDisk())
  readonly dataDir: string

  /** @param keyFile secret.key of the server */
  constructor(target: string, name: string, keyFile: string) {
    this.dataDir = join(this.#folder.path, 'data')
    mkdirSync(this.dataDir, { mode: 0o700 })
    copyFileSync(join(target, name, 'hermod.db'), join(this.dataDir, 'hermod.db'))
    copyFileSync(keyFile, join(this.dataDir, 'secret.key'))
    const files = join(target, 'files')
    if (existsSync(files)) cpSync(files, join(this.dataDir, 'files'), { recursive: true })
  }

  /** What `hermod check` says. */
  async check() {
    const { code, out, err } = await callHermod(['check', '--json'], {
      HERMOD_DATA_DIR: this.dataDir,
    })
    return { code, err, report: JSON.parse(out) }
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}

/** The messages of each conversation in a database that nothing else has open, by its key. */
export function storedMessages(path: string): Map<string, { seq: number; content: string }[]> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const rows = database
      .prepare('select low_id, high_id, seq, content from messages order by low_id, high_id, seq')
      .all() as unknown as { low_id: number; high_id: number; seq: number; content: string }[]
    const found = new Map<string, { seq: number; content: string }[]>()
    for (const { low_id, high_id, seq, content } of rows) {
      const key = `${low_id} ${high_id}`
      found.set(key, [...(found.get(key) ?? []), { seq, content }])
    }
    return found
  } finally {
    database.close()
  }
}

/** What the engine says about a database that nothing else has open. */
export function integrityOf(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare('pragma integrity_check').all()
  } finally {
    database.close()
  }
}
