import { Worker } from 'node:worker_threads'
import { RequestThread } from '../db/dialect/request-thread.js'
import { BackupError } from './backup-error.js'
import type {
  BackupRequest,
  BackupResponse,
  BackupThreadData,
  BackupWork,
} from './backup-thread.js'

/** Runs the work of one backup in a thread of its own. */
export class BackupThread implements AsyncDisposable {
  readonly #copied = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  readonly #thread = new RequestThread<BackupRequest, BackupResponse>({
    start: () =>
      new Worker(new URL('./backup-thread.js', import.meta.url), {
        workerData: { copied: this.#copied } satisfies BackupThreadData,
      }),
    failure: (cause) => cause ?? new BackupError('the thread of the backup has stopped'),
  })

  constructor() {
    this.#thread.revive()
  }

  /** Bytes of the database that are copied. */
  get copiedBytes(): number {
    return this.#copied[0] ?? 0
  }

  async run<Name extends keyof BackupWork>(
    work: Name,
    input: Parameters<BackupWork[Name]>[0],
  ): Promise<ReturnType<BackupWork[Name]>> {
    const response = await this.#thread.ask({ work, input } as BackupRequest)
    if ('error' in response) {
      const { message, code } = response.error
      throw Object.assign(new Error(message), code !== undefined && { code })
    }
    return response.output as ReturnType<BackupWork[Name]>
  }

  /** Ends the thread, also in the middle of its work. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}
