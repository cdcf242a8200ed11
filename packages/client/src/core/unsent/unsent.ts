import { type Failure, failureOf } from '../../errors.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { bytesOf } from '../link/wire-text.js'
import { directKey, groupKey } from '../../model/log-key.js'
import type { OpenedSession, Part, PartInput } from '../part.js'
import type { LogKey, MessageContent, MessageRecord, UnsentRecord } from '../../model/records.js'
import type { LogAccess, UnsentListener } from '../access.js'
import {
  type AlteringRecord,
  editsSeen,
  isAltering,
  msgIdOf,
  unconditional,
} from './alterations.js'
import { UnsentEntries } from './entries.js'
import { searchChanges } from './search-changes.js'
import { isGone, sendCall, sendOutcomeOf } from './send-outcomes.js'
import { type SendQueue, SendQueues } from './send-queues.js'
import { SentMemory } from './sent-memory.js'
import { Uploads } from './uploads.js'

type SendCommand = Extract<Command, { type: 'send' }>
type AlterCommand = Extract<Command, { type: 'alter' }>

const maxUnsent = 10_000
/** Bytes of UTF-8 of the four texts together; the default of the server. */
const maxTextBytes = 65_536
/** Time after an answer in which the event of the message normally comes. */
const eventWaitMs = 5_000
const editedMeanwhile = 'edited_meanwhile'
const notFound = failureOf('not_found', 'no such unsent message')
const outboxFull = failureOf('outbox_full', `${maxUnsent} messages wait to be sent`, true)
const tooLong = failureOf(
  'invalid_argument',
  `text, attachment, config and ext have more than ${maxTextBytes} bytes`,
)
const isTooLong = ({ content, attachment, config, ext }: MessageContent) =>
  bytesOf(content + attachment + config + ext) > maxTextBytes
/**
 * Returns the end of the time in which the server's memory of a transaction ID is relied on: it has
 * a margin.
 */
const reliedMs = (ttlMs: number) => ttlMs - Math.min(60_000, ttlMs / 10)

/**
 * The messages, edits and recalls that the server has not confirmed. Those of a conversation are
 * sent in order, one at a time, and one without an outcome is repeated before the next.
 * An entry stays until the batch that brings what it has done into the log, so a message is always
 * shown once.
 */
export class Unsent implements Part, UnsentListener {
  readonly #context: CoreContext
  readonly #logs: LogAccess
  readonly #uploads: Uploads
  readonly #queues: SendQueues
  readonly #entries: UnsentEntries
  /**
   * Those that were loaded without a try. Where the store had failed, a client in memory may have sent
   * them, which it could not write.
   */
  readonly #reloaded = new Set<number>()
  readonly #memory = new SentMemory()
  #nextOrder = 1
  #resets = 0
  #isAwaiting = false
  #ttlMs = Infinity

  constructor(context: CoreContext, logs: LogAccess) {
    this.#context = context
    this.#logs = logs
    this.#entries = new UnsentEntries(context)
    this.#uploads = new Uploads(context, {
      uploaded: (id, attachment) => this.#uploaded(id, attachment),
      failed: (id, failure) => this.#fail(id, failure),
    })
    this.#queues = new SendQueues(context, {
      sendable: (id) => this.#sendable(id),
      begin: (queue, entry) => this.#begin(queue, entry),
    })
  }

  start({ unsent }: { readonly unsent: readonly UnsentRecord[] }): void {
    for (const entry of [...unsent].sort((a, b) => a.order - b.order)) {
      this.#nextOrder = Math.max(this.#nextOrder, entry.order + 1)
      // Its call was in flight when the core ended.
      if (entry.state === 'sending') this.#entries.put({ ...entry, state: 'unknown' })
      else this.#entries.load(entry)
      if (entry.triedAt === undefined) this.#reloaded.add(entry.transactionId)
      this.#place(entry)
    }
    for (const { alters } of this.#entries.alterations()) {
      const message = alters.msgId === 0 ? this.#messageOf(alters) : undefined
      if (message && this.#isIdle(message)) this.#putBack(message)
    }
  }

  opened({ transaction_ttl_ms: ttlMs }: OpenedSession): void {
    this.#ttlMs = ttlMs
    this.#uploads.opened()
    if (this.#entries.sent().length > 0) this.#awaitEvents()
    this.#queues.drain()
  }

  /** The history of the server is another one: it may have lost answered messages. */
  reset(): void {
    this.#resets++
    this.#memory.clear()
    for (const entry of this.#entries.sent()) {
      this.#entries.put({ ...entry, state: 'unknown' })
      // It may get another ID.
      for (const each of this.#entries.alterations())
        if (each.alters.of === entry.transactionId) this.#name(each, 0)
    }
    this.#queues.drain()
  }

  /** @returns false: the command belongs to another part */
  command(commandId: string, command: Command): boolean {
    const failure =
      command.type === 'send'
        ? this.#send(command)
        : command.type === 'alter'
          ? this.#alter(command)
          : command.type === 'retry'
            ? this.#retry(command)
            : command.type === 'discard'
              ? this.#discard(command.transactionId)
              : 'other'
    if (failure === 'other') return false
    const context = this.#context
    if (failure) context.emit({ type: 'failure', id: commandId, failure })
    else context.afterCommit(() => context.emit({ type: 'result', id: commandId, value: null }))
    this.#queues.drain()
    return true
  }

  input(input: PartInput): void {
    if (input.type === 'uploadProgress')
      this.#uploads.progress(input.transactionId, input.sentBytes)
    else if (input.type === 'uploaded') this.#uploads.ended(input.transactionId, input.answer)
  }

  stored(message: MessageRecord): void {
    const { log, msgId, senderId, transactionId = 0 } = message
    const entry = senderId === this.#context.me ? this.#entries.get(transactionId) : undefined
    if (entry && !isAltering(entry) && this.#logOf(entry) === log) {
      this.#nameMessage(entry, msgId)
      this.#drop(entry)
    }
    const edits = this.#entries
      .alterationsOf({ msgId })
      .filter(({ alters }) => alters.kind === 'edit')
    if (edits.length === 0) return
    const { done, rebased, own } = editsSeen(edits, message)
    if (own) this.#memory.edited(msgId, own)
    for (const edit of rebased) this.#entries.put(edit)
    for (const edit of done) this.#drop(edit)
  }

  gone(log: LogKey, msgId: number): void {
    this.#dropSent(log, (entry) => msgIdOf(entry) === msgId)
    for (const entry of this.#entries.alterationsOf({ msgId })) this.#drop(entry)
  }

  hidden(log: LogKey, msgId: number): void {
    this.#dropSent(log, (entry) => msgIdOf(entry) <= msgId)
    for (const entry of this.#entries.alterations())
      if (entry.state === 'failed' && this.#logOf(entry) === log && msgIdOf(entry) <= msgId)
        this.#drop(entry)
  }

  #send(command: SendCommand): Failure | undefined {
    const { transactionId, conversationId, isGroup, content, file, replyTo, createdAt } = command
    if (this.#entries.has(transactionId)) return undefined
    if (this.#entries.size >= maxUnsent) return outboxFull
    if (isTooLong(content)) return tooLong
    const entry: UnsentRecord = {
      ...content,
      transactionId,
      conversationId,
      isGroup,
      order: this.#nextOrder++,
      state: file ? 'uploading' : 'queued',
      createdAt,
      ...(file && { file }),
      ...(replyTo && { replyTo }),
    }
    this.#entries.put({ ...entry, triedAtChange: this.#changeOf(entry) })
    this.#place(entry)
    return undefined
  }

  #alter(command: AlterCommand): Failure | undefined {
    const { transactionId, conversationId, isGroup, kind, of, createdAt } = command
    const { text: content = '', seenEdit } = command
    if (this.#entries.has(transactionId)) return undefined
    const message = this.#messageOf(command)
    const msgId = command.msgId || message?.msgId || this.#memory.idOf(of ?? 0)
    if (msgId === 0 && !message) return notFound
    if (this.#entries.size >= maxUnsent) return outboxFull
    const entry: UnsentRecord = {
      ...{ contentType: 0, content, attachment: '', config: '', ext: '' },
      ...{ transactionId, conversationId, isGroup, createdAt },
      order: this.#nextOrder++,
      state: 'queued',
      alters: {
        ...{ kind, msgId, ...(of !== undefined && { of }) },
        ...(seenEdit !== undefined && { seenEdit: this.#memory.lastEdit(msgId, seenEdit) }),
      },
    }
    if (isTooLong(message && kind === 'edit' ? { ...message, content } : entry)) return tooLong
    // The last one counts.
    for (const former of this.#entries.alterationsOf({ msgId, of }))
      if (this.#isIdle(former)) this.#drop(former)
    if (!message || !this.#isIdle(message)) {
      this.#entries.put(entry)
      this.#place(entry)
    } else if (kind === 'recall') this.#drop(message)
    else this.#entries.put({ ...message, content })
    return undefined
  }

  /** Returns the unsent message that an alteration names. */
  #messageOf({ of }: { readonly of?: number }): UnsentRecord | undefined {
    const entry = of === undefined ? undefined : this.#entries.get(of)
    return entry && !isAltering(entry) ? entry : undefined
  }

  /** Puts an entry that does not run. Alterations that wait for an unsent message are made at once. */
  #putBack(entry: UnsentRecord): void {
    // It may have run before.
    const waiting = entry.state === 'unknown' ? [] : this.#entries.waitingFor(entry)
    const isUndecided = entry.failure?.name === 'undecided'
    const isRecalled = waiting.some(({ alters }) => alters.kind === 'recall') && !isUndecided
    const { content } = waiting.findLast(({ alters }) => alters.kind === 'edit') ?? entry
    for (const each of waiting) this.#drop(each)
    if (isRecalled) this.#drop(entry)
    else this.#entries.put({ ...entry, content })
  }

  /** Tests for an entry that is not sent, and not being sent. */
  #isIdle(entry: UnsentRecord): boolean {
    return ['queued', 'uploading', 'failed'].includes(entry.state) && !this.#queues.hasTurn(entry)
  }

  /** A message has its ID, which its alterations wait for. */
  #nameMessage(message: UnsentRecord, msgId: number): void {
    if (msgId === 0) return
    for (const entry of this.#entries.waitingFor(message)) this.#name(entry, msgId)
    this.#memory.sent(message.transactionId, msgId)
  }

  #name(entry: AlteringRecord, msgId: number): void {
    this.#entries.put({ ...entry, alters: { ...entry.alters, msgId } })
  }

  #retry({ transactionId, anyway }: Extract<Command, { type: 'retry' }>): Failure | undefined {
    const entry = this.#entries.get(transactionId)
    if (!entry) return notFound
    if (entry.state !== 'failed') return undefined
    const { failure, triedAt, triedAtChange, ...untried } = entry
    const isUndecided = failure?.name === 'undecided'
    const isConflict = failure?.name === editedMeanwhile
    if ((isUndecided || isConflict) && !anyway) return failure as Failure
    // The message that may have been stored must not be taken for this one.
    const id = isUndecided ? Math.floor(this.#context.random() * (2 ** 53 - 1)) + 1 : transactionId
    if (isUndecided) this.#drop(entry)
    const state = entry.file ? 'uploading' : 'queued'
    const again: UnsentRecord = { ...untried, transactionId: id, order: this.#nextOrder++, state }
    this.#entries.put({
      ...again,
      triedAtChange: this.#changeOf(again),
      ...(again.alters && isConflict && { alters: unconditional(again.alters) }),
    })
    this.#place(again)
    return undefined
  }

  #discard(transactionId: number): Failure | undefined {
    const entry = this.#entries.get(transactionId)
    if (!entry || entry.state === 'sent') return notFound
    if (this.#queues.hasTurn(entry))
      return failureOf('not_found', 'the message is being sent', true)
    this.#drop(entry)
    return undefined
  }

  /** Puts an entry at the end of its queue. */
  #place(entry: UnsentRecord): void {
    this.#queues.add(entry)
    if (entry.state === 'uploading') this.#uploads.add(entry)
  }

  #sendable(transactionId: number): UnsentRecord | undefined {
    const entry = this.#entries.get(transactionId)
    if (entry?.state !== 'queued' && entry?.state !== 'unknown') return undefined
    return isAltering(entry) && !this.#isTurnOf(entry) ? undefined : entry
  }

  /** The message has its ID, and the log has the edits before this one. */
  #isTurnOf({ alters: { msgId } }: AlteringRecord): boolean {
    return (
      msgId > 0 && this.#entries.alterationsOf({ msgId }).every(({ state }) => state !== 'sent')
    )
  }

  #begin(queue: SendQueue, entry: UnsentRecord): void {
    if (this.#isForgotten(entry)) this.#search(queue, entry)
    else this.#call(queue, entry)
  }

  /** True: the server may have the message, and not know its transaction ID any more. */
  #isForgotten({ transactionId, triedAt, createdAt, alters }: UnsentRecord): boolean {
    // A repeated recall finds nothing, and an edit of an edited message is refused.
    if (alters) return false
    const since = triedAt ?? (this.#reloaded.has(transactionId) ? createdAt : Infinity)
    return this.#context.serverTime >= since + reliedMs(this.#ttlMs)
  }

  #changeOf(entry: UnsentRecord): number {
    return this.#logs.get(this.#logOf(entry))?.change ?? 0
  }

  #call(queue: SendQueue, entry: UnsentRecord): void {
    const { transactionId } = entry
    const tried: UnsentRecord = {
      ...entry,
      state: entry.state === 'unknown' ? 'unknown' : 'sending',
      // The number falls only when the history of the server was replaced.
      triedAtChange: Math.min(entry.triedAtChange ?? Infinity, this.#changeOf(entry)),
      triedAt: entry.triedAt ?? this.#context.earliestServerTime,
    }
    this.#entries.put(tried)
    const { op, data } = sendCall(entry, this.#context.me)
    const resets = this.#resets
    this.#context.afterCommit(() => {
      if (queue.current !== transactionId) return
      // Another history of the server: answered messages before this one are sent again first.
      if (resets !== this.#resets) {
        const { alters } = this.#entries.get(transactionId) as UnsentRecord
        this.#putBack({ ...entry, ...(alters && { alters }) })
        this.#queues.release(queue, transactionId)
        return
      }
      // The machine may have slept during the commit.
      if (this.#isForgotten(entry)) this.#search(queue, entry)
      else this.#context.call(op, data, (outcome) => this.#answered(queue, entry, outcome))
    })
  }

  /** @param before the entry before this try */
  #answered(queue: SendQueue, before: UnsentRecord, outcome: CallOutcome): void {
    const { transactionId } = before
    const entry = this.#entries.get(transactionId)
    if (!entry || queue.current !== transactionId) return
    const result = sendOutcomeOf(outcome)
    if (result.type === 'stored') this.#take(entry, result.msgId)
    else if (result.type === 'refused') this.#fail(transactionId, result.failure)
    else {
      if (result.type === 'unknown') this.#entries.put({ ...entry, state: 'unknown' })
      else this.#putBack(before)
      if (this.#context.isOpen) this.#queues.pause(queue, result.failure)
    }
    this.#queues.release(queue, transactionId)
  }

  /** The time in which the server knows the transaction ID is over: only the log shows the outcome. */
  #search(queue: SendQueue, entry: UnsentRecord): void {
    const { transactionId } = entry
    searchChanges(this.#context, {
      log: this.#logOf(entry),
      transactionId,
      afterChange: entry.triedAtChange ?? 0,
      isWanted: () => queue.current === transactionId,
      done: (result) => {
        if (typeof result === 'number') this.#take(entry, result)
        else if (result === 'missing' && this.#reloaded.delete(transactionId)) {
          this.#call(queue, entry)
          return
        } else if (result === 'missing')
          this.#fail(transactionId, failureOf('undecided', 'the message may have been sent'))
        else {
          // A try that has become a search has not run.
          if (this.#reloaded.has(transactionId)) this.#putBack(entry)
          else this.#entries.put({ ...entry, state: 'unknown' })
          if (this.#context.isOpen) this.#queues.pause(queue, result)
        }
        this.#queues.release(queue, transactionId)
      },
    })
  }

  /** Keeps an answered entry until its message comes, unless the log is past it. */
  #take(entry: UnsentRecord, msgId: number): void {
    const key = this.#logOf(entry)
    const log = this.#logs.get(key)
    const passed = Math.max(log?.last?.msgId ?? 0, log?.hiddenMsgId ?? 0)
    this.#nameMessage(entry, msgId)
    if (msgId > 0 && msgId <= passed) {
      this.#drop(entry)
      return
    }
    this.#entries.put({ ...entry, state: 'sent', msgId })
    // No event of such a group comes.
    if (log?.muteMode === 2) this.#askFor(key)
    else this.#awaitEvents()
  }

  #awaitEvents(): void {
    if (this.#isAwaiting) return
    this.#isAwaiting = true
    this.#context.after('unsent.events', eventWaitMs, () => {
      this.#isAwaiting = false
      for (const log of new Set(this.#entries.sent().map((entry) => this.#logOf(entry))))
        this.#askFor(log)
    })
  }

  /** Requests the log; what it does not contain then was recalled, hidden, or is in a hole. */
  #askFor(log: LogKey): void {
    const entries = new Set(this.#entries.sent())
    const resets = this.#resets
    this.#logs.needHead(log, () => {
      if (resets === this.#resets) this.#dropSent(log, (entry) => entries.has(entry))
    })
  }

  #dropSent(log: LogKey, isPassed: (entry: UnsentRecord) => boolean): void {
    for (const entry of this.#entries.sent())
      if (this.#logOf(entry) === log && isPassed(entry)) this.#drop(entry)
  }

  #uploaded(transactionId: number, attachment: string): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    const { file, ...content } = entry
    this.#entries.put({ ...content, attachment, state: 'queued' })
    this.#queues.drain()
  }

  #fail(transactionId: number, { code, name, message, retry }: Failure): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    const failure = { code, name, message, retry }
    const failed: UnsentRecord = { ...entry, state: 'failed', failure }
    if (!isAltering(entry)) this.#putBack(failed)
    else if (isGone(failure) || this.#entries.alterationsOf(entry.alters).at(-1) !== entry)
      // Nothing is left to alter, or a later alteration counts.
      this.#drop(entry)
    else this.#entries.put(failed)
  }

  #drop(entry: UnsentRecord): void {
    const { transactionId } = entry
    this.#entries.delete(entry)
    this.#reloaded.delete(transactionId)
    this.#uploads.cancel(transactionId)
    for (const each of this.#entries.waitingFor(entry)) this.#drop(each)
    this.#queues.remove(entry)
    this.#queues.drain()
  }

  #logOf({ conversationId: id, isGroup }: UnsentRecord): LogKey {
    return isGroup ? groupKey(id) : directKey(this.#context.me, id)
  }
}
