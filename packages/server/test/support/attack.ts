/** Attacks on a server process, with somebody honest beside them. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Answer,
  type Api,
  type Backend,
  Child,
  descendants,
  isFullRun,
  peakRssBytes,
  rssBytes,
  type ServerOptions,
  type ServerProcess,
  type Session,
  startServer,
  TempFolder,
  waitFor,
} from '@hermod/testkit'
import { expect } from 'vitest'
import { textTo } from './messaging/messaging.js'

/**
 * The attacker's own address, so that limits by address are not those of everybody else; all of
 * 127.0.0.0/8 is here on Linux.
 */
const attackersAddress = '127.0.0.66'
/** The same for calls, on a server that is {@link behindProxy}. */
export const fromAttacker = { headers: { 'x-forwarded-for': attackersAddress } }
const mebibyte = 1_048_576
/** Duration of an attack. */
export const attackMs = isFullRun ? 5_000 : 2_000
/** Stalled bodies and unread answers end sooner than by default, except in the full run. */
export const shortStall = isFullRun ? {} : { HERMOD_STALL_SECONDS: '3' }
const pauseMs = 20
const refusalMs = 200
/** For a machine five times slower. */
export const patience = { timeoutMs: 75_000, everyMs: 100 }
/**
 * What a process may take of memory, and what honest calls may take on the machine that the guide
 * has its figures from.
 */
const limits = { peakMiB: 600, p50Ms: 250 }
const slownessOfMachine = 5
/** Calls of a kind below which their median says nothing: one pause of a busy machine would decide it. */
const callsForMedian = 10

/** Calls say from which address they are; connections are of no address then. */
export const behindProxy = { HERMOD_TRUST_PROXY: 'on' }

/** What came of an attack. */
export interface Figures {
  /** The most resident memory of the server and its child processes, in MiB. */
  readonly peakMiB: number
  readonly calls: number
  /** What honest calls were answered that is no success. */
  readonly failures: readonly string[]
  /**
   * Medians, by kind of call: `health` and `sends`, and what was asked for in addition; without
   * kinds of fewer than ten calls.
   */
  readonly p50Ms: Readonly<Record<string, number>>
}

/** Calls that somebody honest makes one after another, by kind. */
type HonestCalls = Readonly<Record<string, () => Promise<Answer>>>

/**
 * The attack has harmed nobody: every honest call was answered as usual, soon, by a process of
 * bounded memory.
 */
export function expectUnharmed({ failures, peakMiB, p50Ms }: Figures): void {
  expect(failures).toEqual([])
  expect(peakMiB).toBeLessThan(limits.peakMiB)
  for (const [kind, ms] of Object.entries(p50Ms))
    expect(ms, kind).toBeLessThan(limits.p50Ms * slownessOfMachine)
}

/**
 * A server with the default settings, limits included; HERMOD_ATTACKED names the `hermod` script of
 * another build that is attacked instead, for comparison.
 */
export function startAttacked(
  options: Omit<ServerOptions, 'databaseUrl' | 'database'> = {},
  backend: Pick<Backend, 'startServer'> = { startServer },
): Promise<ServerProcess> {
  const command = process.env.HERMOD_ATTACKED
  return backend.startServer({
    ...options,
    ...(command === undefined ? {} : { command }),
    env: { ...defaultLimits, ...options.env },
  })
}

/** Tests are without them otherwise. */
export const defaultLimits = {
  HERMOD_RATE_LIMIT: undefined,
  HERMOD_LOGIN_USER_FAILURES: undefined,
  HERMOD_LOGIN_ADDRESS_FAILURES: undefined,
}

/** Messages of 1 MB of JSON, nearly all in an unknown field, that take long to parse. */
export function costlyMessages(): string[] {
  const size = 1_000_000
  const values = [
    `[9007199254740993${',1'.repeat(size / 2)}]`,
    `{"x":9007199254740993${Array.from({ length: 80_000 }, (_, key) => `,"${key}a":0`).join('')}}`,
    `[${'9007199254740993,'.repeat(size / 17)}1]`,
    `[9007199254740993${`,${'['.repeat(3_000)}${']'.repeat(3_000)}`.repeat(size / 6_001)}]`,
  ]
  return values.map(
    (value) => `{"content":"x","content_type":0,"type":1,"targets":[1],"unknown":${value}}`,
  )
}

/** New users who are logged in, ten at a time: only so many may log in at once from one address. */
export async function sessionsOf({ api }: Pick<ServerProcess, 'api'>, count: number) {
  const sessions: Session[] = []
  while (sessions.length < count) {
    const length = Math.min(10, count - sessions.length)
    sessions.push(...(await Promise.all(Array.from({ length }, () => api.newSession()))))
  }
  return sessions
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

/** What an attacker writes on one connection. */
interface AttackingConnection {
  /** In the bytes of latin1. */
  readonly first: string
  /** How often; default once. */
  readonly times?: number
  /** What follows, for the body of a request; default nothing. */
  readonly fillerBytes?: number
  readonly last?: string
  /** Bytes that follow one by one, in writes of their own; default none. */
  readonly singleBytes?: number
  /** Whether it takes what is answered; default false. */
  readonly reads?: boolean
}

/**
 * Connections of an attacker in a process of its own, for attacks that take so much time that the
 * honest caller would wait for them.
 */
export class AttackingProcess implements AsyncDisposable {
  readonly #child: Child
  readonly #folder = new TempFolder('attacker')

  constructor(url: string, connections: readonly AttackingConnection[]) {
    const { hostname: host, port } = new URL(url)
    const defaults = { times: 1, fillerBytes: 0, last: '', singleBytes: 0, reads: false }
    const path = join(this.#folder.path, 'attack.json')
    const all = connections.map((connection) => ({ ...defaults, ...connection }))
    const attack = { host, port: Number(port), localAddress: attackersAddress, connections: all }
    writeFileSync(path, JSON.stringify(attack))
    this.#child = new Child([process.execPath, join(import.meta.dirname, 'attacker.mjs'), path])
  }

  /**
   * What it has said so far: `connected` once all are, the status of each answer that it took,
   * `closed` for each end of a connection.
   */
  said(): string[] {
    if (this.#child.exit) throw new Error(`the attacker has ended: ${this.#child.output()}`)
    return this.#child.output().split('\n').filter(Boolean)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.killTree()
    await this.#child.exited
    this.#folder[Symbol.dispose]()
  }
}

export async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

/**
 * The server closes idle connections, and a call that goes out on one at that moment is made again,
 * as clients with kept-alive connections do.
 */
export async function askAgain<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return call()
    throw error
  }
}

/** Alice, who goes on sending to Bob and looking at the health of the service, one call after another. */
export class Honest {
  readonly #times = new Map<string, number[]>()
  readonly #failures: string[] = []
  #peakBytes = 0

  constructor(
    private readonly server: ServerProcess,
    private readonly alice: Session,
    private readonly bob: Session,
    private readonly asksAgain: boolean,
  ) {}

  /**
   * @param how.asksAgain see {@link askAgain}
   */
  static async on(server: ServerProcess, { asksAgain = false } = {}): Promise<Honest> {
    const { api } = server
    return new Honest(server, await api.newSession(), await api.newSession(), asksAgain)
  }

  /**
   * Asks for health and sends until the attack is over.
   * @param what its name, for HERMOD_SHOW_FIGURES=1
   * @param more calls beside these
   */
  async beside(
    what: string,
    attack: () => Promise<unknown>,
    more: HonestCalls = {},
  ): Promise<Figures> {
    return this.watching(what, attack, { sends: () => this.send('hello'), ...more })
  }

  /** As {@link beside}, without the sends: for when nothing can be stored. */
  async watching(
    what: string,
    attack: () => Promise<unknown>,
    more: HonestCalls = {},
  ): Promise<Figures> {
    const kinds = { health: () => this.server.api.call('GET', '/healthz'), ...more }
    let isOver = false
    const calls = async () => {
      while (!isOver) {
        for (const [kind, call] of Object.entries(kinds)) await this.#timed(kind, call)
        this.#weigh()
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

  #weigh(): void {
    const { pid } = this.server
    const children = descendants(pid).map((child) => rssBytes(child) || 0)
    const bytes = children.reduce((sum, child) => sum + child, rssBytes(pid))
    this.#peakBytes = Math.max(this.#peakBytes, bytes)
  }

  async #timed(kind: string, call: () => Promise<Answer>): Promise<void> {
    const startedAt = performance.now()
    try {
      const { status, text } = await (this.asksAgain ? askAgain(call) : call())
      if (status !== 200 || text.includes('"code":') !== text.includes('"code":200'))
        this.#failures.push(`${kind}: ${status} ${text.slice(0, 200)}`)
    } catch (error) {
      this.#failures.push(`${kind}: ${error}`)
    }
    const times = this.#times.get(kind) ?? []
    times.push(performance.now() - startedAt)
    this.#times.set(kind, times)
  }

  #figures(): Figures {
    const times = [...this.#times]
    return {
      peakMiB: Math.round(Math.max(this.#peakBytes, peakRssBytes(this.server.pid)) / mebibyte),
      calls: times.reduce((sum, [, each]) => sum + each.length, 0),
      failures: this.#failures,
      p50Ms: Object.fromEntries(
        times
          .filter(([, each]) => each.length >= callsForMedian)
          .map(([kind, each]) => [kind, median(each)]),
      ),
    }
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN)
}

/**
 * Calls in some lines, one after another in each, until the time is over. A refused one is soon
 * tried again, but not at once, or the attacker would take the processor from the honest caller in
 * the same process.
 * @returns how many answers had which code
 */
export async function flood(
  { ms, lines }: { readonly ms: number; readonly lines: number },
  call: (line: number) => Promise<Answer>,
): Promise<Map<number, number>> {
  const endsAt = performance.now() + ms
  const codes = new Map<number, number>()
  const work = async (line: number) => {
    while (performance.now() < endsAt) {
      const { code } = await call(line)
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (code !== 200) await pause(refusalMs)
    }
  }
  await Promise.all(Array.from({ length: lines }, (_, line) => work(line)))
  if (process.env.HERMOD_SHOW_FIGURES === '1') console.info('answers', codes)
  return codes
}

/**
 * The value of a figure of /metrics, with its labels as they are written there.
 * @param from a server, or a caller who may read them
 */
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
