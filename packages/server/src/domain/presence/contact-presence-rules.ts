import { type Int64, relation } from '@hermod/protocol'
import type { Database, Queryable } from '../../db/database.js'
import type { Contact } from '../contacts/contact-model.js'
import type { UserKey } from '../users/user-model.js'
import type { PresenceRules } from './presence-service.js'

interface ContactPresenceRulesOptions {
  readonly database: Database
  readonly store: {
    findRelationsTo(
      db: Queryable,
      appId: string,
      peerId: Int64,
      userIds: readonly Int64[],
    ): Promise<ReadonlyMap<Int64, Pick<Contact, 'state' | 'isBlocked'>>>
  }
}

/** Shows users to their contacts, except those that they block (rule E15). */
export class ContactPresenceRules implements PresenceRules {
  constructor(private readonly options: ContactPresenceRulesOptions) {}

  async contactsOf(
    { appId, userId }: UserKey,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, boolean>> {
    const { database, store } = this.options
    const relations = await database.read((db) => store.findRelationsTo(db, appId, userId, userIds))
    const contacts = new Map<Int64, boolean>()
    for (const [each, { state, isBlocked }] of relations)
      if (state === relation.contact) contacts.set(each, !isBlocked)
    return contacts
  }
}
