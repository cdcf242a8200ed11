import type { Worker } from 'node:worker_threads'

interface PendingRequest<Response> {
  resolve(response: Response): void
  reject(error: Error): void
}

interface Thread<Response> {
  readonly worker: Worker
  readonly waiting: PendingRequest<Response>[]
}

interface RequestThreadOptions {
  start(): Worker
  /**
   * Makes the error of requests without an answer.
   * @param cause the thread's error; null: it has stopped, or does not run
   */
  failure(cause: Error | null): Error
}

/** The last request of a thread, which ends it. */
export const closing = { close: true } as const

/** A thread that answers requests in order. After an unexpected end {@link revive} starts another. */
export class RequestThread<Request, Response> {
  #thread: Thread<Response> | undefined
  #isClosed = false

  constructor(private readonly options: RequestThreadOptions) {}

  /** Starts the thread if none is running; not once it is closed. */
  revive(): void {
    if (!this.#isClosed) this.#thread ??= this.#start()
  }

  #start(): Thread<Response> {
    const worker = this.options.start()
    const waiting: PendingRequest<Response>[] = []
    const thread = { worker, waiting }
    const fail = (cause: Error | null) => {
      if (this.#thread === thread) this.#thread = undefined
      for (const { reject } of waiting.splice(0)) reject(this.options.failure(cause))
    }
    worker.on('message', (response: Response) => waiting.shift()?.resolve(response))
    worker.on('error', fail)
    worker.on('exit', () => fail(null))
    return thread
  }

  /** Asks the running thread; a new one would lack the state of earlier requests. */
  ask(request: Request): Promise<Response> {
    return new Promise((resolve, reject) => {
      if (!this.#thread) {
        reject(this.options.failure(null))
        return
      }
      // First, since it throws at values that cannot cross; those get no answer.
      this.#thread.worker.postMessage(request)
      this.#thread.waiting.push({ resolve, reject })
    })
  }

  /** Ends the thread at once, for good; its requests fail. */
  async terminate(): Promise<void> {
    this.#isClosed = true
    await this.#thread?.worker.terminate()
  }

  /** Ends the thread once it has answered, for good. */
  async close(): Promise<void> {
    this.#isClosed = true
    const worker = this.#thread?.worker
    if (!worker) return
    this.#thread = undefined
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.postMessage(closing)
    await exited
  }
}
