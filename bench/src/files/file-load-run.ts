/**
 * Uploads and downloads in a closed loop: every connection sends its next request after the answer
 * to the last one.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { LoadEvents, LoadFigures } from '../load/load-run.js'

/** Requests of one run, over some connections. */
export interface FileLoadOrder {
  readonly port: number
  readonly connections: number
  /**
   * Request heads, each with its final empty line. They are sent in order, and the last one ends
   * the run.
   */
  readonly heads: readonly string[]
  /** Starts again with the first head after the last one. */
  readonly repeats: boolean
  /** Sent after each head. */
  readonly body: Uint8Array
  /** Expected length of a successful answer's content; null: the content includes `"data":true`. */
  readonly answerBytes: number | null
  readonly warmUpMs: number
  readonly measureMs: number
}

const maxSamples = 5
const maxErrors = 100
const headBytesMax = 4096
const headEnd = '\r\n\r\n'

/** @throws Error when a connection cannot be opened */
export async function runFileLoad(order: FileLoadOrder, events: LoadEvents): Promise<LoadFigures> {
  const run = new FileLoadRun(order, events)
  const workers = Array.from({ length: order.connections }, () => run.work())
  await Promise.all(workers)
  return run.result()
}

class FileLoadRun {
  readonly #latencies: RecordableHistogram = createHistogram()
  readonly #samples = new Set<string>()
  readonly #beginAt: number
  readonly #endAt: number
  #sent = 0
  #succeeded = 0
  #errors = 0
  #cpu: NodeJS.CpuUsage | null = null
  #measuredAt = 0
  #result: Pick<LoadFigures, 'seconds' | 'cpuMs'> | null = null

  constructor(
    private readonly order: FileLoadOrder,
    private readonly events: LoadEvents,
  ) {
    this.#beginAt = performance.now() + order.warmUpMs
    this.#endAt = this.#beginAt + order.measureMs
  }

  async work(): Promise<void> {
    let socket: Socket | null = null
    for (let head = this.#next(); head !== null; head = this.#next()) {
      socket ??= await open(this.order.port)
      const startedAt = performance.now()
      try {
        const answer = await askOnce(socket, head, this.order.body)
        this.#answered(answer, startedAt)
      } catch (error) {
        this.#failed((error as Error).message)
        socket.destroy()
        socket = null
      }
    }
    socket?.destroy()
  }

  result(): LoadFigures {
    this.#end()
    const msOf = (percentile: number) =>
      this.#succeeded > 0 ? this.#latencies.percentile(percentile) / 1000 : Number.NaN
    return {
      ...(this.#result ?? { seconds: Number.NaN, cpuMs: Number.NaN }),
      succeeded: this.#succeeded,
      errors: this.#errors,
      errorSamples: [...this.#samples],
      p50Ms: msOf(50),
      p99Ms: msOf(99),
      maxMs: msOf(100),
    }
  }

  /** @returns null after the end of the time or of the requests */
  #next(): string | null {
    const now = performance.now()
    if (this.#cpu === null && now >= this.#beginAt) this.#begin(now)
    const { heads, repeats } = this.order
    const isOver = now >= this.#endAt || this.#errors >= maxErrors
    if (isOver || (!repeats && this.#sent === heads.length)) {
      this.#end()
      return null
    }
    return heads[this.#sent++ % heads.length] as string
  }

  #begin(now: number): void {
    this.#cpu = process.cpuUsage()
    this.#measuredAt = now
    this.events.measuring()
  }

  #end(): void {
    if (this.#result !== null || this.#cpu === null) return
    const { user, system } = process.cpuUsage(this.#cpu)
    const seconds = (performance.now() - this.#measuredAt) / 1000
    this.#result = { seconds, cpuMs: (user + system) / 1000 }
    this.events.measured()
  }

  #answered({ status, length, start }: FileReply, startedAt: number): void {
    const { answerBytes } = this.order
    const isGood =
      status === 200 &&
      (answerBytes === null ? start.includes('"data":true') : length === answerBytes)
    if (!isGood) this.#failed(`HTTP ${status}, ${length} bytes: ${start}`)
    else if (this.#isMeasured(startedAt)) {
      this.#succeeded++
      this.#latencies.record(Math.max(1, Math.round((performance.now() - startedAt) * 1000)))
    }
  }

  #isMeasured(startedAt: number): boolean {
    return this.#cpu !== null && this.#result === null && startedAt >= this.#measuredAt
  }

  #failed(sample: string): void {
    this.#errors++
    if (this.#samples.size < maxSamples) this.#samples.add(sample)
  }
}

interface FileReply {
  readonly status: number
  /** Length of the content in bytes. */
  readonly length: number
  /** First few bytes of the content. */
  readonly start: string
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** @throws Error when the connection ends, or the answer is not HTTP/1.1 with a Content-Length */
function askOnce(socket: Socket, head: string, body: Uint8Array): Promise<FileReply> {
  return new Promise((resolve, reject) => {
    let known: (FileReply & { readonly size: number }) | null = null
    let early: Buffer = Buffer.alloc(0)
    let received = 0
    const done = () => {
      socket.off('data', take).off('error', failed).off('close', closed)
    }
    const failed = (error: Error) => {
      done()
      reject(error)
    }
    const closed = () => failed(new Error('the server closed the connection'))
    const take = (chunk: Buffer) => {
      received += chunk.length
      if (known === null) {
        early = early.length === 0 ? chunk : Buffer.concat([early, chunk])
        try {
          known = readHead(early)
        } catch (error) {
          return failed(error as Error)
        }
      }
      if (known === null || received < known.size) return
      done()
      if (received > known.size) reject(new Error('more bytes than the answer has'))
      else resolve(known)
    }
    socket.on('data', take).on('error', failed).on('close', closed)
    socket.cork()
    socket.write(head, 'latin1')
    if (body.length > 0) socket.write(body)
    socket.uncork()
  })
}

/** @returns null while the answer is incomplete; `size` is that of head and content together */
function readHead(bytes: Buffer): (FileReply & { readonly size: number }) | null {
  const text = bytes.toString('latin1', 0, headBytesMax)
  const at = text.indexOf(headEnd)
  if (at < 0 && text.length < headBytesMax) return null
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, at + 2))?.[1]
  if (!text.startsWith('HTTP/1.1 ') || length === undefined)
    throw new Error(`no HTTP/1.1 with a Content-Length: ${text.slice(0, 300)}`)
  const start = at + headEnd.length
  return {
    status: Number(text.slice(9, 12)),
    length: Number(length),
    start: text.slice(start, start + 200),
    size: start + Number(length),
  }
}
