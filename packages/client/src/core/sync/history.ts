import { type Failure, badAnswer, failureOf, notConnected } from '../../errors.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Command, HistoryResult } from '../inputs.js'
import { wireLog } from '../../model/log-key.js'
import { foldHistory } from '../logs/fold-answers.js'
import type { Logs } from '../logs/logs.js'
import { historyPageOf } from '../logs/wire.js'
import type { Part } from '../part.js'
import { coveredFrom } from '../ranges.js'
import type { LogKey, LogRecord } from '../../model/records.js'

type HistoryCommand = Extract<Command, { readonly type: 'history' }>

/** The outcome of reading history: the position from which on everything is in the batch. */
export type HistoryOutcome = HistoryResult | { readonly failure: Failure }

interface WaitingHistoryRead {
  readonly beforeSeq: number
  readonly limit: number
  readonly done: (outcome: HistoryOutcome) => void
}

/** Reads of one log that wait for the one in flight. */
const maxWaiting = 100
const maxLimit = 100

/**
 * Fills holes of logs with message.history, one call per log at a time. A page may be older than
 * changes that came while it was read; these are laid over it.
 */
export class History implements Part {
  readonly #context: CoreContext
  readonly #logs: Logs
  readonly #needHead: (key: LogKey, done: () => void) => void
  readonly #waiting = new Map<LogKey, WaitingHistoryRead[]>()
  readonly #commands = new Set<string>()

  constructor(context: CoreContext, logs: Logs, needHead: (key: LogKey, done: () => void) => void) {
    this.#context = context
    this.#logs = logs
    this.#needHead = needHead
  }

  command(id: string, command: Command): boolean {
    if (command.type !== 'history') return false
    this.#commands.add(id)
    const { log, beforeSeq, limit } = command
    const finish = (outcome: HistoryOutcome) => this.#finish(id, outcome)
    if (this.#logs.get(log) || !this.#mayExist()) this.read(log, { beforeSeq, limit }, finish)
    else if (!this.#context.isOpen) finish({ failure: notConnected })
    else this.#needHead(log, () => this.read(log, { beforeSeq, limit }, finish))
    return true
  }

  cancel(id: string): void {
    this.#commands.delete(id)
  }

  /** Ends what waits for a head, which comes only with the next session. */
  closed(): void {
    for (const id of this.#commands) this.#finish(id, { failure: notConnected })
  }

  /**
   * Fills the first hole below a position, unless there is enough above it.
   * @param done runs when what was read is in the batch
   */
  read(
    key: LogKey,
    { beforeSeq, limit }: Pick<HistoryCommand, 'beforeSeq' | 'limit'>,
    done: (outcome: HistoryOutcome) => void,
  ): void {
    const waiting = this.#waiting.get(key)
    const entry = { beforeSeq, limit, done }
    if (waiting && waiting.length >= maxWaiting)
      done({ failure: failureOf('too_many_calls', `the history of ${key} is read already`, true) })
    else if (waiting) waiting.push(entry)
    else {
      this.#waiting.set(key, [entry])
      this.#next(key)
    }
  }

  /** Answers reads that need no call, until one does. */
  #next(key: LogKey): void {
    const waiting = this.#waiting.get(key) ?? []
    for (let entry = waiting[0]; entry; entry = waiting[0]) {
      const record = this.#logs.get(key)
      const before = Math.min(entry.beforeSeq, (record?.seq ?? 0) + 1)
      const from = record ? Math.max(1, coveredFrom(record.ranges, before)) : 1
      if (from > 1 && before - from < entry.limit) {
        this.#call(key, { beforeSeq: from, limit: entry.limit })
        return
      }
      waiting.shift()
      entry.done({ fromSeq: from })
    }
    this.#waiting.delete(key)
  }

  #call(key: LogKey, page: Pick<HistoryCommand, 'beforeSeq' | 'limit'>): void {
    const { beforeSeq } = page
    const watch = this.#logs.watch(key)
    const limit = Math.min(Math.max(1, page.limit), maxLimit)
    const data = { log: wireLog(key), before_seq: beforeSeq, limit }
    this.#context.call('message.history', data, (outcome) => {
      this.#logs.unwatch(key, watch)
      // The page may be too old for a log that was emptied while it was read.
      if (watch.isVoid) {
        this.#next(key)
        return
      }
      const answer = outcome.type === 'answer' ? outcome.answer.data : undefined
      const found = answer === undefined ? undefined : historyPageOf(key, answer)
      // A page that answers no position of the hole would be requested again for ever.
      if (!found || found.fromSeq >= beforeSeq) {
        this.#fail(key, historyFailure(outcome))
        return
      }
      this.#logs.fold(key, (fold) => foldHistory(fold, found, watch.altered))
      this.#logs.quotes.take(key, found.quotes, watch.altered)
      const entry = this.#waiting.get(key)?.shift()
      const { ranges } = this.#logs.get(key) as LogRecord
      entry?.done({ fromSeq: Math.max(1, coveredFrom(ranges, beforeSeq)) })
      this.#next(key)
    })
  }

  #fail(key: LogKey, failure: Failure): void {
    const waiting = this.#waiting.get(key) ?? []
    this.#waiting.delete(key)
    for (const { done } of waiting) done({ failure })
  }

  /** The list of logs is not complete, so a log that the client does not have may be there. */
  #mayExist(): boolean {
    const { pos, listCursor } = this.#context.batch.meta
    return pos === '' || listCursor !== ''
  }

  #finish(id: string, outcome: HistoryOutcome): void {
    this.#context.afterCommit(() => {
      if (!this.#commands.delete(id)) return
      if ('failure' in outcome)
        this.#context.emit({ type: 'failure', id, failure: outcome.failure })
      else this.#context.emit({ type: 'result', id, value: outcome })
    })
  }
}

function historyFailure(outcome: CallOutcome): Failure {
  if (outcome.type === 'failure') return outcome.failure
  return outcome.type === 'lost' ? notConnected : badAnswer('message.history')
}
