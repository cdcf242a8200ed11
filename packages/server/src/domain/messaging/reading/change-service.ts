import { alterationKind, type Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ChangeStore } from '../log/change-store.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Alteration, Change, ChangeState } from '../model/change-model.js'
import { broadcastStream, type Conversation } from '../model/conversation-model.js'

export interface ChangeServiceOptions {
  readonly database: Database
  readonly store: ChangeStore
  readonly messageLog: HistoryStore
  readonly finder: ConversationFinder
}

/** A page of the changes of a conversation. */
export interface ChangePage {
  /**
   * By number. null when the following changes are no longer stored, or the reader's position is above the end. Then the reader takes
   * `end` as its position and reads the history again.
   */
  readonly changes: readonly Change[] | null
  /** The position after which the next page begins. */
  readonly next: number
  /** The number of the latest change. */
  readonly end: number
  /**
   * Messages up to and including this one are hidden from the reader, who drops them. When it decreases (history_visible of a group), the
   * reader fetches older messages from the history.
   */
  readonly hiddenMessageId: number
}

/** The changes of one page: numbers above `after` and up to `next`. */
interface Span {
  readonly after: number
  readonly next: number
  readonly limit: number
}

const maxPage = 100

/** Reads the changes of a conversation after a reader's position (decision page 027). */
export class ChangeService {
  constructor(private readonly options: ChangeServiceOptions) {}

  /**
   * Reads changes after a position: each message once, at the number of its latest change. A message with a later change than
   * the page is in a later page, so a page may hold less than `limit`, or nothing, without being the last one.
   *
   * @param page.after the number of the latest change that the reader knows; 0 = none
   * @param page.limit clamped to 100
   * @throws AppError conversation_not_found when the ID was never given; member_required for a group that the reader is no member of
   */
  async changesAfter(
    reader: UserKey,
    peerId: Int64,
    page: { readonly after: number; readonly limit: number },
  ): Promise<ChangePage> {
    const { database, finder } = this.options
    return database.read(async (db) => {
      const conversation = await finder.get(db, reader, peerId)
      return this.#page(db, reader, conversation, page)
    })
  }

  /**
   * Reads changes of the broadcasts of a sender, as {@link changesAfter} does. They are numbered separately. Broadcasts before the reader's
   * registration have numbers too, and are hidden.
   */
  async broadcastChangesAfter(
    reader: UserKey,
    senderId: Int64,
    page: { readonly after: number; readonly limit: number },
  ): Promise<ChangePage> {
    const stream = broadcastStream(reader.appId, senderId)
    return this.options.database.read((db) => this.#page(db, reader, stream, page))
  }

  async #page(
    db: Queryable,
    reader: UserKey,
    conversation: Conversation,
    page: { readonly after: number; readonly limit: number },
  ): Promise<ChangePage> {
    const { store, finder } = this.options
    const state = await store.findState(db, conversation, reader.userId)
    if (!state && conversation.isGroup) await finder.requireMember(reader, conversation.lowId)
    const { seq, alterations, keptFrom, hiddenMessageId } = state ?? notBegun
    const end = seq + alterations
    const { after } = page
    const refetch = { changes: null, next: end, end, hiddenMessageId }
    if (after < keptFrom || after > end) return refetch
    const limit = Math.min(page.limit, maxPage)
    const next = Math.min(after + limit, end)
    const span = { after, next, limit }
    if (!state || next === after) return { changes: [], next, end, hiddenMessageId }
    const changes = await this.#read(db, conversation, reader.userId, state, span)
    // Messages may have been removed while the page was read.
    const now = await store.findState(db, conversation, reader.userId)
    return now && now.keptFrom <= after ? { changes, next, end, hiddenMessageId } : refetch
  }

  /**
   * Needs no common snapshot: numbers up to the end are final, and a message changed between the statements has its latest change above the
   * end, so it is in a later page. The caller checks for removals afterwards.
   */
  async #read(
    db: Queryable,
    conversation: Conversation,
    userId: Int64,
    state: ChangeState,
    { after, next, limit }: Span,
  ): Promise<Change[]> {
    const { store, messageLog } = this.options
    const { hiddenMessageId } = state
    const following = await store.listAlterations(db, conversation, { after, limit })
    const alterationsBefore = (following[0]?.alteration ?? state.alterations + 1) - 1
    const altered = following.filter(({ change }) => change <= next)
    const seqFrom = after - alterationsBefore
    const seqTo = next - alterationsBefore - altered.length
    const stored =
      seqTo === seqFrom
        ? []
        : await messageLog.listAfter(db, conversation, {
            userId,
            seq: seqFrom,
            hiddenMessageId,
            limit,
          })
    const isSeen = ({ messageId, isLatest }: Alteration) =>
      isLatest === 1 && messageId > hiddenMessageId
    const changes = await Promise.all(
      altered.filter(isSeen).map((each) => this.#changeOf(db, conversation, userId, each)),
    )
    for (const message of stored) {
      if (message.seq > seqTo) break
      // An edited message is at the number of its edit.
      if (message.editedAt === 0)
        changes.push({
          change: changeOf(message.seq, alterationsBefore, altered),
          kind: 'stored',
          message,
        })
    }
    return changes.filter((change) => change !== null).sort((a, b) => a.change - b.change)
  }

  /** @returns null when the message was altered again after the page was read */
  async #changeOf(
    db: Queryable,
    conversation: Conversation,
    userId: Int64,
    { change, kind, messageId, tombstone }: Alteration,
  ): Promise<Change | null> {
    if (kind === alterationKind.recalled)
      return tombstone && { change, kind: 'recalled', tombstone }
    const message = await this.options.messageLog.find(db, conversation, { userId, messageId })
    return message && { change, kind: 'edited', message }
  }
}

const notBegun: ChangeState = { seq: 0, alterations: 0, keptFrom: 0, hiddenMessageId: 0 }

/** The number of the change that stored a message: its position plus the alterations before it. */
function changeOf(seq: number, alterationsBefore: number, altered: readonly Alteration[]): number {
  const before = altered.filter(({ change, alteration }) => change - alteration < seq)
  return seq + alterationsBefore + before.length
}
