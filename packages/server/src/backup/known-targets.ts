import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../lib/system/sync-folder.js'

/** The name of the file in the data folder. */
export const knownTargetsFile = 'backup-targets.json'

/** The folders that have got backups of this data folder, in a file of it. */
export class KnownTargets {
  readonly #path: string

  constructor(private readonly dataDir: string) {
    this.#path = join(dataDir, knownTargetsFile)
  }

  /** Returns absolute paths. */
  async list(): Promise<string[]> {
    try {
      return JSON.parse(await readFile(this.#path, 'utf8')) as string[]
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || error instanceof SyntaxError) return []
      throw error
    }
  }

  async add(folder: string): Promise<void> {
    const known = await this.list()
    if (known.includes(folder)) return
    const text = `${JSON.stringify([...known, folder])}\n`
    await writeFile(`${this.#path}.new`, text, { mode: 0o600, flush: true })
    await rename(`${this.#path}.new`, this.#path)
    await syncFolder(this.dataDir)
  }
}
