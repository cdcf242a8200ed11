/**
 * A client with a store, as an app would have it: it connects, applies, asks for gaps, syncs and
 * comes back after every end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cursor, GatewayClient, type GatewayFrame } from '@hermod/testkit'
import type { Random } from '../random.js'
import { ClientStore } from './client-store.js'
import type { LogCopy } from './log-copy.js'

export interface StoreClientOptions {
  /** The address of the server, which may change with a restart. */
  readonly url: () => string
  readonly appId: string
  readonly token: string
  readonly userId: number
  readonly deviceGuid: string | undefined
  readonly random: Random
  /** Newest messages of a log that a list brings. */
  readonly window: number
  /** The pause before the client comes back; default: up to 100 ms. */
  readonly awayMs?: number
}

/** The longest pause before the client comes back, so that tests end soon. */
const maxPauseMs = 100

export class StoreClient {
  readonly store: ClientStore
  readonly counts = { connections: 0, syncs: 0, heads: 0, gaps: 0, frames: 0, skips: 0 }
  /** The time from each beginning of a connection, after the first, to a store that has caught up. */
  readonly replayMs: number[] = []
  /** Errors that no network explains. */
  readonly wrong: string[] = []
  #cursor = new Cursor()
  #client: GatewayClient | null = null
  #isWanted = true
  #isSyncing = false
  /** null: the store has caught up since. */
  #connectingSince: number | null = null
  readonly #ended: Promise<void>

  constructor(private readonly options: StoreClientOptions) {
    this.store = new ClientStore(options.userId)
    this.#ended = this.#stayConnected()
  }

  /** True when the store has taken all that it was told. */
  get isIdle(): boolean {
    return this.#client?.ended === null && this.#cursor.isCurrent && this.store.gaps.size === 0
  }

  /** The position that the store has reached. */
  get pos(): string {
    return this.#cursor.pos
  }

  /** Cuts the connection after so many further bytes. */
  cutAfter(bytes: number): void {
    this.#client?.cutAfter(bytes)
  }

  pause(): void {
    this.#client?.pause()
  }

  resume(): void {
    this.#client?.resume()
  }

  /** Ends the connection; the client comes back. */
  leave(): void {
    this.#client?.terminate()
  }

  /** Waits until the client has left, and does not come back. */
  async stop(): Promise<void> {
    this.#isWanted = false
    this.#client?.terminate()
    await this.#ended
  }

  /**
   * Asks for the heads of logs with an unknown unread count, and of groups whose messages are not
   * sent live.
   */
  async readHeads(): Promise<void> {
    for (let rounds = 0; rounds < 20; rounds++) {
      const logs = [...this.store.logs.values()].filter(
        (log) => log.isStale || (rounds === 0 && log.muteMode === 2),
      )
      if (logs.length === 0) return
      const have = logs.slice(0, 100).map(({ log, change }) => ({ log, change }))
      await this.#sync(have)
      await this.#fillGaps()
    }
    throw new Error('heads stay stale')
  }

  async #stayConnected(): Promise<void> {
    while (this.#isWanted) {
      try {
        await this.#connect()
      } catch {
        // The server is away.
      }
      const { awayMs = this.options.random.integer(1, maxPauseMs) } = this.options
      if (this.#isWanted) await sleep(awayMs)
    }
  }

  async #connect(): Promise<void> {
    const { url, appId, token, deviceGuid, userId } = this.options
    this.#connectingSince = performance.now()
    const client = await GatewayClient.connect(url(), {
      cursor: this.#cursor,
      timeoutMs: 10_000,
      onFrame: (frame) => this.#take(frame),
    })
    this.#client = client
    this.counts.connections++
    const answer = await client.open({
      appId,
      accessToken: token,
      ...(deviceGuid !== undefined && { deviceGuid }),
    })
    if (answer.code !== 200) {
      // A service that stops or has no database is tried again.
      if (!answer.retry) this.wrong.push(`session.open of ${userId}: ${JSON.stringify(answer)}`)
      client.terminate()
      return
    }
    if (answer.data.epoch !== this.store.epoch) {
      this.store.renew(answer.data.epoch)
      if (this.#cursor.pos !== '' && answer.data.sync !== 'reset' && this.counts.connections > 1)
        this.wrong.push(`another epoch was answered with ${answer.data.sync}`)
    }
    this.#later(() => this.#catchUp())
    await client.closed({ timeoutMs: 600_000 })
  }

  #take(frame: GatewayFrame): void {
    this.counts.frames++
    if (frame.event === 'sync.needed') this.counts.skips++
    else if (frame.event !== undefined && frame.event !== 'session.closing')
      this.store.applyEvent(frame)
    if (!this.#cursor.isCurrent || this.store.gaps.size > 0) this.#later(() => this.#catchUp())
  }

  /** Runs work of the connection one after another; a lost connection ends it. */
  #later(work: () => Promise<void>): void {
    if (this.#isSyncing) return
    this.#isSyncing = true
    work()
      .catch(() => {})
      .finally(() => {
        this.#isSyncing = false
        this.#noteReplay()
        const isBehind = !this.#cursor.isCurrent || this.store.gaps.size > 0
        if (isBehind && this.#client?.ended === null) this.#later(() => this.#catchUp())
      })
  }

  #noteReplay(): void {
    if (!this.isIdle || this.#connectingSince === null) return
    if (this.counts.connections > 1) this.replayMs.push(performance.now() - this.#connectingSince)
    this.#connectingSince = null
  }

  async #catchUp(): Promise<void> {
    if (!this.#cursor.isCurrent) await this.#sync([])
    await this.#fillGaps()
  }

  #sync(have: readonly object[]): Promise<void> {
    return this.#cursor.sync((pos) => this.#syncFrom(pos, have))
  }

  /** @returns the position that the store has reached */
  async #syncFrom(start: string, have: readonly object[]): Promise<string> {
    const client = this.#client as GatewayClient
    const { window } = this.options
    this.counts.syncs++
    let after = start
    let request: object = { after, window, ...(have.length > 0 && { have }) }
    for (;;) {
      const { data: page } = await client.succeed('message.sync', request)
      if (page.reset) {
        this.store.renew(page.epoch)
        after = ''
        request = { after, window }
        continue
      }
      this.counts.heads += page.heads.length
      this.store.applyPage(page, window)
      after = page.pos ?? after
      if (page.cursor !== undefined) request = { after, list: true, cursor: page.cursor, window }
      else if (page.more) request = { after, window }
      else return after
    }
  }

  async #fillGaps(): Promise<void> {
    const client = this.#client as GatewayClient
    for (const key of [...this.store.gaps.keys()]) {
      const copy = this.store.logs.get(key)
      const isFilled = !copy || (await this.#fillGap(client, copy))
      if (isFilled || (copy?.change ?? 0) >= (this.store.gaps.get(key) ?? 0))
        this.store.gaps.delete(key)
    }
  }

  /** @returns true when the user has left the group meanwhile */
  async #fillGap(client: GatewayClient, copy: LogCopy): Promise<boolean> {
    this.counts.gaps++
    for (;;) {
      const answer = await client.call('message.changes', {
        log: copy.log,
        after_change: copy.change,
      })
      if (answer.retry) throw new Error(`message.changes: ${answer.message}`)
      if (answer.code !== 200) return true
      if (!copy.takeChanges(answer.data)) return false
    }
  }
}
