import type { Database } from '../db/database.js'
import type { Shares } from '../nodes/shares.js'
import type { Consumer, MessageReader } from './consumer.js'
import { type ConsumerObserver, ConsumerRunner } from './consumer-runner.js'
import type { OutboxStore } from './outbox-store.js'
import { Positions } from './positions.js'

interface OutboxRelayOptions {
  readonly database: Database
  readonly store: OutboxStore
  readonly messages: MessageReader
  readonly shares: Shares
  readonly consumers: readonly Consumer[]
  readonly observer: ConsumerObserver
  readonly pollMs?: number
  readonly retryMs?: number
}

/**
 * Tells consumers of what was committed: woken by commits, and by looking every second in case a
 * wake was lost. Each consumer runs on one node.
 */
export class OutboxRelay {
  readonly #runners: readonly ConsumerRunner[]
  readonly #pollMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(options: OutboxRelayOptions) {
    this.#pollMs = options.pollMs ?? 1_000
    this.#runners = options.consumers.map((consumer) => runnerOf(consumer, options))
  }

  async start(): Promise<void> {
    if (this.#runners.length === 0) return
    await Promise.all(this.#runners.map((runner) => runner.start()))
    this.#timer = setInterval(() => {
      for (const runner of this.#runners) void runner.poll()
    }, this.#pollMs)
    this.#timer.unref()
  }

  /** Something was appended for the app, on this node or another one. */
  wake(appId: string): void {
    for (const runner of this.#runners) runner.wake(appId)
  }

  /** Resolves when nothing is being handled any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#runners.map((runner) => runner.stop()))
  }
}

function runnerOf(
  consumer: Consumer,
  { database, store, messages, shares, observer, retryMs }: OutboxRelayOptions,
): ConsumerRunner {
  const runner: ConsumerRunner = new ConsumerRunner({
    ...{ database, store, messages, consumer, observer, retryMs: retryMs ?? 1_000 },
    positions: new Positions(consumer.name, { database, store }),
    share: shares.add('consumer', consumer.name, () => runner.end()),
  })
  return runner
}
