import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { App } from '../../apps/app-model.js'
import type { AppService } from '../../apps/app-service.js'
import { type ItemOutcome, valuesOf } from '../../item-outcome.js'
import type { PasswordHasher } from '../../login/password-hasher.js'
import { countInPage, type PageRequest, readIdCursor, writeCursor } from '../../paging.js'
import { countNewUsers } from '../registration/new-users.js'
import type { UserCountStore } from '../registration/user-count-store.js'
import { userRoom } from '../registration/user-room.js'
import { systemUserId } from '../system-user.js'
import { profileEvent, type UserKey, usernameKey } from '../user-model.js'
import type { UserStore } from '../user-store.js'
import {
  createPassword,
  type ImportedAs,
  type ImportedIdentity,
  requireGoodEntry,
  TakenNames,
  type UserToImport,
} from './user-import-model.js'
import {
  type ExportedRow,
  importedRow,
  profileColumns,
  type UserImportStore,
} from './user-import-store.js'

interface UserImportServiceOptions {
  readonly database: Database
  readonly store: UserImportStore
  readonly users: UserStore
  readonly identities: ImportedIdentities
  readonly counts: UserCountStore
  readonly apps: AppService
  readonly outbox: Outbox
  readonly hasher: PasswordHasher
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly passwordMinLength: number
}

/** A user in another system. */
interface IdentityRow extends ImportedIdentity, UserKey {
  readonly linkedAt: number
}

/** The identities of users. */
interface ImportedIdentities {
  findMany(
    db: Queryable,
    subjects: readonly (ImportedIdentity & { readonly appId: string })[],
  ): Promise<IdentityRow[]>
  listOfUsers(db: Queryable, appId: string, userIds: readonly Int64[]): Promise<IdentityRow[]>
  insertMany(tx: Tx, identities: readonly IdentityRow[]): Promise<void>
}

/** A user as exported, with the identities. */
type ExportedEntry = ExportedRow & { readonly identities: ImportedIdentity[] }

const maxPageSize = 500
const maxAttempts = 5

/** Creates users for the operator and moves them between systems. */
export class UserImportService {
  constructor(private readonly options: UserImportServiceOptions) {}

  /**
   * @returns the generated password; '' when one was given
   * @throws AppError app_not_found, invalid_parameter, user_exists, mobile_taken, email_taken,
   * user_limit_reached
   */
  async create(
    appId: string,
    user: Omit<UserToImport, 'passwordHash'>,
  ): Promise<{ userId: Int64; password: string }> {
    const password = user.password === undefined ? createPassword() : ''
    const [outcome] = await this.import(
      appId,
      [{ ...user, password: user.password ?? password }],
      false,
    )
    if (outcome instanceof AppError) throw outcome
    if (outcome?.result !== 'created') throw new AppError('user_exists')
    return { userId: outcome.userId, password }
  }

  /**
   * Stores the new users in one transaction.
   * @param update changes the profiles of existing users
   * @returns the users after the import; invalid_parameter, mobile_taken, email_taken,
   * user_already_bound, user_exists, user_limit_reached, unavailable
   * @throws AppError app_not_found
   */
  async import(
    appId: string,
    users: readonly UserToImport[],
    update: boolean,
  ): Promise<ItemOutcome<ImportedAs>[]> {
    const { database, ids } = this.options
    const app = await this.options.apps.get(appId)
    const entries = await this.#hashed(appId, users.map(this.#checked))
    const userIds = await ids.take(entries.length)
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      let outcomes: ItemOutcome<ImportedAs>[] = []
      const isStored = await database.transactionUnlessTaken(async (tx) => {
        outcomes = await this.#store(tx, app, { entries, userIds, update })
      })
      // Otherwise a concurrent call took an address or a subject after the lookup; the next lookup
      // sees it.
      if (isStored) return outcomes
    }
    throw changedMeanwhile()
  }

  /**
   * @param page.cursor `nextCursor` of the previous page; '': the first page
   * @param page.limit clamped to 500
   * @returns users by ID; `nextCursor` is '' on the last page
   * @throws AppError app_not_found, invalid_parameter
   */
  async export(
    appId: string,
    page: PageRequest,
  ): Promise<{ users: readonly ExportedEntry[]; nextCursor: string }> {
    const { database, store, identities, apps } = this.options
    await apps.get(appId)
    const after = readIdCursor(page.cursor) ?? 0
    const limit = Math.min(page.limit ?? maxPageSize, maxPageSize)
    const found = await database.read(async (db) => {
      const rows = await store.list(db, appId, { after, limit })
      const userIds = rows.map(({ user_id }) => user_id)
      return withIdentities(rows, await identities.listOfUsers(db, appId, userIds))
    })
    const users = found.slice(0, countInPage(found, longTextsOf))
    const isLast = found.length < limit && users.length === found.length
    const last = isLast ? undefined : users.at(-1)
    return { users, nextCursor: last ? writeCursor(last.user_id) : '' }
  }

  readonly #checked = (user: UserToImport): ItemOutcome<UserToImport> => {
    const { passwordMinLength, clock } = this.options
    try {
      requireGoodEntry(user, { passwordMinLength, now: clock.now() })
      return user
    } catch (error) {
      if (error instanceof AppError) return error
      throw error
    }
  }

  /** Hashes the passwords of new users. Existing users are skipped before hashing. */
  async #hashed(
    appId: string,
    entries: readonly ItemOutcome<UserToImport>[],
  ): Promise<ItemOutcome<UserToImport>[]> {
    const { database, store, hasher } = this.options
    const withPassword = valuesOf(entries).filter(({ password }) => password !== undefined)
    const known = new TakenNames(
      await database.read((db) => store.findOwners(db, appId, withPassword)),
    )
    const isNew = ({ username }: UserToImport) => known.ownerOf(username) === undefined
    const passwords = withPassword.filter(isNew).map(({ password }) => password as string)
    const hashes = (await hasher.hashMany(appId, passwords)).values()
    return entries.map((entry) => {
      if (entry instanceof AppError || !isNew(entry)) return entry
      const { password, ...user } = entry
      if (password === undefined) return entry
      return { ...user, passwordHash: hashes.next().value as string }
    })
  }

  async #store(
    tx: Tx,
    app: App,
    { entries, userIds, update }: ImportBatch,
  ): Promise<ItemOutcome<ImportedAs>[]> {
    const { users, counts, clock } = this.options
    const { appId } = app
    const { lastBroadcastId: seen } = await counts.find(tx, appId)
    let room = await userRoom(tx, app, this.options)
    const names = await this.#taken(tx, appId, valuesOf(entries))
    const outcomes = entries.map((entry, index) => {
      if (entry instanceof AppError) return entry
      const plan = planned(entry, {
        names,
        newId: userIds[index] as number,
        update,
        hasRoom: room > 0,
      })
      if (!(plan instanceof AppError) && plan.result === 'created') room--
      return plan
    })
    const plans = valuesOf(outcomes)
    const at = clock.now()
    const fresh = plans
      .filter((plan) => plan.result === 'created')
      .map(({ user, userId }) => ({
        ...importedRow(appId, userId, user, at),
        broadcasts_after: seen,
      }))
    // Sorted by name, so that concurrent imports of the same users do not deadlock.
    fresh.sort((a, b) => (usernameKey(a.username) < usernameKey(b.username) ? -1 : 1))
    const stored = await users.insertMany(tx, fresh)
    await this.#link(
      tx,
      appId,
      plans.filter(({ result, userId }) => result === 'created' && stored.has(userId)),
    )
    for (const { user_id, avatar } of fresh)
      if (avatar !== '' && stored.has(user_id)) this.#recordAvatar(tx, appId, user_id, avatar)
    // Entries with names that a concurrent call took, and entries of the same name in this call.
    const ours = new Set(userIds)
    const isOutdated = ({ userId }: PlannedImport) => ours.has(userId) && !stored.has(userId)
    const outdated = plans.filter(isOutdated).map(({ user }) => user)
    const winners = await this.#taken(tx, appId, outdated)
    const missed = await this.#updateProfiles(
      tx,
      appId,
      plans.filter((plan) => plan.result === 'updated' && !isOutdated(plan)),
    )
    await countNewUsers(tx, this.options, { appId, userIds: [...stored], seen })
    return outcomes.map((plan) => {
      if (plan instanceof AppError) return plan
      if (isOutdated(plan)) return replanned(plan.user, winners)
      return missed.has(plan) ? changedMeanwhile() : { result: plan.result, userId: plan.userId }
    })
  }

  async #taken(
    db: Queryable,
    appId: string,
    entries: readonly UserToImport[],
  ): Promise<TakenNames> {
    const { store, identities } = this.options
    const subjects = entries.flatMap((entry) => entry.identities ?? [])
    return new TakenNames(
      await store.findOwners(db, appId, entries),
      await identities.findMany(
        db,
        subjects.map((subject) => ({ ...subject, appId })),
      ),
    )
  }

  /** Links the identities of new users. */
  async #link(tx: Tx, appId: string, plans: readonly PlannedImport[]): Promise<void> {
    const { identities, outbox, clock } = this.options
    const linkedAt = clock.now()
    const rows = plans.flatMap(({ userId, user }) =>
      (user.identities ?? []).map((identity) => ({
        ...identity,
        appId,
        userId,
        linkedAt,
      })),
    )
    await identities.insertMany(tx, rows)
    for (const { issuer, subject, userId } of rows) {
      const about = { appId, actorId: systemUserId, userIds: [userId] }
      outbox.append(tx, actorEvent('user.identity_linked', about, { issuer, subject }))
    }
  }

  /** Records the reference to an avatar file, which keeps the file (rule J6). */
  #recordAvatar(tx: Tx, appId: string, userId: Int64, avatar: string): void {
    const about = { appId, actorId: systemUserId, userIds: [userId] }
    this.options.outbox.append(tx, profileEvent(about, { avatar }))
  }

  /** @returns plans of users that no longer exist */
  async #updateProfiles(
    tx: Tx,
    appId: string,
    plans: readonly PlannedImport[],
  ): Promise<Set<PlannedImport>> {
    const { users, outbox } = this.options
    const missed = new Set<PlannedImport>()
    // In one order for all callers, as above.
    const updates = plans
      .filter((plan) => plan.result === 'updated')
      .sort((a, b) => (a.userId < b.userId ? -1 : 1))
    for (const plan of updates) {
      if (Object.keys(plan.user.profile).length === 0) continue
      const { userId } = plan
      const { username, profile } = plan.user
      const owner = { appId, userId, username }
      if (!(await users.updateNamed(tx, owner, profileColumns(profile)))) missed.add(plan)
      else {
        const about = { appId, actorId: systemUserId, userIds: [userId] }
        outbox.append(tx, profileEvent(about, { ...profile }))
      }
    }
    return missed
  }
}

interface ImportBatch {
  readonly entries: readonly ItemOutcome<UserToImport>[]
  /** One per entry. */
  readonly userIds: readonly Int64[]
  readonly update: boolean
}

interface PlannedImport extends ImportedAs {
  readonly user: UserToImport
}

interface Circumstances {
  readonly names: TakenNames
  readonly newId: Int64
  readonly update: boolean
  readonly hasRoom: boolean
}

/** Plans an entry; a user to create owns its names from then on. */
function planned(
  user: UserToImport,
  { names, newId, update, hasRoom }: Circumstances,
): ItemOutcome<PlannedImport> {
  const existing = names.ownerOf(user.username)
  const foreign = names.identityConflict(user, existing)
  if (foreign) return foreign
  if (existing !== undefined && !update) return { result: 'exists', user, userId: existing }
  const refusal =
    names.conflict(user.profile, existing) ??
    (existing === undefined ? refusalToCreate(user, hasRoom) : null)
  if (refusal) return refusal
  const userId = existing ?? newId
  names.add(user, userId)
  return { result: existing === undefined ? 'created' : 'updated', user, userId }
}

/** Plans an entry again after a concurrent call took its names. */
function replanned(user: UserToImport, winners: TakenNames): ItemOutcome<ImportedAs> {
  const userId = winners.ownerOf(user.username)
  const foreign = winners.identityConflict(user, userId)
  if (foreign) return foreign
  if (userId !== undefined) return { result: 'exists', userId }
  return winners.conflict(user.profile) ?? changedMeanwhile()
}

function refusalToCreate({ password }: UserToImport, hasRoom: boolean): AppError | null {
  // The user existed when passwords were hashed and is gone now; without a hash it could not log
  // in.
  if (password !== undefined) return changedMeanwhile()
  return hasRoom ? null : new AppError('user_limit_reached')
}

function changedMeanwhile(): AppError {
  return new AppError('unavailable', 'the user was changed at the same time; repeat the import')
}

function withIdentities(
  rows: readonly ExportedRow[],
  identities: readonly IdentityRow[],
): ExportedEntry[] {
  const byUser = new Map<Int64, ImportedIdentity[]>(rows.map(({ user_id }) => [user_id, []]))
  for (const { userId, issuer, subject } of identities)
    byUser.get(userId)?.push({ issuer, subject })
  return rows.map((row) => ({ ...row, identities: byUser.get(row.user_id) ?? [] }))
}

function longTextsOf(user: ExportedEntry): readonly string[] {
  const { description, public_info, private_info, identities } = user
  return [
    ...[description, public_info, private_info],
    ...identities.flatMap(({ issuer, subject }) => [issuer, subject]),
  ]
}
