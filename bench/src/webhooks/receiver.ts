/**
 * The receiver of webhooks, in a separate process. It answers 200 and verifies no signature, so that
 * its own work stays small. The path /silent never answers.
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { text as readText } from 'node:stream/consumers'
import type { BareRequest } from '../push/bare-run.js'

/** Next behaviour of the receiver; the figures of a path begin anew. */
export interface ReceiverOrder {
  readonly path: string
  /** Sends the figures when so many events have arrived; omitted: now. */
  readonly events?: number
}

/** Figures of the events that a path has received. */
export interface ReceivedFigures {
  readonly events: number
  readonly requests: number
  /** From the first to the last request, ms. */
  readonly ms: number
  /** From the time of the event to its arrival, ms. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Messages that came after a later one of their conversation. */
  readonly disordered: number
  /** The first requests, to be sent again. */
  readonly sample: readonly BareRequest[]
}

interface Body {
  readonly key: string
  readonly timestamp: number
  readonly data: { readonly seq?: number }
}

const maxSample = 2_000

class PathFigures {
  readonly #latencies = createHistogram()
  readonly #lastSeq = new Map<string, number>()
  readonly #sample: BareRequest[] = []
  #requests = 0
  #startedAt = 0
  #lastAt = 0
  #disordered = 0
  events = 0
  wanted: number | null = null

  take(path: string, headers: IncomingHttpHeaders, body: string): void {
    const now = performance.now()
    if (this.#requests++ === 0) this.#startedAt = now
    this.#lastAt = now
    if (this.#sample.length < maxSample)
      this.#sample.push({ path, headers: ownHeaders(headers), body })
    const parsed: Body | Body[] = JSON.parse(body)
    const arrivedAt = Date.now()
    for (const event of Array.isArray(parsed) ? parsed : [parsed]) {
      this.events++
      this.#latencies.record(Math.max(1, arrivedAt - event.timestamp))
      this.#checkOrder(event)
    }
  }

  get figures(): ReceivedFigures {
    return {
      events: this.events,
      requests: this.#requests,
      ms: this.#lastAt - this.#startedAt,
      p50Ms: this.#latencies.percentile(50),
      p99Ms: this.#latencies.percentile(99),
      maxMs: this.#latencies.max,
      disordered: this.#disordered,
      sample: this.#sample,
    }
  }

  #checkOrder({ key, data: { seq } }: Body): void {
    if (seq === undefined) return
    if (seq < (this.#lastSeq.get(key) ?? 0)) this.#disordered++
    this.#lastSeq.set(key, seq)
  }
}

const paths = new Map<string, PathFigures>()

function figuresOf(path: string): PathFigures {
  const known = paths.get(path) ?? new PathFigures()
  paths.set(path, known)
  return known
}

function reply(path: string): void {
  const figures = figuresOf(path)
  paths.delete(path)
  process.send?.(figures.figures)
}

const server = createServer(async (incoming, outgoing) => {
  const { url = '', headers } = incoming
  const body = await readText(incoming)
  if (url === '/silent') return
  // Requests that the bare client repeats are answered and not counted.
  if (headers['x-bare'] === undefined) {
    const figures = figuresOf(url)
    figures.take(url, headers, body)
    if (figures.wanted !== null && figures.events >= figures.wanted) reply(url)
  }
  outgoing.writeHead(200).end()
})

/** Returns the headers that HTTP clients do not add. */
function ownHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const own = Object.entries(headers).filter(
    ([name]) => !['host', 'connection', 'content-length'].includes(name),
  )
  return { ...(Object.fromEntries(own) as Record<string, string>), 'x-bare': '1' }
}

// The parent process has ended.
process.once('disconnect', () => process.exit())
process.on('message', ({ path, events }: ReceiverOrder) => {
  if (events === undefined || figuresOf(path).events >= events) reply(path)
  else figuresOf(path).wanted = events
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.({ port: (server.address() as AddressInfo).port })
