import { AppError, type Int64, userStatus } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { Freshness, InvalidatedCache } from '../../lib/invalidated-cache.js'
import { type MaybePromise, thenMaybe } from '../../lib/maybe-promise.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { LoginQueue } from '../login/login-queue.js'
import type { TokenService } from '../login/token-service.js'
import { readIdCursor, writeCursor } from '../paging.js'
import { systemUserId } from './system-user.js'
import type { ListedUser, User, UserKey, UserState } from './user-model.js'
import type { UserStore } from './user-store.js'

interface AccountServiceOptions {
  readonly database: Database
  readonly store: UserStore
  readonly tokens: TokenService
  readonly changing: LoginQueue
  readonly outbox: Outbox
  readonly clock: Clock
  readonly stateCache: InvalidatedCache<UserKey, UserState>
}

/** A page of users. */
interface UserPageBounds {
  readonly cursor?: string | undefined
  readonly number?: number | undefined
  readonly size?: number | undefined
}

const maxPageSize = 200
const defaultPageSize = 50

/** Accounts of users and their states (rules D4, D5). */
export class AccountService {
  constructor(private readonly options: AccountServiceOptions) {}

  /** @throws AppError user_not_found, user_deleted */
  async get(appId: string, userId: Int64): Promise<User> {
    const { database, store } = this.options
    return requirePresent(await database.read((db) => store.find(db, appId, userId)))
  }

  /**
   * Returns the state of a user; null when the user never existed. A cached state misses changes by
   * other nodes for at most a second.
   */
  findState(
    appId: string,
    userId: Int64,
    freshness: Freshness = 'cached',
  ): MaybePromise<UserState | null> {
    const { database, store, stateCache } = this.options
    const user = { appId, userId }
    const read = () => database.read((db) => store.findState(db, appId, userId))
    const known = freshness === 'cached' ? stateCache.get(user) : undefined
    return known ?? stateCache.load(user, read, freshness)
  }

  /**
   * Requires the user to exist; a deletion is final. Synchronous when the state is cached.
   * @throws AppError user_not_found, user_deleted
   */
  requireUser(appId: string, userId: Int64): MaybePromise<void> {
    return thenMaybe(this.findState(appId, userId), (state) => void requirePresent(state))
  }

  /**
   * Prevents the deletion of the user until the transaction ends. For transactions that store data
   * about the user, so that none remains after a deletion.
   * @throws AppError user_not_found, user_deleted
   */
  async lockKeyShare(tx: Tx, appId: string, userId: Int64): Promise<User> {
    return requirePresent(await this.options.store.lockKeyShare(tx, appId, userId))
  }

  /**
   * Locks the user for a transaction that ends rights or data; waits for {@link lockKeyShare}.
   * @throws AppError user_not_found, user_deleted
   */
  async lockForUpdate(tx: Tx, appId: string, userId: Int64): Promise<User> {
    const [user = null] = await this.options.store.lockForUpdate(tx, appId, [userId])
    return requirePresent(user)
  }

  /**
   * Lists users by ID.
   * @param page.cursor cursor of the page before; undefined or '' for the page of this number
   * @param page.number from 1; 1 with a cursor
   * @param page.size clamped to 200
   * @returns the cursor of the next page, null on the last one
   * @throws AppError invalid_parameter for an unknown cursor, and for one with a page number
   */
  async list(
    appId: string,
    { cursor, number = 1, size = defaultPageSize }: UserPageBounds,
  ): Promise<{ users: ListedUser[]; nextCursor: string | null }> {
    const { database, store } = this.options
    const limit = Math.min(size, maxPageSize)
    const afterId = readIdCursor(cursor) ?? 0
    if (afterId > 0 && number > 1)
      throw new AppError('invalid_parameter', 'page_num must be absent or 1 with a cursor')
    const range = { afterId, offset: (number - 1) * limit, limit: limit + 1 }
    const found = await database.read((db) => store.list(db, appId, range))
    const users = found.slice(0, limit)
    const last = users.at(-1)
    return { users, nextCursor: found.length > limit && last ? writeCursor(last.userId) : null }
  }

  /**
   * Disables users, which ends their tokens at once, or enables them again (rule D4).
   * @throws AppError user_not_found, user_deleted naming the users; unavailable when the queue is
   * full; then nothing is changed
   */
  async setEnabled(appId: string, userIds: readonly Int64[], isEnabled: boolean): Promise<void> {
    const { database, changing } = this.options
    const distinct = [...new Set(userIds)]
    const store = (tx: Tx) => this.#setEnabled(tx, appId, distinct, isEnabled)
    await changing.run({ purpose: 'login', appId, address: null }, () =>
      database.transaction(store),
    )
  }

  async #setEnabled(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
    isEnabled: boolean,
  ): Promise<void> {
    const { store, tokens, outbox, clock } = this.options
    const users = await store.lockForUpdate(tx, appId, userIds)
    const found = new Set(users.map(({ userId }) => userId))
    refuseUser(
      'user_not_found',
      userIds.filter((userId) => !found.has(userId)),
    )
    refuseUser(
      'user_deleted',
      users.filter(({ isDeleted }) => isDeleted).map(({ userId }) => userId),
    )
    await store.setStatus(tx, appId, userIds, isEnabled ? userStatus.normal : userStatus.disabled)
    if (isEnabled) return
    const frozen = users
      .filter(({ status }) => status === userStatus.normal)
      .map(({ userId }) => userId)
    if (frozen.length > 0)
      outbox.append(
        tx,
        actorEvent('user.frozen', { appId, actorId: systemUserId, userIds: frozen }),
      )
    await tokens.endLogins(tx, { appId, userIds, at: clock.now() })
  }
}

/** @throws AppError user_not_found, user_deleted */
function requirePresent<T extends { readonly isDeleted: boolean }>(user: T | null): T {
  if (!user) throw new AppError('user_not_found')
  if (user.isDeleted) throw new AppError('user_deleted')
  return user
}

function refuseUser(errorName: 'user_not_found' | 'user_deleted', userIds: readonly Int64[]): void {
  if (userIds.length > 0) throw new AppError(errorName, userIds.join(', '))
}
