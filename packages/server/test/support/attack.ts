/** Attacks on a server process, with somebody honest beside them. */
import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Answer,
  type Api,
  peakRssBytes,
  type ServerOptions,
  type ServerProcess,
  type Session,
  startServer,
  waitFor,
} from '@hermod/testkit'
import { textTo } from './messaging.js'

/** The attacker's own address, so that limits by address are not those of everybody else; all of 127.0.0.0/8 is here on Linux. */
const attackersAddress = '127.0.0.66'
const mebibyte = 1_048_576
const pauseMs = 20
/** For a machine five times slower. */
export const patience = { timeoutMs: 75_000, everyMs: 100 }

/** What came of an attack. */
export interface Figures {
  /** The most resident memory of the server, in MiB. */
  readonly peakMiB: number
  readonly calls: number
  /** What honest calls were answered that is no success. */
  readonly failures: readonly string[]
  readonly healthP50Ms: number
  readonly sendP50Ms: number
}

/**
 * A server with the default settings, limits included; HERMOD_ATTACKED names the `hermod` script of another build that is attacked
 * instead, for comparison.
 */
export function startAttacked(options: ServerOptions = {}): Promise<ServerProcess> {
  const command = process.env.HERMOD_ATTACKED
  return startServer({
    ...options,
    ...(command === undefined ? {} : { command }),
    env: { HERMOD_RATE_LIMIT: 'on', ...options.env },
  })
}

/** Connections of an attacker. */
export class Attackers implements Disposable {
  readonly sockets: Socket[] = []

  constructor(private readonly url: string) {}

  /** @returns connections that read nothing until they are told to */
  async connect(count: number): Promise<Socket[]> {
    const { hostname, port } = new URL(this.url)
    const opened = Array.from({ length: count }, () => {
      const socket = createConnection({
        host: hostname,
        port: Number(port),
        localAddress: attackersAddress,
      })
      // The service cuts it off.
      socket.on('error', () => {})
      socket.pause()
      return socket
    })
    this.sockets.push(...opened)
    await Promise.all(
      opened.map((socket) => Promise.race([once(socket, 'connect'), closed(socket)])),
    )
    return opened
  }

  [Symbol.dispose](): void {
    for (const socket of this.sockets) socket.destroy()
  }
}

export async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

/** Alice, who goes on sending to Bob and looking at the health of the service, one call after another. */
export class Honest {
  readonly #health: number[] = []
  readonly #sends: number[] = []
  readonly #failures: string[] = []

  constructor(
    private readonly server: ServerProcess,
    private readonly alice: Session,
    private readonly bob: Session,
  ) {}

  static async on(server: ServerProcess): Promise<Honest> {
    return new Honest(server, await server.api.newSession(), await server.api.newSession())
  }

  /** Calls until the attack is over. @param what its name, for HERMOD_SHOW_FIGURES=1 */
  async beside(what: string, attack: () => Promise<unknown>): Promise<Figures> {
    let isOver = false
    const calls = async () => {
      while (!isOver) {
        await this.#timed(this.#health, () => this.server.api.call('GET', '/healthz'))
        await this.#timed(this.#sends, () => this.send('hello'))
        await pause(pauseMs)
      }
    }
    const over = attack().finally(() => {
      isOver = true
      if (process.env.HERMOD_SHOW_FIGURES === '1') console.info(what, this.#figures())
    })
    await Promise.all([over, calls()])
    return this.#figures()
  }

  send(content: string): Promise<Answer> {
    return this.alice.api.call('POST', '/message/send', { body: textTo([this.bob.id], content) })
  }

  async #timed(times: number[], call: () => Promise<Answer>): Promise<void> {
    const startedAt = performance.now()
    try {
      const { status, text } = await call()
      if (status !== 200 || text.includes('"code":') !== text.includes('"code":200'))
        this.#failures.push(`${status} ${text.slice(0, 200)}`)
    } catch (error) {
      this.#failures.push(String(error))
    }
    times.push(performance.now() - startedAt)
  }

  #figures(): Figures {
    return {
      peakMiB: Math.round(peakRssBytes(this.server.pid) / mebibyte),
      calls: this.#health.length + this.#sends.length,
      failures: this.#failures,
      healthP50Ms: median(this.#health),
      sendP50Ms: median(this.#sends),
    }
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN)
}

/** The value of a figure of /metrics, with its labels as they are written there. @param from a server, or a caller who may read them */
export async function metric(from: Api | ServerProcess, name: string): Promise<number> {
  const api = 'api' in from ? from.api : from
  const { text } = await api.call('GET', '/metrics')
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1))
}

/** How many connections the service has closed for a reason. */
export async function closedFor(server: ServerProcess, reason: string): Promise<number> {
  const count = await metric(server, `hermod_connections_closed_total{reason="${reason}"}`)
  return Number.isNaN(count) ? 0 : count
}

/** Waits until something was unread, and then nothing is. */
export async function allGone(server: ServerProcess): Promise<void> {
  const unread = () => metric(server, 'hermod_unread_answer_bytes')
  await waitFor(async () => (await unread()) > 0, { what: 'unread answers', ...patience })
  await waitFor(async () => (await unread()) === 0, {
    what: 'the end of unread answers',
    ...patience,
  })
}
