import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadPlan, type RequestSource, requestSource } from './plan.js'
import { ResponseReader } from './response-reader.js'

export interface LoadOrder {
  readonly port: number
  readonly connections: number
  readonly plan: LoadPlan
  /** Requests of the plan that earlier runs have taken; unset: none. */
  readonly taken?: number
  /** Not counted, except its errors. */
  readonly warmUpMs: number
  /** Null: until the plan ends, with everything counted. */
  readonly measureMs: number | null
  /** Requests a second of all connections together; unset: as many as are answered. */
  readonly perSecond?: number
  /** A successful answer with a shorter body counts as an error. */
  readonly minBodyBytes: number
  /** A successful answer with this in its body counts as an error, too. */
  readonly failureText?: string | undefined
}

/** All figures are those of the measured time, where nothing else is said. */
export interface LoadResult {
  readonly seconds: number
  readonly issued: number
  /** Answers of HTTP 200 with code 200. */
  readonly succeeded: number
  /** Of the plan, in the whole run. */
  readonly taken: number
  /** As `succeeded`, in the whole run. */
  readonly succeededInAll: number
  /** Of the whole run. A plan that ends before the time is one. */
  readonly errors: number
  /** The first few distinct errors. */
  readonly errorSamples: readonly string[]
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** User and system time of the load process itself. */
  readonly cpuMs: number
}

export interface LoadEvents {
  /** The warm-up is over. */
  measuring(): void
  /** The measured time is over; open requests are still being waited for. */
  measured(): void
}

const maxSamples = 5
const drainMs = 10_000
const reconnectMs = 20
// A server that is gone for good would otherwise be asked for ever when the run has no end in time.
const maxErrors = 10_000

/**
 * A closed loop: every connection sends its next request when the answer to the last one is there. With a rate it sends when it is time, or
 * at once when it is late, and the latency runs from that time.
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

  /** NaN: nothing was answered. */
  #latencyMs(percentile: number): number {
    return this.#succeeded > 0 ? this.#latencies.percentile(percentile) / 1000 : Number.NaN
  }

  get ending(): boolean {
    return this.#ending
  }

  /** The request that a free connection sends next; null: it has to close. */
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

  /** A connection is closed for good. */
  left(connection: LoadConnection): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) this.#resolveDrained()
  }
}

/** When a connection sends, in milliseconds as performance.now() has them. */
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
  // One buffer for all that ever arrives spares an allocation and the stream's bookkeeping per answer.
  readonly #buffer = Buffer.allocUnsafe(65_536)
  #reader = new ResponseReader()
  #socket: Socket
  /** When the request was sent; with a pace when it should have been. */
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

  /** @returns always true: go on reading */
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

  /** An idle connection that the server closes is no error. */
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
    // A pause, so that a server that is gone is not asked in a busy loop; the socket of this object stays the old one until then.
    setTimeout(() => {
      if (!this.#closed) this.#socket = this.#connect()
    }, reconnectMs)
  }
}

/** Sends one request on a connection of its own and returns the body of a successful answer. */
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
