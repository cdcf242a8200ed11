import { AppError, alterationKind, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { minuteMs, type Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { systemUserId } from '../../users/system-user.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { LoggedMessage, MessageStore } from '../log/message-store.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import { requireSize } from '../model/message-content.js'
import { changedFields, fieldsOf } from '../model/message-fields.js'
import {
  appendChunk,
  type Chunk,
  type Stream,
  type StreamKey,
  streamState,
} from '../streams/stream-model.js'
import { streamOf, type StreamStore } from '../streams/stream-store.js'
import { refusalOf } from '../streams/stream-refusal.js'
import type { MessageAlterations } from './message-alterations.js'
import { editInstant } from './message-edit.js'

export interface StreamEndsOptions {
  readonly database: Database
  readonly store: Pick<MessageStore, 'find' | 'edit' | 'setFields'>
  readonly streams: StreamStore
  readonly conversationStore: Pick<ConversationStore, 'lockForUpdate'>
  readonly alterations: Pick<MessageAlterations, 'append'>
  readonly outbox: Outbox
  readonly clock: Clock
  readonly maxMessageBytes: number
}

/** The end of a stream as its sender gives it. */
export interface StreamEnd {
  readonly state: 'done' | 'failed' | 'cancelled'
  readonly reason: string | undefined
  /** The whole final text; undefined: the text of the chunks. */
  readonly content: string | undefined
  /** undefined: that of the message */
  readonly ext: string | undefined
  readonly attachment: string | undefined
}

/** An end without a reason and other texts, by the service. */
const interrupted = { state: 'interrupted', reason: undefined, content: undefined } as const

/**
 * The time after an end for which the chunks stay: a page that was read just before it reads the
 * text of the stream.
 */
const sweepAfterMs = minuteMs

/** Ends streams: the final text becomes the content of the message, by an edit (rule E19). */
export class StreamEnds {
  constructor(private readonly options: StreamEndsOptions) {}

  /**
   * Ends a stream with its last chunk. A repeat of an end has no effect.
   * @param sender.chunk the last chunk; where the stream has it already, only the end is new
   * @throws AppError message_not_found, stream_refused, message_too_large
   */
  async end(
    conversation: Conversation,
    messageId: Int64,
    {
      senderId,
      chunk,
      end,
    }: { readonly senderId: Int64; readonly chunk: Chunk; readonly end: StreamEnd },
  ): Promise<Stream> {
    const { database, clock, maxMessageBytes } = this.options
    const key = streamOf(conversation, messageId)
    return database.transaction(async (tx) => {
      const { message, stream } = await this.#lock(tx, conversation, key)
      if (stream?.senderId !== senderId) throw new AppError('message_not_found')
      const limits = { maxBytes: maxMessageBytes, pace: null }
      const outcome = appendChunk(stream, chunk, { now: clock.now(), limits })
      const isEnded = outcome.stream.state !== streamState.open
      if (outcome.kind === 'repeated' && isEnded) return outcome.stream
      if (outcome.kind !== 'taken' && outcome.kind !== 'repeated') throw refusalOf(outcome)
      if (!message) throw new AppError('message_not_found')
      const added = outcome.kind === 'taken' ? chunk.text : ''
      await this.#write(tx, conversation, { message, stream: outcome.stream, added, end })
      return { ...outcome.stream, state: streamState[end.state] }
    })
  }

  /** Ends a stream with the text so far, because its sender is silent or may not write any more. */
  async interrupt(conversation: Conversation, key: StreamKey): Promise<void> {
    await this.options.database.transaction(async (tx) => {
      const { message, stream } = await this.#lock(tx, conversation, key)
      if (stream?.state !== streamState.open) return
      if (!message) return this.options.streams.endOfGone(tx, key)
      const end = { ...interrupted, ext: undefined, attachment: undefined }
      await this.#write(tx, conversation, { message, stream, added: '', end })
    })
  }

  /** Locks in the order of all transactions: the conversation, then the stream. */
  async #lock(
    tx: Tx,
    conversation: Conversation,
    key: StreamKey,
  ): Promise<{ readonly message: LoggedMessage | null; readonly stream: Stream | null }> {
    const { store, streams, conversationStore } = this.options
    const locked = await conversationStore.lockForUpdate(tx, conversation)
    const message = locked ? await store.find(tx, conversation, key.messageId) : null
    return { message, stream: await streams.lock(tx, key) }
  }

  async #write(
    tx: Tx,
    conversation: Conversation,
    {
      message,
      stream,
      added,
      end: { state, reason, content, ext = message.ext, attachment = message.attachment },
    }: {
      readonly message: LoggedMessage
      readonly stream: Stream
      readonly added: string
      readonly end: Omit<StreamEnd, 'state'> & {
        readonly state: StreamEnd['state'] | 'interrupted'
      }
    },
  ): Promise<void> {
    const { store, streams, alterations, outbox, clock, maxMessageBytes } = this.options
    const key = streamOf(conversation, message.messageId)
    const now = clock.now()
    const text = content ?? (await streams.text(tx, key)) + added
    // An end without any text leaves what the send gave.
    const texts = { content: text || message.content, config: message.config, ext, attachment }
    // The service ends a stream also where a limit was lowered since.
    if (state !== 'interrupted') requireSize({ ...message, ...texts }, maxMessageBytes)
    const { kind = 'text' } = fieldsOf(message).stream ?? {}
    const ended = { kind, state, ...(reason !== undefined && reason !== '' && { reason }) }
    await store.edit(tx, conversation, message, { ...texts, editedAt: editInstant(message, now) })
    await store.setFields(tx, conversation, [
      { messageId: message.messageId, fields: changedFields(message, { stream: ended }) },
    ])
    await streams.end(tx, key, stream, { state: streamState[state], due: now + sweepAfterMs })
    const change = await alterations.append(tx, conversation, [message], alterationKind.edited)
    const about = {
      appId: conversation.appId,
      payload: {
        actor_id: state === 'interrupted' ? systemUserId : stream.senderId,
        user_ids: conversation.isGroup ? [] : readersOf(conversation),
        conversation: toEventConversation(conversation),
        msg_id: message.messageId,
        seq: message.seq,
      },
    }
    outbox.append(
      tx,
      { ...about, kind: 'message.replaced', change },
      { ...about, kind: 'message.stream_ended' },
    )
  }
}
