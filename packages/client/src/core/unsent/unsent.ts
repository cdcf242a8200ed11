import { failureOf } from '../../errors.js'
import { backOffMs } from '../back-off.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Command, Failure } from '../inputs.js'
import { directKey, groupKey, wireLog } from '../log-key.js'
import { hasRun, isRepeated, refusalOf } from '../outcomes.js'
import type { OpenedSession, Part, PartInput } from '../part.js'
import type { LogKey, MessageRecord, UnsentRecord } from '../records.js'
import type { LogAccess, UnsentListener } from '../seams.js'
import { checkSend } from './check-send.js'
import { Lane } from './lane.js'
import { searchChanges } from './search-changes.js'
import { Uploads } from './uploads.js'

type SendCommand = Extract<Command, { type: 'send' }>

const maxUnsent = 10_000
/** Lanes that wait for an answer at once; other calls of the connection go between. */
const maxBusyLanes = 6
/** Time after an answer in which the event of the message normally comes. */
const eventWaitMs = 5_000
/** Returns the end of the time in which the server's memory of a transaction ID is relied on: it has a margin. */
const reliedMs = (ttlMs: number) => ttlMs - Math.min(60_000, ttlMs / 10)
const maxPauseMs = 600_000

/**
 * The messages that the server has not confirmed. Each conversation is a lane: its messages are
 * sent in order, one at a time, and a message without an outcome is repeated before the next one.
 * An entry stays until the batch that brings its message into the log, so the message is always
 * shown once.
 */
export class Unsent implements Part, UnsentListener {
  readonly #context: CoreContext
  readonly #logs: LogAccess
  readonly #uploads: Uploads
  readonly #entries = new Map<number, UnsentRecord>()
  readonly #lanes = new Map<string, Lane>()
  /** Lanes that can send, in the order of their turns. */
  readonly #ready = new Set<Lane>()
  /** Answered entries that wait for their message, with its ID. */
  readonly #sent = new Map<number, number>()
  #nextOrder = 1
  #busyLanes = 0
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
  }

  start({ unsent }: { readonly unsent: readonly UnsentRecord[] }): void {
    for (const entry of unsent.toSorted((a, b) => a.order - b.order)) {
      this.#nextOrder = Math.max(this.#nextOrder, entry.order + 1)
      // Its call was in flight when the core ended.
      if (entry.state === 'sending') this.#put({ ...entry, state: 'unknown' })
      else this.#entries.set(entry.transactionId, entry)
      this.#place(entry.transactionId)
    }
  }

  opened({ transaction_ttl_ms: ttlMs }: OpenedSession): void {
    this.#ttlMs = ttlMs
    this.#uploads.opened()
    if (this.#sent.size > 0) this.#awaitEvents()
    this.#drain()
  }

  /** The history of the server is another one: it may have lost answered messages. */
  reset(): void {
    this.#resets++
    for (const id of this.#sent.keys()) {
      const entry = this.#entries.get(id)
      if (entry) this.#put({ ...entry, state: 'unknown' })
      this.#sent.delete(id)
      this.#place(id)
    }
    this.#drain()
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
    this.#drain()
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
    this.#dropSent(log, (sentId) => sentId === msgId)
  }

  hidden(log: LogKey, msgId: number): void {
    this.#dropSent(log, (sentId) => sentId <= msgId)
  }

  dropped(log: LogKey): void {
    this.#dropSent(log, () => true)
  }

  #send(command: SendCommand): Failure | undefined {
    const { transactionId, conversationId, isGroup, content, file, createdAt } = command
    if (this.#entries.has(transactionId)) return undefined
    if (this.#entries.size >= maxUnsent)
      return failureOf('outbox_full', `more than ${maxUnsent} messages wait to be sent`, true)
    const failure = checkSend(command)
    if (failure) return failure
    this.#put({
      ...content,
      transactionId,
      conversationId,
      isGroup,
      order: this.#nextOrder++,
      state: file ? 'uploading' : 'queued',
      createdAt,
      ...(file && { file }),
    })
    this.#place(transactionId)
    return undefined
  }

  #retry({ transactionId, anyway }: Extract<Command, { type: 'retry' }>): Failure | undefined {
    const entry = this.#entries.get(transactionId)
    if (!entry) return failureOf('not_found', 'no such unsent message')
    if (entry.state !== 'failed') return undefined
    const { failure, triedAt, triedAtChange, ...untried } = entry
    const isUndecided = failure?.name === 'undecided'
    if (isUndecided && !anyway) return failure
    // The message that may have been stored must not be taken for this one.
    const id = isUndecided ? Math.floor(this.#context.random() * (2 ** 53 - 1)) + 1 : transactionId
    if (isUndecided) this.#drop(entry)
    const state = entry.file ? 'uploading' : 'queued'
    this.#put({ ...untried, transactionId: id, order: this.#nextOrder++, state })
    this.#place(id)
    return undefined
  }

  #discard(transactionId: number): Failure | undefined {
    const entry = this.#entries.get(transactionId)
    if (!entry) return failureOf('not_found', 'no such unsent message')
    if (entry.state === 'sent') return failureOf('not_found', 'the message was sent')
    if (this.#laneOf(entry).current === transactionId)
      return failureOf('not_found', 'the message is being sent', true)
    this.#drop(entry)
    return undefined
  }

  /** Gives an entry to what happens with it next, by its state. */
  #place(transactionId: number): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    if (entry.state === 'uploading') this.#uploads.add(entry)
    else if (entry.state === 'sent') this.#sent.set(transactionId, entry.msgId ?? 0)
    else if (entry.state !== 'failed') {
      const lane = this.#laneOf(entry)
      lane.add(transactionId, (id) => this.#entries.get(id)?.order ?? 0)
      this.#offer(lane)
    }
  }

  #offer(lane: Lane): void {
    if (lane.canSend) this.#ready.add(lane)
    else if (lane.isUnused) this.#lanes.delete(lane.key)
  }

  #drain(): void {
    for (const lane of this.#ready) {
      if (!this.#context.isOpen || this.#busyLanes >= maxBusyLanes) return
      this.#ready.delete(lane)
      const entry = this.#entries.get(lane.first)
      if (!entry) continue
      lane.current = entry.transactionId
      this.#busyLanes++
      if (this.#isForgotten(entry)) this.#search(lane, entry)
      else this.#call(lane, entry)
    }
  }

  /** True: the server may not know the transaction ID of the first try any more. */
  #isForgotten({ triedAt = Infinity }: UnsentRecord): boolean {
    return this.#context.serverTime >= triedAt + reliedMs(this.#ttlMs)
  }

  #call(lane: Lane, entry: UnsentRecord): void {
    const { transactionId } = entry
    const { change = 0 } = this.#logs.get(this.#logOf(entry)) ?? {}
    const tried: UnsentRecord = {
      ...entry,
      state: entry.state === 'unknown' ? 'unknown' : 'sending',
      // The number falls only when the history of the server was replaced.
      triedAtChange: Math.min(entry.triedAtChange ?? Infinity, change),
      triedAt: entry.triedAt ?? this.#context.serverTime,
    }
    this.#put(tried)
    const body = sendBody(entry, this.#context.me)
    this.#context.afterCommit(() => {
      if (lane.current !== transactionId) return
      // The machine may have slept during the commit.
      if (this.#isForgotten(entry)) this.#search(lane, entry)
      else
        this.#context.call('message.send', body, (outcome) => this.#answered(lane, entry, outcome))
    })
  }

  /** @param before the entry before this try */
  #answered(lane: Lane, before: UnsentRecord, outcome: CallOutcome): void {
    const { transactionId } = before
    const entry = this.#entries.get(transactionId)
    if (!entry || lane.current !== transactionId) return
    const failure = refusalOf(outcome)
    if (outcome.type === 'answer' && !failure) {
      const [msgId] = (outcome.answer.msg_ids as number[] | undefined) ?? []
      this.#take(entry, Number(msgId) || 0)
    } else if (failure && !isRepeated(failure)) this.#fail(transactionId, failure)
    else {
      this.#put(hasRun(outcome, failure) ? { ...entry, state: 'unknown' } : before)
      if (this.#context.isOpen) this.#pause(lane, failure?.retryAfterMs)
    }
    this.#release(lane, transactionId)
  }

  /** The time in which the server knows the transaction ID is over: only the log can tell. */
  #search(lane: Lane, entry: UnsentRecord): void {
    const { transactionId } = entry
    searchChanges(this.#context, {
      log: wireLog(this.#logOf(entry)),
      transactionId,
      afterChange: entry.triedAtChange ?? 0,
      isWanted: () => lane.current === transactionId,
      done: (result) => {
        if (lane.current !== transactionId) return
        if (typeof result === 'number') this.#take(entry, result)
        else if (result === 'missing')
          this.#fail(
            transactionId,
            failureOf('undecided', 'the message may have been sent; only the user can decide'),
          )
        else {
          this.#put({ ...entry, state: 'unknown' })
          if (this.#context.isOpen) this.#pause(lane, result?.retryAfterMs)
        }
        this.#release(lane, transactionId)
      },
    })
  }

  /** Keeps an answered entry until its message comes, unless the log is past it. */
  #take(entry: UnsentRecord, msgId: number): void {
    const key = this.#logOf(entry)
    const log = this.#logs.get(key)
    const passed = Math.max(log?.last?.msgId ?? 0, log?.hiddenMsgId ?? 0)
    this.#laneOf(entry).remove(entry.transactionId)
    if (msgId > 0 && msgId <= passed) {
      this.#drop(entry)
      return
    }
    this.#put({ ...entry, state: 'sent', msgId })
    this.#place(entry.transactionId)
    // No event of such a group comes.
    if (log?.muteMode === 2) this.#askFor(key)
    else this.#awaitEvents()
  }

  #awaitEvents(): void {
    if (this.#isAwaiting) return
    this.#isAwaiting = true
    this.#context.after('unsent.events', eventWaitMs, () => {
      this.#isAwaiting = false
      const logs = new Set<LogKey>()
      for (const id of this.#sent.keys()) {
        const entry = this.#entries.get(id)
        if (entry) logs.add(this.#logOf(entry))
      }
      for (const log of logs) this.#askFor(log)
    })
  }

  /** Requests the log; what it does not bring then was recalled, hidden, or is in a hole. */
  #askFor(log: LogKey): void {
    const ids = new Set(this.#sent.keys())
    const resets = this.#resets
    this.#logs.needHead(log, () => {
      if (resets === this.#resets) this.#dropSent(log, (_, id) => ids.has(id))
    })
  }

  #dropSent(log: LogKey, isPassed: (msgId: number, transactionId: number) => boolean): void {
    for (const [id, msgId] of this.#sent) {
      const entry = this.#entries.get(id)
      if (entry && isPassed(msgId, id) && this.#logOf(entry) === log) this.#drop(entry)
    }
  }

  #uploaded(transactionId: number, attachment: string): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    const { file, ...content } = entry
    this.#put({ ...content, attachment, state: 'queued' })
    this.#place(transactionId)
    this.#drain()
  }

  #fail(transactionId: number, { code, name, message, retry }: Failure): void {
    const entry = this.#entries.get(transactionId)
    if (!entry) return
    this.#put({ ...entry, state: 'failed', failure: { code, name, message, retry } })
    this.#laneOf(entry).remove(transactionId)
  }

  #pause(lane: Lane, retryAfterMs: number | undefined): void {
    lane.isPaused = true
    const ms = Math.min(retryAfterMs ?? backOffMs(this.#context, lane.failures++), maxPauseMs)
    this.#context.after(`unsent ${lane.key}`, ms, () => {
      lane.isPaused = false
      this.#offer(lane)
      this.#drain()
    })
  }

  /** Ends the turn of an entry in its lane. */
  #release(lane: Lane, transactionId: number): void {
    if (lane.current !== transactionId) return
    lane.current = 0
    if (!lane.isPaused) lane.failures = 0
    this.#busyLanes--
    this.#offer(lane)
    this.#drain()
  }

  #put(entry: UnsentRecord): void {
    this.#entries.set(entry.transactionId, entry)
    this.#context.batch.putUnsent(entry)
  }

  #drop(entry: UnsentRecord): void {
    const { transactionId } = entry
    const lane = this.#laneOf(entry)
    this.#entries.delete(transactionId)
    this.#context.batch.dropUnsent(transactionId)
    this.#sent.delete(transactionId)
    this.#uploads.cancel(transactionId)
    lane.remove(transactionId)
    this.#release(lane, transactionId)
    this.#offer(lane)
  }

  #laneOf({ conversationId, isGroup }: UnsentRecord): Lane {
    const key = `${isGroup ? 'g' : 'd'}${conversationId}`
    const lane = this.#lanes.get(key) ?? new Lane(key)
    this.#lanes.set(key, lane)
    return lane
  }

  #logOf({ conversationId: id, isGroup }: UnsentRecord): LogKey {
    return isGroup ? groupKey(id) : directKey(this.#context.me, id)
  }
}

/** The call that sends an entry. The sender is named for sessions of Admin tokens. */
function sendBody(entry: UnsentRecord, me: number) {
  return {
    content_type: entry.contentType,
    type: entry.isGroup ? 2 : 1,
    targets: [entry.conversationId],
    content: entry.content,
    attachment: entry.attachment,
    config: entry.config,
    ext: entry.ext,
    transaction_id: entry.transactionId,
    from_user_id: me,
  }
}
