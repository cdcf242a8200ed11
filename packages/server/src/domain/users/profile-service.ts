import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import { definedOnly } from '../../lib/defined-only.js'
import type { Outbox } from '../../outbox/outbox.js'
import { type ItemOutcome, outcomeOf, requireNoRefusal } from '../item-outcome.js'
import { requireName } from '../names.js'
import type { AccountService } from './account-service.js'
import type { NumberLookupLimit } from './number-lookup-limit.js'
import {
  emailViolation,
  type NameRules,
  profileEvent,
  usernameKey,
  usernameViolation,
} from './user-model.js'
import { addressColumns, type UserStore } from './user-store.js'

interface ProfileServiceOptions {
  readonly database: Database
  readonly store: UserStore
  readonly accounts: AccountService
  readonly outbox: Outbox
  readonly names: NameRules
  readonly numbers: Pick<NumberLookupLimit, 'take'>
}

/** Profile fields that only their user changes; omitted ones stay unchanged. */
export interface ProfileChanges {
  readonly avatar?: string | undefined
  readonly description?: string | undefined
  readonly nick_name?: string | undefined
  readonly private_info?: string | undefined
  readonly public_info?: string | undefined
}

/** Caller of a profile change: a user for the own profile, an Admin token for all (rule C6a). */
export interface ProfileActor {
  readonly appId: string
  /** The acting user. */
  readonly userId: Int64 | null
  readonly isAdminToken: boolean
  /** The actor in events. */
  readonly tokenOwnerId: Int64
}

/** The user with the field, and the caller. */
type UniqueActor = ProfileActor & { readonly userId: Int64 }

/** A profile to change, and its changes. */
export interface ProfileUpdate {
  /** 0: no user is named. */
  readonly userId: Int64
  readonly changes: ProfileChanges
}

/** Fields that are unique in an app. */
export type UniqueField = 'mobile' | 'email' | 'username'

/** A new value of one of a user's unique fields. */
export interface UniqueUpdate {
  readonly field: UniqueField
  readonly value: string
}

const columnsOf = {
  ...addressColumns,
  username: (username: string) => ({ username, username_key: usernameKey(username) }),
}
const takenErrors = {
  mobile: 'mobile_taken',
  email: 'email_taken',
  username: 'username_taken',
} as const

/** Profiles of users (rules D0, D1, D9). */
export class ProfileService {
  constructor(private readonly options: ProfileServiceOptions) {}

  /**
   * Updates the actor's own profile.
   * @throws AppError invalid_parameter, user_not_found, user_deleted
   */
  async update(
    actor: ProfileActor & { readonly userId: Int64 },
    changes: ProfileChanges,
  ): Promise<void> {
    requireNoRefusal(await this.updateMany(actor, [{ userId: actor.userId, changes }]))
  }

  /**
   * Updates several profiles. A refusal undoes no other update.
   * @returns no_permission, invalid_parameter, user_not_found, user_deleted
   */
  async updateMany(actor: ProfileActor, updates: readonly ProfileUpdate[]): Promise<ItemOutcome[]> {
    const entries = [...updates.entries()]
    // All callers lock users in this order. Updates of the same user keep their order.
    entries.sort(([, a], [, b]) => (a.userId < b.userId ? -1 : Number(a.userId > b.userId)))
    return this.options.database.transaction(async (tx) => {
      const outcomes: ItemOutcome[] = []
      for (const [index, update] of entries)
        outcomes[index] = await outcomeOf(this.#apply(tx, actor, update))
      return outcomes
    })
  }

  async #apply(tx: Tx, actor: ProfileActor, { userId, changes }: ProfileUpdate): Promise<void> {
    const { store, accounts } = this.options
    const { appId, tokenOwnerId: actorId } = actor
    if (!actor.isAdminToken && userId !== actor.userId) throw new AppError('no_permission')
    if (userId === 0) throw new AppError('invalid_parameter', 'user_id is required')
    const row = definedOnly(changes)
    if (row.nick_name !== undefined) requireName(row.nick_name, 'nick_name')
    const isDone = Object.keys(row).length > 0 && (await store.update(tx, appId, userId, row))
    // Distinguishes unknown from deleted users, and accepts an empty change.
    if (!isDone) await accounts.lockKeyShare(tx, appId, userId)
    else this.#announce(tx, { appId, actorId, userId }, row)
  }

  /**
   * @param update.value '' clears a mobile number or an e-mail address (rule D1a)
   * @throws AppError invalid_parameter, too_many_requests, mobile_taken, email_taken,
   * username_taken, user_not_found, user_deleted
   */
  async setUnique(
    { appId, userId, isAdminToken, tokenOwnerId: actorId }: UniqueActor,
    { field, value }: UniqueUpdate,
  ): Promise<void> {
    const { database, store, accounts, numbers } = this.options
    const violation = this.#violation(field, value)
    if (violation !== null) throw new AppError('invalid_parameter', violation)
    // A refusal tells that another user has the number.
    if (field !== 'username') numbers.take({ userId, isAdminToken })
    const row = columnsOf[field](value)
    const isStored = await database.transactionUnlessTaken(async (tx) => {
      if (!(await store.update(tx, appId, userId, row)))
        await accounts.lockKeyShare(tx, appId, userId)
      this.#announce(tx, { appId, actorId, userId }, { [field]: value })
    })
    if (!isStored) throw new AppError(takenErrors[field])
  }

  #violation(field: UniqueField, value: string): string | null {
    if (field === 'username') return usernameViolation(value, this.options.names)
    return field === 'email' ? emailViolation(value) : null
  }

  #announce(
    tx: Tx,
    { appId, actorId, userId }: { appId: string; actorId: Int64; userId: Int64 },
    changed: Readonly<Record<string, string>>,
  ): void {
    const about = { appId, actorId, userIds: [userId] }
    this.options.outbox.append(tx, profileEvent(about, changed))
  }
}
