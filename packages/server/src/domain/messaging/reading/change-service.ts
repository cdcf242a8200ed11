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

/** A part of the changes of a conversation. */
export interface ChangePage {
  /**
   * By number. Null when what follows is not kept, or the reader knows more than there is: then the reader takes `end` as its position
   * and reads the history anew.
   */
  readonly changes: readonly Change[] | null
  /** The position from which the next page goes on: all changes up to it are known to the reader. */
  readonly next: number
  /** The number of the latest change. */
  readonly end: number
  /**
   * Messages up to and including this one are hidden from the reader, who forgets them. When it goes back (history_visible of a group),
   * older messages are to be read from the history.
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

/** What has changed in a conversation since a reader looked last (decision page 027). */
export class ChangeService {
  constructor(private readonly options: ChangeServiceOptions) {}

  /**
   * What became of messages after a position: each message once, at the number of its latest change. A message whose latest change comes
   * after the page is left to a later page, so a page that is not the last one may hold less than `limit`, also nothing.
   *
   * @param page.after the number of the latest change that the reader knows; 0 = none
   * @param page.limit clamped to 100
   * @throws AppError conversation_not_found when nobody ever had the ID; member_required for a group that the reader is no member of
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
   * As {@link changesAfter} of the broadcasts of a sender, whose changes have numbers of their own. Those from before the reader's time
   * have numbers too, and are hidden.
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
    // What was removed while the page was read may have been counted in it.
    const now = await store.findState(db, conversation, reader.userId)
    return now && now.keptFrom <= after ? { changes, next, end, hiddenMessageId } : refetch
  }

  /**
   * The statements need not see one state of the data: numbers up to the end are given for good, and what is changed between them has
   * its latest change above the end, so it is left to a later page. What is removed between them shows afterwards.
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
      // An edit has a number of its own.
      if (message.editedAt === 0)
        changes.push({
          change: changeOf(message.seq, alterationsBefore, altered),
          kind: 'stored',
          message,
        })
    }
    return changes.filter((change) => change !== null).sort((a, b) => a.change - b.change)
  }

  /** Null when something else was done to the message meanwhile. */
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

/** The number of the change that stored a message: its position and how much was altered before that. */
function changeOf(seq: number, alterationsBefore: number, altered: readonly Alteration[]): number {
  const before = altered.filter(({ change, alteration }) => change - alteration < seq)
  return seq + alterationsBefore + before.length
}
