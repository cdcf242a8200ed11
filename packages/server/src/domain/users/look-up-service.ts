import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../db/database.js'
import type { Subject } from '../identity/identities/identity-model.js'
import { type FoundUser, usernameKey } from './user-model.js'
import type { UserStore } from './user-store.js'

interface LookUpServiceOptions {
  readonly database: Database
  readonly users: Pick<UserStore, 'findByIds' | 'findByNames'>
  /** The subjects that users have. */
  readonly identities: {
    findMany(
      db: Queryable,
      subjects: readonly Subject[],
    ): Promise<(Subject & { readonly userId: Int64 })[]>
  }
}

/** The users to look up, by one kind of name. */
export type LookUp =
  | { readonly userIds: readonly Int64[] }
  | { readonly usernames: readonly string[] }
  | { readonly issuer: string; readonly subjects: readonly string[] }

/** Looks up users for backends. */
export class LookUpService {
  constructor(private readonly options: LookUpServiceOptions) {}

  /**
   * Finds users in the order of the names, each name once, without unknown and deleted users.
   * @returns the users, with the subject where they were looked up by it
   */
  async find(
    appId: string,
    lookUp: LookUp,
  ): Promise<(FoundUser & { readonly subject?: string })[]> {
    return this.options.database.read(async (db) => {
      if ('subjects' in lookUp) return this.#bySubjects(db, appId, lookUp)
      if ('usernames' in lookUp) return this.#byNames(db, appId, lookUp.usernames)
      const userIds = [...new Set(lookUp.userIds)]
      const users = await this.#byIds(db, appId, userIds)
      return userIds.flatMap((userId) => users.get(userId) ?? [])
    })
  }

  async #byIds(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, FoundUser>> {
    const found = await this.options.users.findByIds(db, appId, userIds)
    return new Map(found.map((user) => [user.userId, user]))
  }

  async #byNames(db: Queryable, appId: string, usernames: readonly string[]) {
    const keys = [...new Set(usernames.map(usernameKey))]
    const found = await this.options.users.findByNames(db, appId, keys)
    const users = new Map(found.map((user) => [usernameKey(user.username), user]))
    return keys.flatMap((key) => users.get(key) ?? [])
  }

  async #bySubjects(
    db: Queryable,
    appId: string,
    { issuer, subjects }: { readonly issuer: string; readonly subjects: readonly string[] },
  ) {
    const distinct = [...new Set(subjects)]
    const keys = distinct.map((subject) => ({ appId, issuer, subject }))
    const identities = await this.options.identities.findMany(db, keys)
    const userIds = new Map(identities.map(({ subject, userId }) => [subject, userId]))
    const users = await this.#byIds(db, appId, [...new Set(userIds.values())])
    return distinct.flatMap((subject) => {
      const userId = userIds.get(subject)
      const user = userId === undefined ? undefined : users.get(userId)
      return user === undefined ? [] : [{ ...user, subject }]
    })
  }
}
