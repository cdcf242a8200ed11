import type { Database, Queryable } from '../../../db/database.js'
import type { PushedMessage } from '../content/pushed-message.js'
import type { AudienceContent, MessageReceivers } from './audience-reader.js'
import type { AudienceStore } from './audience-store.js'

interface AudienceEstimateOptions {
  readonly database: Database
  readonly store: AudienceStore
  readonly users: {
    find(db: Queryable, appId: string): Promise<{ readonly users: number }>
  }
  readonly messages: Pick<MessageReceivers, 'countMembers'>
}

/** Estimates the number of users of an audience, whether they have devices or not. */
export class AudienceEstimate {
  constructor(private readonly options: AudienceEstimateOptions) {}

  async users({ appId, content: { audience } }: AudienceContent): Promise<number> {
    const { database, store } = this.options
    switch (audience.kind) {
      case 'all':
        return this.#allUsers(appId)
      case 'tag':
        // It reads a row for each user, so it runs in a thread or on a connection for long reads.
        return database.snapshot((db) => store.countTagged(db, appId, audience.values))
      case 'message':
        return this.#receivers(appId, audience.message)
      default:
        return audience.values.length
    }
  }

  async #allUsers(appId: string): Promise<number> {
    const { database, users } = this.options
    return (await database.read((db) => users.find(db, appId))).users
  }

  async #receivers(appId: string, { kind, targetId }: PushedMessage): Promise<number> {
    if (kind === 'direct') return 1
    if (kind === 'broadcast') return this.#allUsers(appId)
    return this.options.messages.countMembers({ appId, groupId: targetId })
  }
}
