import type {
  CallOptions,
  Conversation,
  ConversationRef,
  ConversationSummary,
  Message,
  Messages,
} from '../api.js'
import { bytesOf } from '../core/link/wire-text.js'
import { listOf, membersOf, messageOf, quotesOf } from '../core/logs/wire.js'
import { badAnswer, ClientError, failureOf } from '../errors.js'
import { draftKey } from '../model/draft-key.js'
import { directKey, groupKey, kindOf, logKeyOf } from '../model/log-key.js'
import type { LogKey, MessageRecord, QuoteRecord } from '../model/records.js'
import { type Wish, wishesKey, wishesOf } from '../model/wishes.js'
import type { Clock } from '../ports/clock.js'
import type { ConversationParts } from '../views/conversation-parts.js'
import type { Hub } from '../views/hub.js'
import type { Interests } from '../views/interests.js'
import {
  alterationOf,
  keyOfTransaction,
  statusOf,
  storedMessage,
  transactionOf,
} from '../views/messages/message.js'
import { createMessageList } from '../views/messages/message-list.js'
import { pageSize } from '../views/messages/message-loader.js'
import { createPinnedMessages } from '../views/messages/pinned-messages.js'
import type { Summaries } from '../views/summaries.js'
import { cachedValueOf } from '../views/users.js'
import { createView, deriveView } from '../views/view.js'
import { fromWire } from '../wire/from-wire.js'
import { checkId, checkOneOf, checkOptionalText, checkText, refuse } from './arguments.js'
import { type Caller, signalOf } from './caller.js'
import { readDraft } from './draft.js'
import { writeStream } from './write-stream.js'

/** Parts of a client that conversations use. */
export interface ConversationSources {
  readonly hub: Hub
  readonly parts: ConversationParts
  readonly summaries: Summaries
  readonly interests: Interests
  readonly call: Caller
  readonly clock: Clock
}

/** The most reactions of a page. */
const reactionPage = 200
/** The longest key of a reaction. */
const maxKeyBytes = 64

/** `type` of a target, by the kind of its conversation. */
const targetTypes = { direct: 1, group: 2 }

/** Makes the handle on a conversation. */
export function createConversation(
  { hub, parts, summaries, interests, call, clock }: ConversationSources,
  { id, kind }: ConversationRef,
): Conversation {
  const { session } = hub
  const isGroup = kind === 'group'
  const { view, loader } = createMessageList(hub, { id, kind, parts, interests })
  const messages: Messages = {
    ...view,
    async loadOlder({ limit = pageSize, signal } = {}) {
      checkLimit(limit)
      await orAborted(loader.loadOlder(limit), signal)
    },
    async loadNewer({ limit = pageSize, signal } = {}) {
      checkLimit(limit)
      await orAborted(loader.loadNewer(limit), signal)
    },
    async loadAround(messageId, { limit = pageSize, signal } = {}) {
      checkId('messageId', messageId)
      checkLimit(limit)
      await orAborted(loader.loadAround(messageId, Math.ceil(limit / 2)), signal)
    },
    async loadLatest({ signal } = {}) {
      await orAborted(loader.loadLatest(), signal)
    },
  }
  const draft = deriveView(hub, {
    initial: '',
    inputs: () => [cachedValueOf<string>(session.state, draftKey(id))],
    derive: (text = '') => text,
  })
  const summary = createView(hub, {
    initial: unknownSummary({ id, kind }),
    compute: () => summaries.get(id, kind),
    start: () =>
      interests.add({
        rank: 1,
        reads: () => ['pins', 'groups', `${isGroup ? 'group' : 'user'}.${id}`],
        presence: () => (isGroup ? [] : [id]),
      }),
  })
  const ofConversation = { conversation_id: id }
  const pinned = createPinnedMessages(hub, {
    ...{ id, kind, parts, interests, clock },
    async read() {
      const { data } = await call('message.pinned', ofConversation)
      const log = logKey()
      return listOf(membersOf(data).messages).flatMap((each) => messageOf(log, each) ?? [])
    },
  })

  return {
    id,
    kind,
    summary,
    messages,
    pinned,
    draft: {
      ...draft,
      async set(text, options) {
        checkText('text', text, { isEmptyAllowed: true })
        await session.execute({ type: 'draft', conversationId: id, text }, signalOf(options))
      },
    },
    async send(draft, options) {
      const transactionId = newTransactionId(clock)
      const read = readDraft(draft)
      if (!isGroup && read.content.config !== '')
        refuse('draft', 'without mentions and receiptsOf outside of groups')
      await session.execute(
        {
          type: 'send',
          transactionId,
          conversationId: id,
          isGroup,
          ...read,
          createdAt: clock.wallTime(),
        },
        signalOf(options),
      )
      return keyOfTransaction(transactionId)
    },
    async retry(key, options = {}) {
      const transactionId = unsentKey(key)
      const anyway = options.anyway && { anyway: true }
      await session.execute({ type: 'retry', transactionId, ...anyway }, signalOf(options))
    },
    async discard(key, options) {
      const transactionId = unsentKey(key)
      await session.execute({ type: 'discard', transactionId }, signalOf(options))
    },
    async edit(message, text, options) {
      checkText('text', text)
      await alter(message, { kind: 'edit', text }, options)
    },
    async recall(message, options) {
      await alter(message, { kind: 'recall' }, options)
    },
    async stream(source, options = {}) {
      const given = Object(source) as Partial<AsyncIterable<string> & Iterable<string>>
      if (typeof source !== 'function' && !given[Symbol.asyncIterator] && !given[Symbol.iterator])
        refuse('source', 'an iterable of texts, or a function that returns one')
      if (options.transactionId !== undefined)
        checkId('options.transactionId', options.transactionId)
      if (options.kind !== undefined) checkOneOf('options.kind', options.kind, ['text', 'markdown'])
      checkOptionalText('options.placeholder', options.placeholder)
      const target = { id, type: targetTypes[kind] }
      const transactionId = options.transactionId ?? newTransactionId(clock)
      return writeStream(source, { call, clock, target, transactionId }, options)
    },
    async cancelStream(message, options) {
      const msg_id = storedId(message)
      await call('message.stream.cancel', { ...ofConversation, msg_id } as never, options)
    },
    async showActivity(state, text = '', options) {
      checkText('state', state, { isEmptyAllowed: true })
      checkText('text', text, { isEmptyAllowed: true })
      const data = { ...ofConversation, type: targetTypes[kind], state, text }
      await call('message.activity', data as never, options)
    },
    async markRead(message, options) {
      const msgId = message === undefined ? newestId() : storedId(message)
      const logs = parts.logs(id, kind)
      const isRead = message === undefined && logs.every(({ readSeq, seq }) => readSeq >= seq)
      if (msgId === 0 || isRead) return
      await session.execute({ type: 'read', conversationId: id, msgId }, signalOf(options))
    },
    typing(isTyping = true) {
      const isEnd = !isTyping && { isEnd: true }
      // It is for the moment: a signal that cannot be sent is forgotten.
      session.execute({ type: 'typing', conversationId: id, isGroup, ...isEnd }).catch(() => {})
    },
    async receipts(message, options) {
      const msgId = storedId(message)
      if (!message.receiptsOf) refuse('message', 'one that was sent with receiptsOf')
      const { data } = await call('message.receipts', { ...ofConversation, msg_id: msgId }, options)
      const { read, unread } = data as { read: readonly number[]; unread: readonly number[] }
      return { read, unread }
    },
    async react(message, key, { isOn = true, ...options } = {}) {
      checkText('key', key)
      if (bytesOf(key) > maxKeyBytes)
        refuse('key', `a text of at most ${maxKeyBytes} bytes of UTF-8`)
      await wish({ ...placeOf(message), reaction: key, isOn }, options)
    },
    async pinMessage(message, options) {
      await wish({ ...placeOf(message), isOn: true }, options)
    },
    async unpinMessage(message, options) {
      await wish({ ...placeOf(message), isOn: false }, options)
    },
    async reactions(message, { key, cursor, limit = reactionPage, ...options } = {}) {
      checkOptionalText('key', key)
      checkOptionalText('cursor', cursor)
      checkLimit(limit, reactionPage)
      const of = { ...ofConversation, msg_id: storedId(message), limit }
      const query = { ...of, ...(key && { key }), ...(cursor && { cursor }) }
      return fromWire.reactionPage(await call('message.reactions', query, options))
    },
    async getMessage(messageId, options) {
      checkId('messageId', messageId)
      const query = { ...ofConversation, msg_id: messageId }
      const { data } = await call('message.get', query, options)
      const { message, quotes } = membersOf(data)
      if (message === undefined) return null
      const log = logKeyOf(membersOf(message).conversation) ?? logKey()
      const record = messageOf(log, message)
      if (!record) throw new ClientError(badAnswer('message.get'))
      return shownMessage(record, quotesOf(quotes))
    },
    async pin(options) {
      await call('user.conversation.pin', ofConversation, options)
    },
    async unpin(options) {
      await call('user.conversation.unpin', ofConversation, options)
    },
    async delete(options) {
      await call('message.conversation.delete', ofConversation, options)
    },
  }

  /** Queues an edit or a recall of a message, which may have been stored since the app has got it. */
  async function alter(
    message: Message,
    change: { readonly kind: 'edit'; readonly text: string } | { readonly kind: 'recall' },
    options: CallOptions | undefined,
  ): Promise<void> {
    const { id: named, key = '', editedAt } = Object(message) as Partial<Message>
    const of = transactionOf(key)
    const shown = messages.getSnapshot().messages.find((each) => each.key === key)
    const msgId = named || shown?.id || 0
    if (of === undefined) storedId({ ...message, id: msgId })
    await session.execute(
      {
        type: 'alter',
        transactionId: newTransactionId(clock),
        ...{ conversationId: id, isGroup, msgId, ...change },
        ...(of !== undefined && { of }),
        ...(change.kind === 'edit' && editedAt !== undefined && { seenEdit: editedAt }),
        createdAt: clock.wallTime(),
      },
      signalOf(options),
    )
  }

  async function wish(wish: Wish, options: CallOptions | undefined): Promise<void> {
    await session.execute({ type: 'wish', wish }, signalOf(options))
  }

  function placeOf(message: Message): Pick<Wish, 'log' | 'msgId'> {
    const msgId = storedId(message)
    if (message.isBroadcast) refuse('message', 'no broadcast')
    return { log: logKey(), msgId }
  }

  function logKey(): LogKey {
    return isGroup ? groupKey(id) : directKey(hub.me, id)
  }

  /** Returns a message that is not in the list. */
  function shownMessage(record: MessageRecord, quotes: readonly QuoteRecord[]): Message {
    const { me, session } = hub
    const { logs, cached } = session.state
    const isOfRecord = ({ log, msgId }: Wish) => log === record.log && msgId === record.msgId
    return storedMessage(
      record,
      { kind: kindOf(record.log), conversationId: id },
      {
        me,
        status: statusOf(record, logs.get(record.log), me),
        alteration: alterationOf(parts.alterations(id, kind), record),
        quote: quotes.find(({ msgId }) => msgId === record.replyTo?.msgId),
        wishes: wishesOf(cached.get(wishesKey)).filter(isOfRecord),
      },
    )
  }

  function newestId(): number {
    const loaded = messages.getSnapshot().messages.map((each) => each.id)
    const lasts = parts.logs(id, kind).map(({ last }) => last?.msgId ?? 0)
    return Math.max(0, ...loaded, ...lasts)
  }
}

function checkLimit(limit: unknown, most = 1_000): void {
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > most)
    refuse('limit', `an integer from 1 to ${most}`)
}

function unknownSummary(ref: ConversationRef): ConversationSummary {
  return {
    ...ref,
    title: '',
    avatar: '',
    unread: 0,
    readSeq: 0,
    isPinned: false,
    isMuted: false,
    isWritable: true,
    lastActivity: 0,
    isOnline: false,
    typing: [],
  }
}

/** A number from 1 to 2^53 - 1. */
function newTransactionId({ random }: Clock): number {
  return Math.max(1, Math.floor(random() * 2 ** 26) * 2 ** 27 + Math.floor(random() * 2 ** 27))
}

function storedId(message: Message): number {
  const id: unknown = (message as Message | undefined)?.id
  if (typeof id !== 'number' || id <= 0) refuse('message', 'a message that the server has stored')
  return id as number
}

function unsentKey(key: string): number {
  checkOptionalText('key', key)
  const transactionId = transactionOf(key)
  if (transactionId === undefined)
    throw new ClientError(failureOf('not_found', 'key names no own message'))
  return transactionId
}

/** Ends the waiting for a promise when a signal is aborted. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  let abort: (() => void) | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(new ClientError(failureOf('aborted', 'the signal was aborted')))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    if (abort) signal.removeEventListener('abort', abort)
  }
}
