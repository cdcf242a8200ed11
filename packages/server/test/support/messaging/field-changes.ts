/**
 * Changes of fields of messages, made beside a server as operations on reactions and pinned messages
 * make them. The server finds them when it looks at its outbox again.
 */
import { MemoryBus } from '../../../dist/bus/memory-bus.js'
import { createCaches } from '../../../dist/context/caches.js'
import { createStores } from '../../../dist/context/stores.js'
import { Database } from '../../../dist/db/database.js'
import { ChangeStore } from '../../../dist/domain/messaging/log/change-store.js'
import {
  type Conversation,
  directConversation,
  groupConversation,
} from '../../../dist/domain/messaging/model/conversation-model.js'
import {
  type FieldChange,
  MessageAlterations,
} from '../../../dist/domain/messaging/operations/message-alterations.js'
import { Outbox } from '../../../dist/outbox/outbox.js'
import { openDialect } from '../database/database-place.js'
import type { DataPlace } from '../database/sql.js'

/** A change of fields of a message by its ID. */
export type NamedChange = Omit<FieldChange, 'message'> & { readonly messageId: number }

export class FieldChanges implements AsyncDisposable {
  readonly #database: Database

  constructor(place: DataPlace) {
    this.#database = new Database(openDialect(place))
  }

  /** Changes messages of two users. */
  direct(appId: string, [a, b]: readonly [number, number], ...changes: readonly NamedChange[]) {
    return this.#change(directConversation(appId, a, b), changes)
  }

  /** Changes messages of a group. */
  group(appId: string, groupId: number, ...changes: readonly NamedChange[]) {
    return this.#change(groupConversation(appId, groupId), changes)
  }

  /** Leaves out messages that are gone. @returns how many were changed */
  async #change(conversation: Conversation, changes: readonly NamedChange[]): Promise<number> {
    const database = this.#database
    const clock = { now: () => Date.now() }
    const stores = createStores({
      database,
      clock,
      caches: createCaches({ database, bus: new MemoryBus() }),
    })
    const { messages: store, conversations: conversationStore } = stores
    const outbox = new Outbox({ database, store: stores.outbox, clock, appended() {} })
    const alterations = new MessageAlterations({
      ...{ store, conversationStore, outbox },
      changes: new ChangeStore(database),
    })
    return database.transaction(async (tx) => {
      await conversationStore.lockForUpdate(tx, conversation)
      const found: FieldChange[] = []
      for (const { messageId, ...change } of changes) {
        const message = await store.find(tx, conversation, messageId)
        if (message) found.push({ message, ...change })
      }
      if (found.length > 0) await alterations.setFields(tx, conversation, found)
      for (const { message, set } of found) {
        const { messageId } = message
        await stores.pinnedMessages.delete(tx, conversation, messageId)
        const { by, at } = set.pinned ?? { by: 0, at: 0 }
        if (set.pinned)
          await stores.pinnedMessages.insert(tx, conversation, { messageId, by, at: Number(at) })
      }
      return found.length
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]()
  }
}
