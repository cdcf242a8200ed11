import { pairOf } from '../../model/log-key.js'
import { type Alteration, combined, isWhole } from '../../model/message-fields.js'
import type { LogKey, LogRecord } from '../../model/records.js'
import type { StoredState } from '../../ports/store.js'
import type { ReceiptsListener, StreamsListener, UnsentListener } from '../access.js'
import type { CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import type { Part } from '../part.js'
import { covers } from '../ranges.js'
import {
  beginFold,
  emptyLog,
  type Fold,
  type FoldReader,
  forget,
  needHead,
  readLast,
  showRead,
} from './log-fold.js'
import { MemoryRoom } from './memory-room.js'
import { Quotes } from './quotes.js'

/** Parts that follow the logs. */
export interface LogsListeners {
  readonly unsent: UnsentListener
  readonly receipts: ReceiptsListener
  readonly streams: StreamsListener
  /** The server must say the numbers of a log. */
  headNeeded(key: LogKey, wait: Fold['wait']): void
  /** The newest visible message of a log is not known. */
  lastUnknown(key: LogKey): void
  /** Returns the logs that views show. */
  onScreen(): ReadonlySet<LogKey>
}

/** The alterations of messages of one log while something older is read. */
export interface Watch {
  /** By position. */
  readonly altered: Map<number, Alteration>
  /** True: the log was emptied or dropped, so what is read may be too old. */
  isVoid: boolean
}

/** Changes, and everything else, that happened to a log last. */
type Moves = { readonly [kind in MoveKind]: number }
/** `numbers`: positions, deletions and all else that no change number counts. */
export type MoveKind = 'changes' | 'numbers'
/** Moves of a log since a request. */
export type Moved = 'nothing' | MoveKind | 'both'

/** The logs of the user. Everything that changes one goes through {@link Logs.fold}. */
export class Logs implements Part {
  readonly #context: CoreContext
  readonly #listeners: LogsListeners
  readonly #records = new Map<LogKey, LogRecord>()
  readonly #watches = new Map<LogKey, Set<Watch>>()
  readonly #moves = new Map<LogKey, Moves>()
  /** Absent: the store is durable, and has room for everything. */
  readonly #room: MemoryRoom | undefined
  /** The quotes of originals that answers have named. */
  readonly quotes: Quotes
  #time = 0

  constructor(context: CoreContext, listeners: LogsListeners) {
    this.#context = context
    this.#listeners = listeners
    this.quotes = new Quotes(context, (key) => this.#records.get(key)?.hiddenMsgId ?? 0)
    this.#room = context.live.isDurable ? undefined : new MemoryRoom()
  }

  start({ logs, cached }: StoredState): void {
    this.quotes.start(cached)
    for (const record of logs) {
      this.#records.set(record.key, record)
      this.#announce(record, 'none')
    }
  }

  /** Everything was dropped. */
  reset(): void {
    for (const key of this.#watches.keys()) this.#end(key)
    this.#records.clear()
    this.#moves.clear()
    this.#room?.clear()
    this.quotes.reset()
  }

  command(id: string, command: Command): boolean {
    if (command.type !== 'forget') return false
    const { log, beforeSeq } = command
    if (this.#room && this.#records.has(log))
      this.#room.shrink(
        log,
        this.fold(log, (fold) => forget(fold, beforeSeq)),
      )
    this.#context.emit({ type: 'result', id, value: undefined })
    return true
  }

  get(key: LogKey): LogRecord | undefined {
    return this.#records.get(key)
  }

  records(): Iterable<LogRecord> {
    return this.#records.values()
  }

  /** Records that a device of the own user has received up to a position. */
  setDelivered(key: LogKey, seq: number): void {
    const record = this.#records.get(key)
    if (record && seq > record.deliveredSeq) this.#put({ ...record, deliveredSeq: seq })
  }

  /** Returns the time of a request, for {@link movedSince}. */
  stamp(): number {
    return ++this.#time
  }

  /** Returns what has happened to a log since a request. */
  movedSince(key: LogKey, stamp: number): Moved {
    const { changes = 0, numbers = 0 } = this.#moves.get(key) ?? {}
    if (numbers < stamp) return changes < stamp ? 'nothing' : 'changes'
    return changes < stamp ? 'numbers' : 'both'
  }

  /**
   * Changes a log: a log that is not there yet begins empty, and is stored when something happens to it.
   * @param moves what an answer that was requested before can not know; absent: nothing
   * @returns the result of `run`
   */
  fold<T>(key: LogKey, run: (fold: Fold, reader: FoldReader) => T, moves?: MoveKind): T {
    const { me } = this.#context
    const before = this.#records.get(key) ?? emptyLog(key, me)
    const fold = beginFold(before)
    const pair = pairOf(key, me)
    const answeredMsgId = (pair === undefined ? undefined : this.#records.get(pair)?.ownMsgId) ?? 0
    const result = run(fold, { me, answeredMsgId })
    showRead(fold)
    const isChanged = fold.record !== before
    // A head that was requested before does not answer a need that has come since.
    if (moves && (isChanged || before.isHeadNeeded)) this.#move(key, moves)
    if (!isChanged) return result
    this.#store(fold)
    this.#notify(fold)
    this.#makeRoom(fold, before)
    return result
  }

  /** Forgets logs that memory has no room for. */
  #makeRoom({ record, isEmptied, messages }: Fold, { ranges }: LogRecord): void {
    const room = this.#room
    if (!room) return
    if (isEmptied) room.drop(record.key)
    // An altered message has its room already.
    const isNew = (seq: number) => isEmptied || !covers(ranges, seq, seq)
    room.add(
      record.key,
      [...messages.values()].filter(isWhole).filter(({ seq }) => isNew(seq)),
    )
    for (const key of room.overflow(this.#listeners.onScreen))
      this.fold(key, (fold) => forget(fold))
  }

  /** The user does not have a log any more. */
  drop(key: LogKey): void {
    if (!this.#records.delete(key)) return
    this.#end(key)
    this.#moves.delete(key)
    this.#room?.drop(key)
    this.#context.batch.dropLog(key)
    this.quotes.drop(key)
    this.#listeners.unsent.hidden(key, Number.POSITIVE_INFINITY)
  }

  /** Collects alterations of a log from now on, until {@link unwatch}. */
  watch(key: LogKey): Watch {
    const watch: Watch = { altered: new Map(), isVoid: false }
    const watches = this.#watches.get(key) ?? new Set()
    this.#watches.set(key, watches.add(watch))
    return watch
  }

  unwatch(key: LogKey, watch: Watch): void {
    const watches = this.#watches.get(key)
    watches?.delete(watch)
    if (watches?.size === 0) this.#watches.delete(key)
  }

  #store({ record, isEmptied, hiddenMsgId, messages }: Fold): void {
    const { batch } = this.#context
    const { key } = record
    if (isEmptied) batch.emptyLog(key)
    if (hiddenMsgId > 0) batch.hide(key, hiddenMsgId)
    for (const [seq, message] of messages) {
      if (!message) batch.removeMessage(key, seq)
      else if (isWhole(message)) batch.putMessage(message)
      else batch.updateMessage(key, seq, message)
    }
    this.#put(record)
  }

  #put(record: LogRecord): void {
    this.#records.set(record.key, record)
    this.#context.batch.putLog(record)
  }

  #notify({
    record,
    isEmptied,
    hiddenMsgId,
    messages,
    altered,
    edited,
    recalled,
    ...fold
  }: Fold): void {
    const { unsent, receipts, streams } = this.#listeners
    const { me } = this.#context
    const { key } = record
    for (const watch of this.#watches.get(key) ?? []) {
      if (isEmptied) watch.isVoid = true
      for (const [seq, alteration] of altered)
        watch.altered.set(seq, combined(watch.altered.get(seq), alteration))
    }
    this.quotes.changed(key, { isEmptied, hiddenMsgId, altered })
    let received = 0
    for (const message of messages.values())
      if (isWhole(message) && message.senderId !== me) received = Math.max(received, message.seq)
    for (const message of new Set([...messages.values(), ...edited]))
      if (isWhole(message)) {
        unsent.stored(message)
        streams.stored(message)
      }
    for (const msgId of recalled) {
      unsent.gone(key, msgId)
      streams.gone(key, msgId)
    }
    if (hiddenMsgId > 0) unsent.hidden(key, hiddenMsgId)
    if (record.kind === 'direct' && received > record.deliveredSeq) receipts.received(key, received)
    this.#announce(record, fold.wait)
    const { ownMsgId = 0 } = record
    if (ownMsgId > (fold.before.ownMsgId ?? 0)) this.#answer(key, ownMsgId)
  }

  #announce({ key, isHeadNeeded, last }: LogRecord, wait: Fold['wait']): void {
    if (isHeadNeeded) this.#listeners.headNeeded(key, wait)
    if (last === undefined) this.#listeners.lastUnknown(key)
  }

  /** An own message reads the other log of the peer too, up to it. */
  #answer(key: LogKey, msgId: number): void {
    const pair = pairOf(key, this.#context.me)
    const record = pair === undefined ? undefined : this.#records.get(pair)
    if (pair === undefined) return
    if (!record || record.readSeq >= record.seq) {
      // A head in flight may contain the other log as it was before the answer.
      this.#move(pair, 'numbers')
      return
    }
    this.fold(
      pair,
      (fold) => {
        const { last, unread } = record
        if (last && last.msgId < msgId && unread > 0) readLast(fold, last)
        else needHead(fold)
      },
      'numbers',
    )
  }

  #move(key: LogKey, kind: MoveKind): void {
    const moves = this.#moves.get(key) ?? { changes: 0, numbers: 0 }
    this.#moves.set(key, { ...moves, [kind]: this.#time })
  }

  #end(key: LogKey): void {
    for (const watch of this.#watches.get(key) ?? []) watch.isVoid = true
  }
}
