import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Bus, BusMessages, ListenerFailed, Topic } from './bus.js'
import type { Carrier, OpenCarrier } from './carrier.js'
import { MemoryBus } from './memory-bus.js'
import { type BusLoss, Outgoing } from './outgoing.js'
import { toMessage } from './received-messages.js'
import { TextReader, TextWriter } from './text-frames.js'

export interface BusObserver {
  sent(topics: readonly Topic[], bytes: number): void
  received(topic: Topic): void
  lost(reason: BusLoss, topic: Topic | 'unknown'): void
  connected(): void
  /** The connection is lost or does not come up; told once until it does. */
  disconnected(error: unknown): void
}

interface SharedBusOptions {
  readonly carrier: Carrier
  readonly observer: BusObserver
  readonly listenerFailed?: ListenerFailed
  /** Default: as below. */
  readonly times?: Partial<typeof defaultTimes>
}

const defaultTimes = {
  /** At least this time is between two statements; messages wait for it together. */
  gatherMs: 10,
  /** A message to itself shows that messages arrive. */
  probeMs: 5_000,
  silentMs: 10_000,
  firstPauseMs: 250,
  maxPauseMs: 2_000,
  /** The time in which it sends what waits when it stops. */
  stopMs: 1_000,
}
/** Checks of its health in the time after which it takes the connection for lost. */
const checksPerSilence = 10

/** A connection, which counts once a message of this node has come back on it. */
interface Connection {
  readonly open: OpenCarrier
  isProven: boolean
  /** When a message of this node came last, as performance.now(). */
  heardAt: number
}

/**
 * The bus of several nodes. A message reaches the listeners of this node at once, and leaves with
 * all others of 10 ms; equal ones leave once. While no other node is heard, none leaves. Without a
 * connection messages are lost, and when it is back all listeners look for what was missed.
 */
export class SharedBus implements Bus {
  readonly #local: MemoryBus
  readonly #name = randomBytes(9).toString('base64url')
  readonly #writer = new TextWriter(this.#name)
  readonly #reader = new TextReader()
  readonly #outgoing = new Outgoing()
  readonly #times: typeof defaultTimes
  readonly #reconnected: (() => void)[] = []
  readonly #stopping = new AbortController()
  #isStarted = false
  #isLossTold = false
  #connection: Connection | null = null
  #connecting: Promise<void> | null = null
  #sentAt = Number.NEGATIVE_INFINITY
  /** When a message of another node came last, as performance.now(). */
  #othersHeardAt = 0
  #gathering: NodeJS.Timeout | undefined
  #sending: Promise<void> | null = null
  #health: NodeJS.Timeout | undefined
  /** When the health was checked last, as performance.now(). */
  #checkedAt = 0

  constructor(private readonly options: SharedBusOptions) {
    this.#times = { ...defaultTimes, ...options.times }
    this.#local = new MemoryBus(options.listenerFailed)
  }

  get isConnected(): boolean {
    return this.#connection?.isProven ?? false
  }

  publish<T extends Topic>(topic: T, message: BusMessages[T]): void {
    this.#local.publish(topic, message)
    // A command publishes too, without a start.
    if (!this.#isStarted || (this.isConnected && this.#isAlone)) return
    const loss = this.isConnected ? this.#outgoing.add(topic, message) : 'unconnected'
    if (loss === null) this.#sendSoon()
    else this.options.observer.lost(loss, topic)
  }

  /** Every other node would have probed its connection by now; a new one probes it at once. */
  get #isAlone(): boolean {
    return performance.now() - this.#othersHeardAt > 2 * this.#times.silentMs
  }

  subscribe<T extends Topic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    return this.#local.subscribe(topic, listener)
  }

  onReconnected(listener: () => void): void {
    this.#reconnected.push(listener)
  }

  /** A bus that cannot connect goes on trying. */
  async start(): Promise<void> {
    this.#isStarted = true
    await this.#connect().catch((error: unknown) => this.#lost(error))
    this.#checkedAt = performance.now()
    const everyMs = this.#times.silentMs / checksPerSilence
    this.#health = setInterval(() => this.#checkHealth(), everyMs).unref()
  }

  async stop(): Promise<void> {
    this.#isStarted = false
    this.#stopping.abort()
    clearInterval(this.#health)
    clearTimeout(this.#gathering)
    const late = pause(this.#times.stopMs, undefined, { ref: false })
    await Promise.race([this.#sendRest(), late])
    this.#connection?.open.close()
    this.#connection = null
  }

  async #sendRest(): Promise<void> {
    await this.#sending
    await this.#send()
  }

  /** At once after a pause, else with everything that comes until then. */
  #sendSoon(): void {
    if (this.#gathering !== undefined || this.#sending !== null) return
    const waitMs = this.#sentAt + this.#times.gatherMs - performance.now()
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined
      this.#sending = this.#send().finally(() => {
        this.#sending = null
        if (!this.#outgoing.isEmpty) this.#sendSoon()
      })
    }, waitMs).unref()
  }

  async #send(): Promise<void> {
    const { observer } = this.options
    const messages = this.#outgoing.take()
    const connection = this.#connection
    if (messages.length === 0 || connection === null) return
    const topics = messages.map(({ topic }) => topic)
    const texts = this.#writer.toTexts(messages.map(({ json }) => json))
    this.#sentAt = performance.now()
    try {
      await connection.open.send(texts)
      observer.sent(
        topics,
        texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0),
      )
    } catch {
      for (const topic of topics) observer.lost('failed', topic)
    }
  }

  async #connect(): Promise<void> {
    let connection: Connection | null = null
    let isLost = false
    const open = await this.options.carrier.open({
      received: (text) => {
        if (connection !== null && connection === this.#connection) this.#receive(connection, text)
      },
      lost: () => {
        isLost = true
        if (connection !== null && connection === this.#connection)
          this.#lost(new Error('the connection has ended'))
      },
    })
    if (isLost || !this.#isStarted) return open.close()
    connection = { open, isProven: false, heardAt: performance.now() }
    this.#connection = connection
    this.#othersHeardAt = performance.now()
    // While nothing can be sent, the health checks try again: a new connection would do no better.
    await this.#probe(connection).catch(() => {})
  }

  /** Sends a text without messages, which comes back to this node. */
  #probe({ open }: Connection): Promise<void> {
    this.#sentAt = performance.now()
    return open.send([this.#writer.emptyText])
  }

  #receive(connection: Connection, text: string): void {
    try {
      const { from, messages } = this.#reader.read(text)
      // The listeners of this node were called when its message was published.
      if (from === this.#name) this.#heard(connection)
      else {
        this.#othersHeardAt = performance.now()
        for (const entry of messages) this.#publishReceived(entry)
      }
    } catch {
      this.options.observer.lost('not_understood', 'unknown')
    }
  }

  #publishReceived(entry: unknown): void {
    const { observer } = this.options
    const received = toMessage(entry)
    if (received === null) observer.lost('not_understood', 'unknown')
    else {
      observer.received(received.topic)
      this.#local.publish<Topic>(received.topic, received.message)
    }
  }

  #heard(connection: Connection): void {
    connection.heardAt = performance.now()
    if (connection.isProven) return
    connection.isProven = true
    this.#isLossTold = false
    this.options.observer.connected()
    for (const listener of this.#reconnected) listener()
  }

  #checkHealth(): void {
    const { silentMs, probeMs } = this.#times
    const connection = this.#connection
    const now = performance.now()
    const wasHalted = now - this.#checkedAt > silentMs
    this.#checkedAt = now
    if (connection === null) return
    if (now - connection.heardAt > silentMs)
      this.#lost(new Error(`no message arrives for ${silentMs} ms`))
    // The others may have taken this node for gone, and sent nothing.
    else if (wasHalted) this.#lost(new Error(`this node was halted for more than ${silentMs} ms`))
    else if (now - this.#sentAt >= probeMs && this.#sending === null)
      // After a failure nothing comes back.
      void this.#probe(connection).catch(() => {})
  }

  #lost(error: unknown): void {
    const { observer } = this.options
    this.#connection?.open.close()
    this.#connection = null
    for (const { topic } of this.#outgoing.take()) observer.lost('unconnected', topic)
    if (!this.#isLossTold) observer.disconnected(error)
    this.#isLossTold = true
    this.#connecting ??= this.#connectAgain().finally(() => {
      this.#connecting = null
    })
  }

  async #connectAgain(): Promise<void> {
    const { firstPauseMs, maxPauseMs } = this.#times
    const { signal } = this.#stopping
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      try {
        await this.#connect()
        if (this.#connection !== null) return
      } catch {
        this.#connection?.open.close()
        this.#connection = null
      }
    }
  }
}
