import type { Batch } from '../../model/batch.js'
import type { HistoryResult } from '../../core/inputs.js'
import { withFields } from '../../model/message-fields.js'
import type { LogKey, LogRecord, MessageRecord } from '../../model/records.js'
import type { Session } from '../../sessions/session.js'
import { shareObject } from '../hub.js'

/** The most messages that one call of history answers. */
const maxPage = 100
/** A hole in the loaded part that is larger is not filled: the window then begins above it. */
const maxHole = 300

/**
 * The loaded part of one log: everything from a position to the end that is stored. It follows the
 * batches of the session; older pages come from the store, and through the server where the store
 * has a hole.
 */
export class LogWindow {
  readonly key: LogKey
  /** By position. */
  readonly rows = new Map<number, MessageRecord>()
  /** The lowest loaded position; undefined: nothing is loaded. */
  lower: number | undefined
  readonly #session: Session
  readonly #former: ReadonlyMap<number, MessageRecord> | undefined
  /** Batches since a load began, which are newer than its answer; undefined: no load. */
  #journal: Batch[] | undefined

  /** @param former the window that this one replaces: its records are kept where they are the same */
  constructor(session: Session, key: LogKey, former?: LogWindow) {
    this.#session = session
    this.key = key
    this.#former = former?.rows
  }

  get record(): LogRecord | undefined {
    return this.#session.state.logs.get(this.key)
  }

  /** False: the log has nothing below the loaded part. */
  get hasOlder(): boolean {
    return this.record !== undefined && (this.lower ?? this.record.seq + 1) > 1
  }

  /** True: the loaded part lacks messages that the server has. */
  get hasHole(): boolean {
    return this.#hole !== undefined
  }

  /** Messages from this ID on are complete; infinite: none is loaded, though there are some. */
  get completeFrom(): number {
    if (!this.hasOlder) return 0
    let lowest = Number.POSITIVE_INFINITY
    for (const { msgId } of this.rows.values()) lowest = Math.min(lowest, msgId)
    return lowest
  }

  /** Forgets what is loaded. */
  clear(): void {
    this.rows.clear()
    this.lower = undefined
  }

  /** Applies a change of the store. @returns true: the loaded part has changed */
  apply(batch: Batch): boolean {
    this.#journal?.push(batch)
    return this.#apply(batch)
  }

  /** Loads the next older page: at most `limit` messages, and perhaps none. @throws ClientError */
  async loadOlder(limit: number): Promise<void> {
    const { record } = this
    const before = this.lower ?? (record?.seq ?? 0) + 1
    if (record === undefined || before <= 1) {
      this.lower = before
      return
    }
    const range = record.ranges.find(([from, to]) => from < before && before <= to + 1)
    const from = range?.[0] ?? (() => this.#history(before, Math.min(limit, maxPage)))
    await this.#load(from, before, limit)
  }

  /** Fills the uppermost hole of the loaded part, or a part of it. @throws ClientError */
  async fillHole(): Promise<void> {
    const hole = this.#hole
    if (!hole) return
    const [from, to] = hole
    if (to - from >= maxHole) {
      for (const seq of this.rows.keys()) if (seq <= to) this.rows.delete(seq)
      this.lower = to + 1
    } else {
      const fill = () => this.#history(to + 1, Math.min(to + 1 - from, maxPage))
      await this.#load(async () => Math.max(await fill(), from), to + 1, maxHole)
    }
  }

  /** Drops the oldest messages when there are many more than a number. */
  trim(size: number): void {
    if (this.rows.size <= size * 2) return
    const seqs = [...this.rows.keys()].sort((a, b) => b - a)
    for (const seq of seqs.slice(size)) this.rows.delete(seq)
    const beforeSeq = seqs[size - 1] ?? 0
    this.lower = beforeSeq
    const { live } = this.#session.state
    if (!live.isDurable)
      this.#session.execute({ type: 'forget', log: this.key, beforeSeq }).catch(() => {})
  }

  get #hole(): [number, number] | undefined {
    const { record, lower } = this
    return record && lower !== undefined ? upperHole(record, lower) : undefined
  }

  /** Fills holes of the store below a position. @returns the lowest filled position */
  async #history(beforeSeq: number, limit: number): Promise<number> {
    const command = { type: 'history', log: this.key, beforeSeq, limit } as const
    const { fromSeq } = (await this.#session.execute(command)) as HistoryResult
    return fromSeq
  }

  /**
   * Takes messages below a position from the store.
   * @param from the lowest position, or its promise when the store has to be filled first
   */
  async #load(
    from: number | (() => Promise<number>),
    before: number,
    limit: number,
  ): Promise<void> {
    const journal: Batch[] = []
    this.#journal = journal
    try {
      const fromSeq = typeof from === 'number' ? from : await from()
      const query = { log: this.key, fromSeq, toSeq: before - 1, limit }
      const messages = await this.#session.messages(query)
      for (const message of messages) this.#put(message)
      const oldest = messages.length < limit ? fromSeq : (messages.at(-1)?.seq ?? fromSeq)
      this.lower = Math.min(oldest, this.lower ?? oldest)
      for (const batch of journal) this.#apply(batch)
    } finally {
      this.#journal = undefined
    }
  }

  #put(message: MessageRecord): void {
    const former = this.rows.get(message.seq) ?? this.#former?.get(message.seq)
    // The same message is another object each time that it is read.
    this.rows.set(message.seq, shareObject(former, message))
  }

  #apply({ isReset, goneLogs, emptiedLogs, hidden, removed, messages, updated }: Batch): boolean {
    const { key, rows } = this
    let isChanged = false
    if (isReset || goneLogs.includes(key) || emptiedLogs.includes(key)) {
      this.clear()
      isChanged = true
    }
    for (const { log, msgId } of hidden)
      if (log === key)
        for (const [seq, row] of rows)
          if (row.msgId <= msgId) isChanged = rows.delete(seq) || isChanged
    for (const { log, seq } of removed) if (log === key) isChanged = rows.delete(seq) || isChanged
    const { lower } = this
    if (lower === undefined) return isChanged
    for (const message of messages) {
      if (message.log !== key || message.seq < lower) continue
      this.#put(message)
      isChanged = true
    }
    for (const { log, seq, set } of updated) {
      const row = log === key ? rows.get(seq) : undefined
      if (!row) continue
      rows.set(seq, withFields(row, set))
      isChanged = true
    }
    return isChanged
  }
}

/** The uppermost positions from a lower bound on that are not in the store. */
function upperHole({ ranges, seq }: LogRecord, lower: number): [number, number] | undefined {
  let top = seq
  for (const [from, to] of ranges.toReversed()) {
    if (to < top) return top < lower ? undefined : [Math.max(to + 1, lower), top]
    top = from - 1
  }
  return top < lower ? undefined : [lower, top]
}
