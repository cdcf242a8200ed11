import type { Message } from '../../api.js'
import type { LiveState } from '../../core/live-state.js'
import type { LogKey, MessageRecord, UnsentRecord } from '../../model/records.js'
import type { Wish } from '../../model/wishes.js'
import { isSameList } from '../hub.js'
import { alterationOf, statusOf, storedMessage, unsentMessage } from './message.js'
import type { LogWindow } from './message-window.js'
import type { ShownQuotes } from './shown-quotes.js'

/** A stored message, and the loaded part that it belongs to. */
export interface StoredRow {
  readonly record: MessageRecord
  readonly window: LogWindow
}

/** The messages of a list, each with what it was made of, by its key. */
export type Composed = ReadonlyMap<
  string,
  { readonly inputs: readonly unknown[]; readonly message: Message }
>

/**
 * Returns the stored messages of a list: those of all logs between the IDs between which every log is
 * loaded.
 * @param isFailed a log that cannot be loaded now does not hide the other one
 */
export function shownRows(windows: readonly LogWindow[], isFailed: boolean): readonly StoredRow[] {
  const bounds = windows.map(({ rows, completeFrom }) =>
    isFailed && rows.size === 0 ? 0 : completeFrom,
  )
  const from = Math.max(0, ...bounds)
  const to = Math.min(...windows.map(({ completeTo }) => completeTo))
  return windows
    .flatMap((window) => [...window.rows.values()].map((record) => ({ record, window })))
    .filter(({ record }) => record.msgId >= from && record.msgId <= to)
    .sort((a, b) => a.record.msgId - b.record.msgId)
}

/**
 * Makes the messages of a list: the stored ones, and behind them the unsent ones that have not arrived.
 * @param former the list before: a message of the same record and status stays the same object
 */
export function composeMessages(
  stored: readonly (Pick<StoredRow, 'record'> & { readonly window: Pick<LogWindow, 'record'> })[],
  unsent: readonly UnsentRecord[],
  {
    me,
    uploads,
    streams,
    alterations,
    quotes,
    wishes,
    keyOfUnsent,
    former,
  }: Pick<LiveState, 'uploads' | 'streams'> & {
    readonly me: number
    readonly alterations: readonly UnsentRecord[]
    readonly quotes: Pick<ShownQuotes, 'find'>
    readonly wishes: readonly Wish[]
    /** The log to which unsent messages go. */
    readonly keyOfUnsent: LogKey
    readonly former: Composed
  },
): Composed {
  const composed = new Map<string, { inputs: readonly unknown[]; message: Message }>()
  const add = (key: string, inputs: readonly unknown[], make: () => Message) => {
    const known = former.get(key)
    composed.set(
      key,
      known && isSameList(known.inputs, inputs) ? known : { inputs, message: make() },
    )
  }
  const arrived = new Set<number | undefined>()
  for (const { record, window } of stored) {
    const { record: log } = window
    if (log === undefined) continue
    const status = statusOf(record, log, me)
    if (record.senderId === me) arrived.add(record.transactionId)
    const alteration = alterationOf(alterations, record)
    const { replyTo } = record
    const quote = replyTo && quotes.find({ ...record, replyTo })
    const own = wishes.filter(({ log, msgId }) => log === record.log && msgId === record.msgId)
    const streamed = streams[record.msgId]
    const inputs = [record, status, alteration, quote, streamed, me, ...own]
    add(`${record.log}/${record.seq}`, inputs, () =>
      storedMessage(record, log, { me, status, alteration, quote, streamed, wishes: own }),
    )
  }
  for (const entry of unsent) {
    if (arrived.has(entry.transactionId)) continue
    const upload = uploads[entry.transactionId]
    const alteration = alterationOf(alterations, entry)
    const { replyTo } = entry
    const quote = replyTo && quotes.find({ log: keyOfUnsent, msgId: 0, replyTo })
    add(`${entry.transactionId}`, [entry, upload, alteration, quote, me], () =>
      unsentMessage(entry, { me, upload, alteration, quote }),
    )
  }
  return composed
}
