import type { Database } from '../../../db/database.js'
import type { ChargeRows } from '../../charge-rows.js'
import { type PageRequest, readCursor, unknownCursor, writeCursor } from '../../paging.js'
import type { UserKey } from '../../users/user-model.js'
import type { BroadcastSenders } from '../conversations/broadcast-senders.js'
import type { ConversationView } from '../model/conversation-model.js'
import type {
  ConversationListStore,
  ListPage,
  UnreadCount,
} from '../readers/conversation-list-store.js'

export interface ConversationListServiceOptions {
  readonly database: Database
  readonly store: ConversationListStore
  readonly broadcastSenders: BroadcastSenders
}

const maxConversationPage = 20

/** Lists the conversations of a user and their unread counts (rules E5, E8b). */
export class ConversationListService {
  constructor(private readonly options: ConversationListServiceOptions) {}

  /**
   * Lists conversations, most recent activity first. A walk over all pages has each conversation
   * that there was at its first page, whatever is sent during the walk.
   * @param page.cursor cursor of the page before; undefined or '' for the first page
   * @param page.limit clamped to 20
   * @returns the cursor of the next page, null on the last one
   * @throws AppError invalid_parameter for an unknown cursor
   */
  async list(
    reader: UserKey,
    page: PageRequest,
    charge: ChargeRows,
  ): Promise<{ conversations: readonly ConversationView[]; nextCursor: string | null }> {
    const { database, store } = this.options
    const limit = Math.min(page.limit ?? maxConversationPage, maxConversationPage)
    const range = readListCursor(page.cursor)
    const hasBroadcasts = await this.#hasBroadcasts(reader)
    const [rows] = await Promise.all([
      database.read((db) => store.list(db, reader, { ...range, limit: limit + 1, hasBroadcasts })),
      this.#charge(reader, charge),
    ])
    const conversations = rows.slice(0, limit)
    const [first] = conversations
    const last = conversations.at(-1)
    if (!first || !last || rows.length <= limit) return { conversations, nextCursor: null }
    const asOf = page.cursor ? range.asOf : first.place
    return { conversations, nextCursor: writeCursor(last.place, asOf) }
  }

  async listUnread(reader: UserKey, charge: ChargeRows): Promise<UnreadCount[]> {
    const { database, store } = this.options
    const hasBroadcasts = await this.#hasBroadcasts(reader)
    const [unread] = await Promise.all([
      database.read((db) => store.listUnread(db, reader, { hasBroadcasts })),
      this.#charge(reader, charge),
    ])
    return unread
  }

  /** Charges a walk over all conversations of the reader. */
  async #charge(reader: UserKey, charge: ChargeRows): Promise<void> {
    const { database, store } = this.options
    charge(await database.read((db) => store.count(db, reader)))
  }

  async #hasBroadcasts({ appId }: UserKey): Promise<boolean> {
    return (await this.options.broadcastSenders.find(appId)).size > 0
  }
}

function readListCursor(cursor: string | undefined): ListPage {
  const [beforePlace, asOf] = readCursor(cursor, 2) ?? [
    Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
  ]
  // A page ends at a message.
  if (!beforePlace || !asOf) throw unknownCursor()
  return { beforePlace, asOf }
}
