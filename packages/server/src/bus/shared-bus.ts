import { randomBytes } from 'node:crypto'
import { stringifyJson } from '../lib/json.js'
import type { Bus, BusMessages, Topic } from './bus.js'
import type { Carrier, OpenCarrier } from './carrier.js'
import { MemoryBus } from './memory-bus.js'
import { FrameReader, FrameWriter, maxParts } from './text-frames.js'

/** Why a message did not leave this node, or had no effect on it. */
export type BusLoss =
  /** There is no connection. */
  | 'unconnected'
  /** The database refused it, or did not answer. */
  | 'failed'
  /** Events that are not stored took more than their share of the traffic. */
  | 'over_budget'
  | 'too_long'
  /** The database takes fewer than there are. */
  | 'too_many'
  /** Other nodes did not send it, or it makes no sense. */
  | 'not_understood'

export interface BusObserver {
  sent(messages: number, bytes: number): void
  received(messages: number): void
  lost(reason: BusLoss, messages: number): void
  reconnected(): void
  /** The connection does not come up. */
  failed(error: unknown): void
}

interface SharedBusOptions {
  readonly carrier: Carrier
  readonly observer: BusObserver
  /** Default: as below. */
  readonly times?: Partial<typeof defaultTimes>
}

const defaultTimes = {
  /** Messages wait so long for others. */
  gatherMs: 10,
  /** A message to itself shows that messages arrive. */
  probeMs: 5_000,
  silentMs: 10_000,
  firstPauseMs: 250,
  maxPauseMs: 5_000,
}
/** Bytes of a second above which events that are not stored are dropped. */
const transientBytesPerSecond = 200_000
/** Bytes of messages that wait. */
const maxWaitingBytes = 4 * 1024 * 1024
const maxMessageBytes = maxParts * 5_000
const probe = '["bus.probe",{}]'

/**
 * The bus of several nodes. A message reaches the listeners of this node at once, and leaves with
 * all others of 10 ms; equal ones leave once. Without a connection messages are lost, and when it
 * is back everybody who listens looks for what was missed.
 */
export class SharedBus implements Bus {
  readonly #local = new MemoryBus()
  readonly #name = randomBytes(9).toString('base64url')
  readonly #writer = new FrameWriter(this.#name)
  readonly #reader = new FrameReader()
  readonly #times: typeof defaultTimes
  readonly #reconnected: (() => void)[] = []
  /** Messages to be sent, as JSON. */
  #waiting = new Set<string>()
  #waitingBytes = 0
  #gathering: NodeJS.Timeout | undefined
  #sending: Promise<void> | null = null
  #open: OpenCarrier | null = null
  #connecting: Promise<void> | null = null
  #health: NodeJS.Timeout | undefined
  /** When a message of this node arrived last, as performance.now(). */
  #heardAt = 0
  /** The second of {@link #transientBytes}. */
  #second = 0
  #transientBytes = 0
  #isStopped = false

  constructor(private readonly options: SharedBusOptions) {
    this.#times = { ...defaultTimes, ...options.times }
  }

  get isConnected(): boolean {
    return this.#open !== null
  }

  publish<T extends Topic>(topic: T, message: BusMessages[T]): void {
    this.#local.publish(topic, message)
    this.#enqueue(topic, stringifyJson([topic, message]))
  }

  subscribe<T extends Topic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    return this.#local.subscribe(topic, listener)
  }

  onReconnected(listener: () => void): void {
    this.#reconnected.push(listener)
  }

  /** A bus that cannot connect goes on trying. */
  async start(): Promise<void> {
    await this.#connect().catch((error: unknown) => this.#reconnect(error))
    this.#health = setInterval(() => this.#checkHealth(), this.#times.probeMs).unref()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#health)
    clearTimeout(this.#gathering)
    await this.#connecting
    await this.#sending
    await this.#send()
    this.#open?.close()
    this.#open = null
  }

  #enqueue(topic: Topic, text: string): void {
    const bytes = Buffer.byteLength(text)
    const loss = this.#obstacle(topic, bytes)
    if (loss !== null) this.options.observer.lost(loss, 1)
    else if (!this.#waiting.has(text)) this.#add(text, bytes)
  }

  /** @returns why a message cannot wait to be sent; null when it can */
  #obstacle(topic: Topic, bytes: number): BusLoss | null {
    if (this.#open === null) return 'unconnected'
    if (bytes > maxMessageBytes) return 'too_long'
    if (this.#waitingBytes + bytes > maxWaitingBytes) return 'too_many'
    return topic === 'event.transient' && !this.#hasBudget(bytes) ? 'over_budget' : null
  }

  #add(text: string, bytes: number): void {
    this.#waiting.add(text)
    this.#waitingBytes += bytes
    this.#gathering ??= setTimeout(() => void this.#flush(), this.#times.gatherMs).unref()
  }

  #hasBudget(bytes: number): boolean {
    const second = Math.floor(performance.now() / 1_000)
    if (second !== this.#second) this.#transientBytes = 0
    this.#second = second
    if (this.#transientBytes + bytes > transientBytesPerSecond) return false
    this.#transientBytes += bytes
    return true
  }

  /** Sends what waits. During a statement messages wait for its end, and leave together. */
  async #flush(): Promise<void> {
    await this.#sending
    this.#gathering = undefined
    this.#sending = this.#send().finally(() => {
      this.#sending = null
    })
    await this.#sending
  }

  async #send(): Promise<void> {
    const { observer } = this.options
    const messages = this.#waiting
    const bytes = this.#waitingBytes
    if (messages.size === 0) return
    this.#waiting = new Set()
    this.#waitingBytes = 0
    if (this.#open === null) return observer.lost('unconnected', messages.size)
    try {
      await this.#open.send(this.#writer.toTexts(messages))
      observer.sent(messages.size, bytes)
    } catch {
      observer.lost('failed', messages.size)
    }
  }

  #receive(text: string): void {
    const { observer } = this.options
    try {
      const { from, messages } = this.#reader.read(text)
      if (from === this.#name) {
        this.#heardAt = performance.now()
        return
      }
      for (const [topic, message] of messages) this.#local.publish(topic as Topic, message as never)
      observer.received(messages.length)
    } catch {
      observer.lost('not_understood', 1)
    }
  }

  #checkHealth(): void {
    if (this.#open === null) return
    if (performance.now() - this.#heardAt > this.#times.silentMs)
      this.#lost(this.#open, new Error('no message arrives'))
    else this.#add(probe, probe.length)
  }

  async #connect(): Promise<void> {
    const { carrier } = this.options
    let open: OpenCarrier | null = null
    let isLost = false
    open = await carrier.open({
      received: (text) => this.#receive(text),
      lost: () => {
        isLost = true
        if (open !== null) this.#lost(open, new Error('the connection has ended'))
      },
    })
    if (isLost || this.#isStopped) return open.close()
    this.#heardAt = performance.now()
    this.#open = open
  }

  #lost(connection: OpenCarrier, error: Error): void {
    if (this.#open !== connection) return
    this.#open = null
    connection.close()
    this.#reconnect(error)
  }

  #reconnect(error: unknown): void {
    this.options.observer.failed(error)
    this.#connecting ??= this.#connectAgain().finally(() => {
      this.#connecting = null
    })
  }

  async #connectAgain(): Promise<void> {
    const { firstPauseMs, maxPauseMs } = this.#times
    for (
      let pauseMs = firstPauseMs;
      !this.#isStopped;
      pauseMs = Math.min(2 * pauseMs, maxPauseMs)
    ) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      try {
        if (!this.#isStopped) await this.#connect()
      } catch {
        continue
      }
      if (this.#open === null) continue
      this.options.observer.reconnected()
      for (const listener of this.#reconnected) listener()
      return
    }
  }
}
