import { AppError, type holdKinds, type Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { UserKey } from '../../users/user-model.js'
import type { Hold, HoldStore } from './hold-store.js'

interface HoldServiceOptions {
  readonly database: Database
  readonly holds: HoldStore
  readonly apps: { get(appId: string): Promise<unknown> }
  /** Finds the kind of an ID, also of a deleted user; null: it was never given. */
  readonly kindOf: (db: Queryable, appId: string, peerId: Int64) => Promise<'user' | 'group' | null>
  readonly clock: Clock
}

/** A new hold of a user, or of a conversation: two users, or a group. */
export interface NewHold {
  readonly appId: string
  readonly name: string
  readonly userId: Int64 | undefined
  readonly conversation: readonly Int64[] | undefined
  readonly reason: string
}

/** Holds, which stop erasures and retention. */
export class HoldService {
  constructor(private readonly options: HoldServiceOptions) {}

  /**
   * Holds a user or a conversation.
   * @throws AppError app_not_found, invalid_parameter, user_not_found, conversation_not_found
   */
  async set({ appId, name, userId, conversation, reason }: NewHold): Promise<Hold> {
    const { database, holds, apps, clock } = this.options
    await apps.get(appId)
    if ((userId === undefined) === (conversation === undefined))
      throw new AppError('invalid_parameter', 'give either user_id or conversation')
    const held =
      userId === undefined
        ? await this.#keyOf(appId, conversation ?? [])
        : await this.#userKeyOf(appId, userId)
    const hold = { appId, name, ...held, reason, heldAt: clock.now() }
    await database.transaction((tx) => holds.insert(tx, hold))
    return hold
  }

  /** @throws AppError app_not_found, hold_not_found */
  async release(appId: string, name: string): Promise<readonly Hold[]> {
    const { database, holds, apps } = this.options
    await apps.get(appId)
    const released = await database.transaction((tx) => holds.delete(tx, appId, name))
    if (released.length === 0) throw new AppError('hold_not_found', name)
    return released
  }

  /** @throws AppError app_not_found */
  async list(appId: string | undefined): Promise<readonly Hold[]> {
    const { database, holds, apps } = this.options
    if (appId !== undefined) await apps.get(appId)
    return database.read((db) => holds.list(db, appId))
  }

  /** @throws AppError erasure_held naming the hold */
  async requireNone(user: UserKey): Promise<void> {
    const { database, holds } = this.options
    // A snapshot of the embedded database starts a thread, and most applications have no hold.
    const all = await database.read((db) => holds.list(db, user.appId))
    if (all.length === 0) return
    const name = await database.snapshot((db) => holds.findForUser(db, user))
    if (name !== null)
      throw new AppError(
        'erasure_held',
        `the hold ${name}; hermod hold list shows what it is about`,
      )
  }

  async #userKeyOf(appId: string, userId: Int64): Promise<HeldKey> {
    if ((await this.#kindOf(appId, userId)) !== 'user') throw new AppError('user_not_found')
    return { kind: 'user', lowId: userId, highId: userId }
  }

  async #keyOf(appId: string, ids: readonly Int64[]): Promise<HeldKey> {
    const kinds = await Promise.all(ids.map((id) => this.#kindOf(appId, id)))
    const [first, second = first] = ids.toSorted((a, b) => (a < b ? -1 : 1))
    const isOne = ids.length === 1 ? kinds[0] === 'group' : kinds.every((kind) => kind === 'user')
    if (first === undefined || second === undefined || !isOne)
      throw new AppError('conversation_not_found', 'give the IDs of two users, or of a group')
    return { kind: 'conversation', lowId: first, highId: second }
  }

  async #kindOf(appId: string, id: Int64): Promise<'user' | 'group' | null> {
    return this.options.database.read((db) => this.options.kindOf(db, appId, id))
  }
}

type HeldKey = Pick<Hold, 'lowId' | 'highId'> & { readonly kind: (typeof holdKinds)[number] }
