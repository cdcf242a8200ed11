import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadPlan, type RequestSource, requestSource } from './plan.js'
import { ResponseReader } from './response-reader.js'

/** One run against a server. */
export interface LoadOrder {
  readonly port: number
  readonly connections: number
  readonly plan: LoadPlan
  /** Number of requests of the plan that earlier runs have sent; default 0. */
  readonly taken?: number
  /** Time without measurement; its errors count. */
  readonly warmUpMs: number
  /** Null: runs until the plan ends, and counts everything. */
  readonly measureMs: number | null
  /** Requests a second on all connections together; omitted: a closed loop. */
  readonly perSecond?: number
  /** A shorter body of a successful answer counts as an error. */
  readonly minBodyBytes: number
  /** A successful answer with this text in its body counts as an error, too. */
  readonly failureText?: string | undefined
}

/** Figures of any load. They cover the measured time, errors the whole run. */
export interface LoadFigures {
  readonly seconds: number
  readonly succeeded: number
  readonly errors: number
  /** The first few distinct errors. */
  readonly errorSamples: readonly string[]
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** User and system time of the load process. */
  readonly cpuMs: number
}

/** An answer succeeds with HTTP 200 and code 200. A plan that ends early counts as an error. */
export interface LoadResult extends LoadFigures {
  readonly issued: number
  /** Requests of the plan that the whole run has sent. */
  readonly taken: number
  /** Same as `succeeded`, for the whole run. */
  readonly succeededInAll: number
}

/** Notifications of a run. */
export interface LoadEvents {
  /** The warm-up has ended. */
  measuring(): void
  /** The measured time has ended; requests may still be open. */
  measured(): void
}

const maxSamples = 5
const drainMs = 10_000
const reconnectMs = 20
// Bound for a run without an end in time against a server that has ended.
const maxErrors = 10_000

/**
 * Loads a server in a closed loop: every connection sends its next request after the answer to the
 * last one. With a rate it sends at the scheduled time, or at once when it is late, and the latency
 * counts from the scheduled time.
 */
export async function runLoad(order: LoadOrder, events: LoadEvents): Promise<LoadResult> {
  const run = new LoadRun(order)
  if (order.measureMs === null) {
    run.startMeasuring()
    run.open()
    await run.drained
    run.stopMeasuring()
  } else {
    run.open()
    await sleep(order.warmUpMs)
    run.startMeasuring()
    events.measuring()
    await sleep(order.measureMs)
    run.stopMeasuring()
    events.measured()
    await Promise.race([run.drained, sleep(drainMs)])
  }
  return run.close()
}

class LoadRun {
  readonly drained: Promise<void>
  readonly #order: LoadOrder
  readonly #next: RequestSource
  readonly #connections = new Set<LoadConnection>()
  /** In whole microseconds, with three figures. */
  readonly #latencies = createHistogram()
  readonly #samples = new Set<string>()
  #resolveDrained = () => {}
  #measuring = false
  #ending = false
  #issued = 0
  #succeeded = 0
  #taken = 0
  #succeededInAll = 0
  #errors = 0
  #startedAt = 0
  #startedCpu = process.cpuUsage()
  #measuredMs = 0
  #cpuMs = 0

  constructor(order: LoadOrder) {
    this.#order = order
    this.#next = requestSource(order.plan, order.taken)
    this.drained = new Promise((resolve) => {
      this.#resolveDrained = resolve
    })
  }

  open(): void {
    const { connections, port, perSecond } = this.#order
    for (let index = 0; index < connections; index++) {
      const pace = perSecond === undefined ? null : paceOf(perSecond, connections, index)
      this.#connections.add(new LoadConnection(port, this, pace))
    }
  }

  startMeasuring(): void {
    this.#startedAt = performance.now()
    this.#startedCpu = process.cpuUsage()
    this.#measuring = true
  }

  stopMeasuring(): void {
    const { user, system } = process.cpuUsage(this.#startedCpu)
    this.#measuredMs = performance.now() - this.#startedAt
    this.#cpuMs = (user + system) / 1000
    this.#measuring = false
    this.#ending = true
  }

  close(): LoadResult {
    for (const connection of this.#connections) {
      this.failed(`no answer within ${drainMs} ms after the end`)
      connection.close()
    }
    return {
      seconds: this.#measuredMs / 1000,
      issued: this.#issued,
      succeeded: this.#succeeded,
      taken: this.#taken,
      succeededInAll: this.#succeededInAll,
      errors: this.#errors,
      errorSamples: [...this.#samples],
      p50Ms: this.#latencyMs(50),
      p99Ms: this.#latencyMs(99),
      maxMs: this.#latencyMs(100),
      cpuMs: this.#cpuMs,
    }
  }

  /** NaN without answers. */
  #latencyMs(percentile: number): number {
    return this.#succeeded > 0 ? this.#latencies.percentile(percentile) / 1000 : Number.NaN
  }

  get ending(): boolean {
    return this.#ending
  }

  /** Returns the next request of a free connection; null closes it. */
  next(): string | null {
    if (this.#ending) return null
    const request = this.#next()
    if (request === null) {
      this.#planEnded()
      return null
    }
    this.#taken++
    if (this.#measuring) this.#issued++
    return request
  }

  #planEnded(): void {
    this.#ending = true
    if (this.#order.measureMs !== null) this.failed('the plan ended before the time')
  }

  answered(reader: ResponseReader, latencyMs: number): void {
    if (!this.#isGood(reader)) {
      this.failed(`HTTP ${reader.status}: ${reader.body.toString('utf8', 0, 300)}`)
      return
    }
    this.#succeededInAll++
    if (!this.#measuring) return
    this.#succeeded++
    this.#latencies.record(Math.max(1, Math.round(latencyMs * 1000)))
  }

  #isGood({ succeeded, body }: ResponseReader): boolean {
    const { minBodyBytes, failureText } = this.#order
    return (
      succeeded &&
      body.length >= minBodyBytes &&
      (failureText === undefined || !body.includes(failureText))
    )
  }

  failed(sample: string): void {
    this.#errors++
    if (this.#errors === maxErrors) this.#ending = true
    if (this.#samples.size < maxSamples) this.#samples.add(sample)
  }

  /** Reports that a connection has closed for good. */
  left(connection: LoadConnection): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) this.#resolveDrained()
  }
}

/** Schedule of a connection's sends, in the milliseconds of performance.now(). */
interface Pace {
  readonly firstAt: number
  readonly everyMs: number
}

function paceOf(perSecond: number, connections: number, index: number): Pace {
  const everyMs = (connections / perSecond) * 1000
  return { firstAt: performance.now() + (everyMs * index) / connections, everyMs }
}

class LoadConnection {
  readonly #port: number
  readonly #run: LoadRun
  // One buffer for all data spares an allocation and the stream's bookkeeping per answer.
  readonly #buffer = Buffer.allocUnsafe(65_536)
  #reader = new ResponseReader()
  #socket: Socket
  /** Time of the send; with a rate the scheduled time. */
  #sentAt = 0
  #nextAt: number
  #timer: NodeJS.Timeout | undefined
  #waiting = false
  #closed = false

  constructor(
    port: number,
    run: LoadRun,
    private readonly pace: Pace | null,
  ) {
    this.#port = port
    this.#run = run
    this.#nextAt = pace?.firstAt ?? 0
    this.#socket = this.#connect()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#socket.destroy()
    this.#run.left(this)
  }

  #connect(): Socket {
    const onread = { buffer: this.#buffer, callback: (length: number) => this.#received(length) }
    const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true, onread })
    socket.once('connect', () => this.#sendInTime())
    socket.once('error', (error) => this.#cut(error.message))
    socket.once('close', () => this.#cut('the server closed the connection'))
    this.#waiting = true
    return socket
  }

  #sendInTime(): void {
    const waitMs = this.pace === null ? 0 : this.#nextAt - performance.now()
    if (waitMs > 0) this.#timer = setTimeout(() => this.#send(), waitMs)
    else this.#send()
  }

  #send(): void {
    const request = this.#run.next()
    if (request === null) {
      this.close()
      return
    }
    this.#waiting = true
    const now = performance.now()
    this.#sentAt = this.pace === null ? now : Math.min(now, this.#nextAt)
    this.#nextAt += this.pace?.everyMs ?? 0
    this.#socket.write(request, 'latin1')
  }

  /** @returns always true: continue reading */
  #received(length: number): boolean {
    try {
      if (this.#reader.feed(this.#buffer.subarray(0, length))) this.#answered()
    } catch (error) {
      this.#cut((error as Error).message)
    }
    return true
  }

  #answered(): void {
    this.#waiting = false
    this.#run.answered(this.#reader, performance.now() - this.#sentAt)
    if (this.#reader.closes) this.#reconnect()
    else this.#sendInTime()
  }

  /** An idle connection that the server closes is not an error. */
  #cut(reason: string): void {
    if (this.#closed) return
    if (this.#waiting) this.#run.failed(reason)
    this.#reconnect()
  }

  #reconnect(): void {
    clearTimeout(this.#timer)
    this.#socket.removeAllListeners().on('error', () => {})
    this.#socket.destroy()
    this.#reader = new ResponseReader()
    if (this.#run.ending) {
      this.close()
      return
    }
    // The pause avoids a busy loop against a server that has ended; the socket of this object stays
    // the old one until then.
    setTimeout(() => {
      if (!this.#closed) this.#socket = this.#connect()
    }, reconnectMs)
  }
}

/** Sends one request on a new connection and returns the body of a successful answer. */
export function requestOnce(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader()
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(request, 'latin1'))
    socket.once('error', reject)
    socket.on('data', (chunk) => {
      if (!reader.feed(chunk)) return
      socket.destroy()
      const body = reader.body.toString()
      if (reader.succeeded) resolve(body)
      else reject(new Error(`HTTP ${reader.status}: ${body.slice(0, 500)}`))
    })
    socket.once('close', () => reject(new Error('the connection was closed without an answer')))
  })
}
