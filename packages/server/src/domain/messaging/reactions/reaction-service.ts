import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { isNumberPart, type PageRequest, readCursorParts, writeCursor } from '../../paging.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { MessageLookupService } from '../reading/message-lookup-service.js'
import { requireAlterable } from '../operations/alterable-message.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import { fieldsOf } from '../model/message-fields.js'
import { reactionForm } from '../model/reaction-model.js'
import type { ReactionStore, StoredReaction } from '../log/reaction-store.js'
import type { ReactionWriter } from './reaction-writer.js'

export interface ReactionServiceOptions {
  readonly database: Database
  readonly store: Pick<ReactionStore, 'list'>
  readonly writer: ReactionWriter
  readonly lookup: MessageLookupService
  readonly finder: Pick<ConversationFinder, 'kindOf'>
  readonly groupCache: Pick<GroupCache, 'findGroup'>
}

/** The user of a call. */
export interface ReactingUser {
  readonly appId: string
  readonly userId: Int64
  readonly isAdminToken: boolean
}

/** A message as a caller names it. */
export interface NamedMessage {
  /** The other user, or the group. */
  readonly peerId: Int64
  readonly messageId: Int64
}

const pageLimit = 200

/** Adds, removes and lists reactions to messages. */
export class ReactionService {
  constructor(private readonly options: ReactionServiceOptions) {}

  /**
   * Adds or removes a reaction; resolves when that is durable.
   * @param gone drops a reaction that has not begun
   * @throws AppError invalid_parameter, user_not_found, group_not_found, member_required,
   * message_not_found, message_type_refused, reaction_or_pin_limit_reached, unavailable,
   * storage_failed, and for a new one the refusals of a send
   */
  async react(
    user: ReactingUser,
    {
      peerId,
      targetType,
      messageId,
      key,
      on,
    }: NamedMessage & {
      readonly targetType: 'user' | 'group'
      readonly key: string
      readonly on: boolean
    },
    gone: AbortSignal,
  ): Promise<void> {
    const { database, writer, finder } = this.options
    const { appId, userId, isAdminToken } = user
    if (reactionForm(key) === '')
      throw new AppError('invalid_parameter', 'key must have a visible character')
    const kind = await database.read((db) => finder.kindOf(db, appId, peerId))
    if (targetType === 'group' && kind !== 'group') throw new AppError('group_not_found')
    if (targetType === 'user' && kind === 'group') throw new AppError('user_not_found')
    const { conversation, message } = await this.#find(user, { peerId, messageId })
    await requireAlterable(conversation, this.options.groupCache)
    const { lowId, highId, isGroup } = conversation
    const request = {
      conversation: { appId, lowId, highId, isGroup },
      messageId: message.messageId,
      peerId,
      userId,
      isAdminToken,
      key,
      on,
    }
    const refusal = await writer.refusal(request)
    if (refusal) throw refusal
    await writer.react(request, gone)
  }

  /**
   * Lists the reactions to a message, newest first.
   * @param page.key undefined = all
   * @returns the cursor of the next page, null on the last one
   * @throws AppError invalid_parameter for an unknown cursor, and as reading the message does
   */
  async list(
    user: ReactingUser,
    named: NamedMessage,
    { key, cursor, limit = pageLimit }: PageRequest & { readonly key?: string | undefined },
  ): Promise<{ readonly reactions: StoredReaction[]; readonly nextCursor: string | null }> {
    const { database, store } = this.options
    const before = placeOfCursor(cursor)
    const { conversation, message } = await this.#find(user, named)
    const { appId, lowId, highId } = conversation
    const place = { appId, lowId, highId, messageId: message.messageId }
    const shown =
      key === undefined
        ? null
        : ((fieldsOf(message).reactions ?? []).find(
            (each) => reactionForm(each.key) === reactionForm(key),
          )?.key ?? key)
    const size = Math.min(limit, pageLimit)
    const found = await database.read((db) =>
      store.list(db, place, { key: shown, before, limit: size + 1 }),
    )
    const reactions = found.slice(0, size)
    const last = reactions.at(-1)
    return { reactions, nextCursor: found.length > size && last ? cursorOf(last) : null }
  }

  /** @throws AppError message_not_found, also for a recalled one, and as MessageLookupService.get */
  async #find({ appId, userId }: ReactingUser, { peerId, messageId }: NamedMessage) {
    const reader = { appId, userId, adminOf: null }
    const found = await this.options.lookup.get(reader, peerId, messageId)
    if (!('message' in found)) throw new AppError('message_not_found')
    return found
  }
}

const isHex = (part: string) => /^(?:[0-9a-f]{2})+$/.test(part)

function placeOfCursor(cursor: string | undefined) {
  const parts = readCursorParts(cursor, [isNumberPart, isNumberPart, isHex])
  if (!parts) return null
  const [change, userId, key] = parts
  return {
    change: Number(change),
    userId: Number(userId),
    key: Buffer.from(key, 'hex').toString('utf8'),
  }
}

function cursorOf({ change, userId, key }: StoredReaction): string {
  return writeCursor(change, userId, Buffer.from(key, 'utf8').toString('hex'))
}
