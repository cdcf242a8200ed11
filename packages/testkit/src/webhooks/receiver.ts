import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../api.js'

/** An event of a request, as the service sends it. */
export interface ReceivedEvent {
  readonly id: string
  readonly type: string
  readonly key: string
  readonly timestamp: number
  readonly app_id: string
  readonly cursor: string
  readonly data: Json
}

/** A request with a valid signature. */
export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** One or more, in order. */
  readonly events: readonly ReceivedEvent[]
  /** Milliseconds since 1970. */
  readonly at: number
}

/** An HTTP answer. */
export interface StatusAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Time before the answer; default 0. */
  readonly delayMs?: number
}

/** Bytes on the connection, which then ends. */
export interface RawAnswer {
  readonly bytes: string
}

export type ReceiverAnswer = StatusAnswer | RawAnswer | 'silence'

type Answering = ReceiverAnswer | undefined

const hugeBytes = 10_000_000

/** Answers of receivers that are wrong, or do not work. */
export const wrongAnswers = {
  /** No HTTP. */
  nonsense: { bytes: 'SSH-2.0-OpenSSH_9.9\r\n\r\n\u0000\u0001' },
  /** Success, and a body that breaks off. */
  halfBody: { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf' },
  /** Success, and a body that is longer than its announced length. */
  lyingLength: { bytes: `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${'ok'.repeat(500)}` },
  /** Headers that break off. */
  halfHeaders: { bytes: 'HTTP/1.1 200 OK\r\nContent-Le' },
  /** The connection ends without an answer. */
  nothing: { bytes: '' },
  /** Success, and 10 MB of body. */
  huge: { status: 200, body: 'x'.repeat(hugeBytes) },
  silence: 'silence',
} as const satisfies Readonly<Record<string, ReceiverAnswer>>

const accepted: ReceiverAnswer = { status: 204 }

export interface ReceiverOptions {
  /** @throws Error when the signature is not valid */
  readonly verify: (body: string, headers: Readonly<Record<string, string>>) => unknown
  /** 0, the default: any free port. */
  readonly port?: number
  /** Called with each accepted request before it is answered. */
  readonly record?: (request: ReceivedRequest) => void
  /** Returns the answer of a request; undefined: 204. */
  readonly answer?: (request: ReceivedRequest) => Answering | Promise<Answering>
}

/** A receiver of webhooks on the loopback address, which verifies every request. */
export class WebhookReceiver implements AsyncDisposable {
  /** Requests that were answered with 2xx, in the order of arrival. */
  readonly accepted: ReceivedRequest[] = []
  /** All requests with a valid signature. */
  requests = 0
  /** Reasons of requests that were not valid. */
  readonly invalid: string[] = []
  /** See {@link ReceiverOptions.answer}; it can change at any time. */
  answer: (request: ReceivedRequest) => Answering | Promise<Answering>
  readonly #server: Server

  private constructor(private readonly options: ReceiverOptions) {
    this.answer = options.answer ?? (() => undefined)
    this.#server = createServer((incoming, outgoing) => {
      this.#take(incoming, outgoing).catch(() => outgoing.destroy())
    })
  }

  static async start(options: ReceiverOptions): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(options)
    receiver.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Accepted events in the order of their first arrival, without repetitions. */
  get events(): ReceivedEvent[] {
    const byId = new Map<string, ReceivedEvent>()
    for (const event of this.accepted.flatMap(({ events }) => events))
      if (!byId.has(event.id)) byId.set(event.id, event)
    return [...byId.values()]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await readText(incoming)
    const request = this.#verified(incoming, body)
    if (request === null) {
      outgoing.writeHead(400).end()
      return
    }
    this.requests++
    const answer = (await this.answer(request)) ?? accepted
    if (answer === 'silence') return
    if ('bytes' in answer) {
      outgoing.socket?.end(answer.bytes)
      return
    }
    if (answer.delayMs) await sleep(answer.delayMs)
    if (answer.status >= 200 && answer.status < 300) {
      this.options.record?.(request)
      this.accepted.push(request)
    }
    outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }

  /** @returns null when the signature or the body is not valid */
  #verified({ url = '', headers }: IncomingMessage, body: string): ReceivedRequest | null {
    try {
      this.options.verify(body, headers as Record<string, string>)
      const parsed: ReceivedEvent | ReceivedEvent[] = JSON.parse(body)
      const events = Array.isArray(parsed) ? parsed : [parsed]
      if (headers['webhook-id'] !== events[0]?.id) throw new Error('webhook-id is not the first id')
      return { path: url, headers, body, events, at: Date.now() }
    } catch (error) {
      this.invalid.push((error as Error).message)
      return null
    }
  }
}
