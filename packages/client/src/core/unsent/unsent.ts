import { type Failure, failureOf } from '../../errors.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { bytesOf } from '../link/wire-text.js'
import { directKey, groupKey } from '../../model/log-key.js'
import type { OpenedSession, Part, PartInput } from '../part.js'
import type { LogKey, MessageRecord, UnsentRecord } from '../../model/records.js'
import type { LogAccess, UnsentListener } from '../access.js'
import { searchChanges } from './search-changes.js'
import { sendBody, sendOutcomeOf } from './send-outcomes.js'
import { type SendQueue, SendQueues } from './send-queues.js'
import { Uploads } from './uploads.js'

type SendCommand = Extract<Command, { type: 'send' }>

const maxUnsent = 10_000
/** Bytes of UTF-8 of the four texts together; the default of the server. */
const maxTextBytes = 65_536
/** Time after an answer in which the event of the message normally comes. */
const eventWaitMs = 5_000
const notFound = failureOf('not_found', 'no such unsent message')
/**
 * Returns the end of the time in which the server's memory of a transaction ID is relied on: it has
 * a margin.
 */
const reliedMs = (ttlMs: number) => ttlMs - Math.min(60_000, ttlMs / 10)

/**
 * The messages that the server has not confirmed. Those of a conversation are sent in order, one at
 * a time, and a message without an outcome is repeated before the next one.
 * An entry stays until the batch that brings its message into the log, so the message is always
 * shown once.
 */
export class Unsent implements Part, UnsentListener {
  readonly #context: CoreContext
  readonly #logs: LogAccess
  readonly #uploads: Uploads
  readonly #queues: SendQueues
  readonly #entries = new Map<number, UnsentRecord>()
  /**
   * Those that were loaded without a try. Where the store had failed, a client in memory may have sent
   * them, which it could not write.
   */
  readonly #reloaded = new Set<number>()
  #nextOrder = 1
  #resets = 0
  #isAwaiting = false
  #ttlMs = Infinity

  constructor(context: CoreContext, logs: LogAccess) {
    this.#context = context
    this.#logs = logs
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
      if (entry.state === 'sending') this.#put({ ...entry, state: 'unknown' })
      else this.#entries.set(entry.transactionId, entry)
      if (entry.triedAt === undefined) this.#reloaded.add(entry.transactionId)
      this.#place(entry)
    }
  }

  opened({ transaction_ttl_ms: ttlMs }: OpenedSession): void {
    this.#ttlMs = ttlMs
    this.#uploads.opened()
    if (this.#sent().length > 0) this.#awaitEvents()
    this.#queues.drain()
  }

  /** The history of the server is another one: it may have lost answered messages. */
  reset(): void {
    this.#resets++
    for (const entry of this.#sent()) this.#put({ ...entry, state: 'unknown' })
    this.#queues.drain()
  }

  /** @returns false: the command belongs to another part */
  command(commandId: string, command: Command): boolean {
    const failure =
      command.type === 'send'
        ? this.#send(command)
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

  stored({ log, transactionId }: MessageRecord): void {
    const entry = transactionId === undefined ? undefined : this.#entries.get(transactionId)
    if (entry && this.#logOf(entry) === log) this.#drop(entry)
  }

  gone(log: LogKey, msgId: number): void {
    this.#dropSent(log, (entry) => entry.msgId === msgId)
  }

  hidden(log: LogKey, msgId: number): void {
    this.#dropSent(log, (entry) => (entry.msgId ?? 0) <= msgId)
  }

  #send(command: SendCommand): Failure | undefined {
    const { transactionId, conversationId, isGroup, content, file, createdAt } = command
    if (this.#entries.has(transactionId)) return undefined
    if (this.#entries.size >= maxUnsent)
      return failureOf('outbox_full', `${maxUnsent} messages wait to be sent`, true)
    const { content: text, attachment, config, ext } = content
    if (bytesOf(text + attachment + config + ext) > maxTextBytes)
      return failureOf(
        'invalid_argument',
        `text, attachment, config and ext have more than ${maxTextBytes} bytes`,
      )
    const entry: UnsentRecord = {
      ...content,
      transactionId,
      conversationId,
      isGroup,
      order: this.#nextOrder++,
      state: file ? 'uploading' : 'queued',
      createdAt,
      ...(file && { file }),
    }
    this.#put({ ...entry, triedAtChange: this.#changeOf(entry) })
    this.#place(entry)
    return undefined
  }

  #retry({ transactionId, anyway }: Extract<Command, { type: 'retry' }>): Failure | undefined {
    const entry = this.#entries.get(transactionId)
    if (!entry) return notFound
    if (entry.state !== 'failed') return undefined
    const { failure, triedAt, triedAtChange, ...untried } = entry
    const isUndecided = failure?.name === 'undecided'
    if (isUndecided && !anyway) return failure as Failure
    // The message that may have been stored must not be taken for this one.
    const id = isUndecided ? Math.floor(this.#context.random() * (2 ** 53 - 1)) + 1 : transactionId
    if (isUndecided) this.#drop(entry)
    const state = entry.file ? 'uploading' : 'queued'
    const again: UnsentRecord = { ...untried, transactionId: id, order: this.#nextOrder++, state }
    this.#put({ ...again, triedAtChange: this.#changeOf(again) })
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
    return entry?.state === 'queued' || entry?.state === 'unknown' ? entry : undefined
  }

  #begin(queue: SendQueue, entry: UnsentRecord): void {
    if (this.#isForgotten(entry)) this.#search(queue, entry)
    else this.#call(queue, entry)
  }

  /** True: the server may have the message, and not know its transaction ID any more. */
  #isForgotten({ transactionId, triedAt, createdAt }: UnsentRecord): boolean {
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
    this.#put(tried)
    const body = sendBody(entry, this.#context.me)
    const resets = this.#resets
    this.#context.afterCommit(() => {
      if (queue.current !== transactionId) return
      // Another history of the server: answered messages before this one are sent again first.
      if (resets !== this.#resets) {
        this.#put(entry)
        this.#queues.release(queue, transactionId)
        return
      }
      // The machine may have slept during the commit.
      if (this.#isForgotten(entry)) this.#search(queue, entry)
      else
        this.#context.call('message.send', body, (outcome) => this.#answered(queue, entry, outcome))
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
      this.#put(result.type === 'unknown' ? { ...entry, state: 'unknown' } : before)
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
          this.#put(this.#reloaded.has(transactionId) ? entry : { ...entry, state: 'unknown' })
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
    if (msgId > 0 && msgId <= passed) {
      this.#drop(entry)
      return
    }
    this.#put({ ...entry, state: 'sent', msgId })
    // No event of such a group comes.
    if (log?.muteMode === 2) this.#askFor(key)
    else this.#awaitEvents()
  }

  #awaitEvents(): void {
    if (this.#isAwaiting) return
    this.#isAwaiting = true
    this.#context.after('unsent.events', eventWaitMs, () => {
      this.#isAwaiting = false
      for (const log of new Set(this.#sent().map((entry) => this.#logOf(entry)))) this.#askFor(log)
    })
  }

  /** Requests the log; what it does not contain then was recalled, hidden, or is in a hole. */
  #askFor(log: LogKey): void {
    const entries = new Set(this.#sent())
    const resets = this.#resets
    this.#logs.needHead(log, () => {
      if (resets === this.#resets) this.#dropSent(log, (entry) => entries.has(entry))
    })
  }

  /** Returns the answered entries that wait for their message. */
  #sent(): readonly UnsentRecord[] {
    return [...this.#entries.values()].filter(({ state }) => state === 'sent')
  }

  #dropSent(log: LogKey, isPassed: (entry: UnsentRecord) => boolean): void {
    for (const entry of this.#sent())
      if (this.#logOf(entry) === log && isPassed(entry)) this.#drop(entry)
  }

  #uploaded(transactionId: number, attachment: string): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    const { file, ...content } = entry
    this.#put({ ...content, attachment, state: 'queued' })
    this.#queues.drain()
  }

  #fail(transactionId: number, { code, name, message, retry }: Failure): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    this.#put({ ...entry, state: 'failed', failure: { code, name, message, retry } })
  }

  #put(entry: UnsentRecord): void {
    this.#entries.set(entry.transactionId, entry)
    this.#context.batch.putUnsent(entry)
  }

  #drop(entry: UnsentRecord): void {
    const { transactionId } = entry
    this.#entries.delete(transactionId)
    this.#reloaded.delete(transactionId)
    this.#context.batch.dropUnsent(transactionId)
    this.#uploads.cancel(transactionId)
    this.#queues.remove(entry)
  }

  #logOf({ conversationId: id, isGroup }: UnsentRecord): LogKey {
    return isGroup ? groupKey(id) : directKey(this.#context.me, id)
  }
}
