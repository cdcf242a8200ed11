import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from './processes/exit-tasks.js'

/** A fresh folder below the system's temporary folder, gone at the end of this process at the latest, unless it is kept. */
export class TempFolder implements Disposable {
  readonly path: string
  readonly #forget: () => void

  constructor(name: string) {
    this.path = mkdtempSync(join(realpathSync(tmpdir()), `hermod-${name}-`))
    this.#forget = atExit(() => this.#remove())
  }

  /** Leaves the folder on disk for good and says where it is. */
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
