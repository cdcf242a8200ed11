import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from './processes/exit-tasks.js'

/** A fresh temporary folder, removed at the end of this process at the latest, unless it is kept. */
export class TempFolder implements Disposable {
  readonly path: string
  readonly #forget: () => void

  /** @param parent default: the system's temporary folder */
  constructor(name: string, parent = realpathSync(tmpdir())) {
    this.path = mkdtempSync(join(parent, `hermod-${process.pid}-${name}-`))
    this.#forget = atExit(() => this.#remove())
  }

  /** Keeps the folder on disk and reports its path. */
  keep(reason: string): void {
    this.#forget()
    process.stderr.write(`kept ${this.path}: ${reason}\n`)
  }

  [Symbol.dispose](): void {
    this.#forget()
    this.#remove()
  }

  #remove(): void {
    // Retries: a process that was just killed may still create a last file.
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  }
}
