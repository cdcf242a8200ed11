import type { Database } from '../../db/database.js'
import { chunksOf } from '../../lib/chunks.js'
import type { SessionRegistry } from '../../sessions/registry.js'
import type { Session } from '../../sessions/session.js'
import type { HeldSession, SessionFigures, SessionKey, SessionNode } from './session-model.js'
import type { SessionStore } from './session-store.js'

interface SessionRepairOptions {
  readonly database: Database
  readonly store: Pick<SessionStore, 'close' | 'closeEarlier' | 'figures' | 'listOf' | 'restore'>
  readonly node: SessionNode
  readonly sessions: Pick<SessionRegistry, 'all' | 'count' | 'ofUser'>
  /** Reports how many rows were written again and closed. */
  repaired(counts: { readonly restored: number; readonly closed: number }): void
}

const pageSize = 1_000
const batchSize = 500
/** Younger rows may be of sessions that are opening now. */
const openForMs = 10_000

/**
 * Makes the rows of this node what its sessions are: commits that do not wait for the disk are lost
 * in a crash of the database, closings while it is away, and rows end with the lease of their node.
 */
export class SessionRepair {
  constructor(private readonly options: SessionRepairOptions) {}

  /** Compares count and sum, and writes the difference. @throws AppError storage_failed */
  async run(): Promise<void> {
    const { database, store, node } = this.options
    const stored = await database.read((db) => store.figures(db, node))
    const { count, sum } = this.#figures()
    if (stored.count !== count || stored.sum !== sum) {
      const restored = await this.#restoreMissing()
      const closed = await this.#closeUnknown()
      if (restored + closed > 0) this.options.repaired({ restored, closed })
    }
    await database.statement((tx) => store.closeEarlier(tx, node))
  }

  #figures(): SessionFigures {
    let sum = 0n
    for (const { id } of this.options.sessions.all()) sum += BigInt(id)
    return { count: this.options.sessions.count, sum }
  }

  async #restoreMissing(): Promise<number> {
    const stored = new Set<string>()
    for await (const page of this.#pages(0)) for (const each of page) stored.add(nameOf(each))
    const missing = [...this.options.sessions.all()].filter(
      (session) => !stored.has(nameOf(session)),
    )
    let restored = 0
    for (const batch of chunksOf(missing, batchSize)) restored += await this.#restore(batch)
    return restored
  }

  async #restore(batch: readonly Session[]): Promise<number> {
    const { database, store, node } = this.options
    const open = batch.filter((session) => this.#isOpen(session))
    const rows = await database.transaction((tx) => store.restore(tx, node, open.map(toHeld)))
    const restored = new Set(rows.map(nameOf))
    for (const session of open)
      if (!restored.has(nameOf(session))) session.link.close('replaced', 'replaced')
    // Its closing may have been written before the row was.
    const closed = open
      .filter((session) => !this.#isOpen(session))
      .filter((session) => restored.has(nameOf(session)))
    if (closed.length > 0)
      await database.transaction((tx) => store.close(tx, node, closed.map(toHeld)))
    return rows.length
  }

  async #closeUnknown(): Promise<number> {
    const { database, store, node, sessions } = this.options
    let count = 0
    for await (const page of this.#pages(openForMs)) {
      const unknown = page.filter(
        ({ appId, userId, id }) => !sessions.ofUser(appId, userId).some((each) => each.id === id),
      )
      count += unknown.length
      for (const batch of chunksOf(unknown, batchSize))
        await database.transaction((tx) => store.close(tx, node, batch))
    }
    return count
  }

  /** The rows of this node, by ID. */
  async *#pages(minMs: number): AsyncGenerator<readonly SessionKey[]> {
    const { database, store, node } = this.options
    for (let after = 0; ; ) {
      const page = await database.read((db) =>
        store.listOf(db, node, { after, limit: pageSize, openForMs: minMs }),
      )
      yield page
      if (page.length < pageSize) return
      after = page.at(-1)?.id ?? 0
    }
  }

  #isOpen(session: Session): boolean {
    return this.options.sessions.ofUser(session.appId, session.userId).includes(session)
  }
}

function nameOf({ appId, userId, id }: SessionKey): string {
  return `${appId}/${userId}/${id}`
}

function toHeld({ appId, userId, deviceSn, id, tokenHash }: Session): HeldSession {
  return { appId, userId, deviceSn, id, isReader: tokenHash === null }
}
