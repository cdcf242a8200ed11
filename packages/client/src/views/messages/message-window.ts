import type { Batch } from '../../model/batch.js'
import type { HistoryResult } from '../../core/inputs.js'
import { altered } from '../../model/message-fields.js'
import type { LogKey, LogRecord, MessageRecord, SeqRange } from '../../model/records.js'
import type { Session } from '../../sessions/session.js'
import { shareObject } from '../hub.js'

/** The most messages that one call of history answers. */
const maxPage = 100
/** A hole in the loaded part that is larger is not filled: the window then begins above it. */
const maxHole = 300

/** The most pages and holes that one load reads. */
const maxLoads = 20

/**
 * The loaded part of one log: everything from a position to the end, or to another position. It
 * follows the batches of the session; pages come from the store, and through the server where the
 * store has a hole.
 */
export class LogWindow {
  readonly key: LogKey
  /** By position. */
  readonly rows = new Map<number, MessageRecord>()
  /** The lowest loaded position; undefined: nothing is loaded. */
  lower: number | undefined
  /** The highest loaded position; undefined: everything to the end. */
  upper: number | undefined
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

  /** Tests whether a position is in the loaded part. */
  isLoaded(seq: number): boolean {
    const { lower = Number.POSITIVE_INFINITY, upper = Number.POSITIVE_INFINITY } = this
    return seq >= lower && seq <= upper
  }

  /** False: the log has nothing below the loaded part. */
  get hasOlder(): boolean {
    return this.record !== undefined && (this.lower ?? this.record.seq + 1) > 1
  }

  /** True: the log has messages above the loaded part. */
  get hasNewer(): boolean {
    return this.upper !== undefined && this.upper < (this.record?.seq ?? 0)
  }

  /** Messages up to this ID are complete; infinite: to the end. */
  get completeTo(): number {
    if (!this.hasNewer) return Number.POSITIVE_INFINITY
    return Math.max(0, ...[...this.rows.values()].map(({ msgId }) => msgId))
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
    this.upper = undefined
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

  /** Loads the next newer page, or a part of it. @throws ClientError */
  async loadNewer(limit: number): Promise<void> {
    const { record, upper } = this
    if (!record || upper === undefined) return
    const from = upper + 1
    const end = Math.min(upper + limit, record.seq)
    const { ranges } = record
    const range = ranges.find(([first, last]) => first <= from && from <= last)
    if (!range) {
      const above = ranges.find(([first]) => first > from)?.[0] ?? record.seq + 1
      await this.#history(Math.min(above, end + 1), Math.min(limit, maxPage))
      return
    }
    await this.#load(from, Math.min(range[1], end) + 1, limit)
    this.#setUpper(Math.min(range[1], end))
  }

  /**
   * Loads what is around a message, instead of what was loaded.
   * @param size positions on each side
   * @throws ClientError
   */
  async loadAround(msgId: number, size: number): Promise<void> {
    const seq = await this.#positionOf(msgId)
    await this.loadRange(Math.max(1, seq + 1 - size), seq + size)
  }

  /** Loads the positions between two, both included, instead of what was loaded. @throws ClientError */
  async loadRange(from: number, to: number): Promise<void> {
    this.clear()
    if (!this.record) {
      this.lower = 1
      return
    }
    // From here on batches are applied, so that nothing within these positions is missed.
    this.lower = from
    this.#setUpper(to)
    for (let loads = 0; loads < maxLoads && this.hasHole; loads++)
      await this.fillHole(Number.POSITIVE_INFINITY)
    await this.#load(from, to + 1, to + 1 - from)
  }

  /** Fills the uppermost hole of the loaded part, or a part of it. @throws ClientError */
  async fillHole(most = maxHole): Promise<void> {
    const hole = this.#hole
    if (!hole) return
    const [from, to] = hole
    if (to - from >= most) {
      for (const seq of this.rows.keys()) if (seq <= to) this.rows.delete(seq)
      this.lower = to + 1
    } else {
      const fill = () => this.#history(to + 1, Math.min(to + 1 - from, maxPage))
      await this.#load(async () => Math.max(await fill(), from), to + 1, maxPage)
    }
  }

  /** Drops the oldest messages when there are many more than a number. */
  trim(size: number): void {
    if (this.rows.size <= size * 2 || this.upper !== undefined) return
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
    if (!record || lower === undefined) return undefined
    return upperHole(record.ranges, lower, Math.min(this.upper ?? record.seq, record.seq))
  }

  #setUpper(upper: number): void {
    this.upper = upper < (this.record?.seq ?? 0) ? upper : undefined
  }

  /**
   * Returns the position of a message, or of the last one before it when it is gone. IDs of a log grow
   * with its positions.
   */
  async #positionOf(msgId: number): Promise<number> {
    let [low, high] = [1, this.record?.seq ?? 0]
    while (low <= high) {
      const middle = Math.floor((low + high) / 2)
      const stored = this.record?.ranges.find(([from, to]) => from <= middle && middle <= to)
      const from = stored
        ? Math.max(stored[0], middle + 1 - maxPage)
        : await this.#history(middle + 1, maxPage)
      const fromSeq = Math.max(low, from)
      const query = { log: this.key, fromSeq, toSeq: middle, limit: middle + 1 - fromSeq }
      const page = await this.#session.messages(query)
      const earlier = page.find((message) => message.msgId <= msgId)
      if (page[0] === earlier && earlier?.msgId !== msgId) low = middle + 1
      else if (earlier) return earlier.seq
      else high = fromSeq - 1
    }
    return Math.max(high, 0)
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
    const { lower, upper = Number.POSITIVE_INFINITY } = this
    if (lower === undefined) return isChanged
    for (const message of messages) {
      if (message.log !== key || message.seq < lower || message.seq > upper) continue
      this.#put(message)
      isChanged = true
    }
    for (const { log, seq, ...alteration } of updated) {
      const row = log === key ? rows.get(seq) : undefined
      if (!row) continue
      rows.set(seq, altered(row, alteration))
      isChanged = true
    }
    return isChanged
  }
}

/** The uppermost positions between two bounds that are not in the store. */
function upperHole(
  ranges: readonly SeqRange[],
  lower: number,
  upper: number,
): [number, number] | undefined {
  let top = upper
  for (const [from, to] of [...ranges].reverse()) {
    if (from > top) continue
    if (to < top) return top < lower ? undefined : [Math.max(to + 1, lower), top]
    top = from - 1
  }
  return top < lower ? undefined : [lower, top]
}
