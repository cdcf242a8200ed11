import { Worker } from 'node:worker_threads'
import { RetryProcedure } from '../../procedure.js'
import type { ProcedureCall } from '../dialect.js'
import { type closing, RequestThread } from '../request-thread.js'
import { ConnectionError } from './connection.js'

export interface ProcedureThreadOptions {
  readonly url: string
  /** A statement without an answer ends after this time. */
  readonly deadlineMs?: number | undefined
  /** Looks at what procedures write, and whether they wait for all of it; default false. */
  readonly checksProcedures?: boolean | undefined
}

export type ProcedureRequest = ProcedureCall | typeof closing

export type ProcedureResponse =
  | { readonly output: unknown }
  | { readonly restart: unknown }
  /** `isUnavailable`: the database could not do its work. */
  | { readonly failure: { readonly message: string; readonly isUnavailable: boolean } }

/** A thread that nobody needs gives its memory and its connection back. */
const restAfterMs = 60_000

/**
 * Procedures beside the event loop, on a thread with one connection of its own, one after the other: what they read and decide keeps no
 * call waiting. The thread is started when it is first needed.
 */
export class ProcedureThread {
  readonly #thread: RequestThread<ProcedureRequest, ProcedureResponse>
  #timer: NodeJS.Timeout | undefined

  constructor({ url, deadlineMs, checksProcedures }: ProcedureThreadOptions) {
    const workerData: ProcedureThreadOptions = { url, deadlineMs, checksProcedures }
    this.#thread = new RequestThread({
      start: () =>
        new Worker(new URL('./procedure-worker.js', import.meta.url), {
          workerData,
          // What a procedure leaves is garbage when it ends; with a quarter of this the p99 of messages beside it was a fifth higher.
          resourceLimits: { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 },
        }),
      failure: (cause) =>
        new ConnectionError(cause ?? new Error('the thread of procedures has stopped')),
    })
  }

  async run({ module, name, input }: ProcedureCall): Promise<unknown> {
    this.#thread.revive()
    const response = await this.#thread
      .ask({ module, name, input })
      .finally(() => this.#restLater())
    if ('restart' in response) throw new RetryProcedure(response.restart)
    if ('output' in response) return response.output
    const { message, isUnavailable } = response.failure
    const error = new Error(message)
    throw isUnavailable ? new ConnectionError(error) : error
  }

  #restLater(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#thread.isIdle) void this.#thread.rest()
    }, restAfterMs).unref()
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#thread.close()
  }
}
