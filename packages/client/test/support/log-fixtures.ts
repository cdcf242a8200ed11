/** Logs, messages and heads for tests of the folds. */
import { expect } from 'vitest'
import {
  type Fold,
  beginFold,
  emptyLog,
  foldChange,
  showRead,
} from '../../src/core/logs/log-fold.js'
import type { Head, FoldedChange } from '../../src/core/logs/wire.js'
import type { LogRecord, MessageRecord } from '../../src/model/records.js'

export const me = 5
export const peer = 9
export const key = 'd5.9'
export const reader = { me, answeredMsgId: 0 }

export function message(seq: number, members: Partial<MessageRecord> = {}): MessageRecord {
  return {
    ...{ log: key, seq, msgId: 100 + seq, senderId: peer, senderDeviceSn: 0, contentType: 0 },
    ...{ content: `text ${seq}`, attachment: '', config: '', ext: '', isSystem: false },
    ...{ timestamp: seq, editTimestamp: 0, ...members },
  }
}

export function stored(
  change: number,
  seq: number,
  members: Partial<MessageRecord> = {},
): FoldedChange {
  return { change, kind: 'stored', message: message(seq, members) }
}

/** Applies changes to a log. */
export function after(record: LogRecord, ...changes: readonly FoldedChange[]): LogRecord {
  const fold = beginFold(record)
  for (const change of changes) expect(foldChange(fold, change, reader)).toBe('applied')
  showRead(fold)
  return fold.record
}

export function folded(record: LogRecord, run: (fold: Fold) => void): LogRecord {
  const fold = beginFold(record)
  run(fold)
  showRead(fold)
  return fold.record
}

export const empty = emptyLog(key, me)
export const two = { ...after(empty, stored(1, 1), stored(2, 2)), isHeadNeeded: false }

export const requested = {
  ...reader,
  ...({ moved: 'nothing', asked: 'delta', window: 2 } as const),
}

export function headOf(record: LogRecord, members: Partial<Head> = {}): Head {
  return {
    key,
    state: {},
    positions: {
      readSeq: record.readSeq,
      deliveredSeq: record.deliveredSeq,
      peerReadSeq: record.peerReadSeq,
      peerDeliveredSeq: record.peerDeliveredSeq,
    },
    change: record.change,
    seq: record.seq,
    unread: record.unread,
    latestMsgId: record.last?.msgId ?? 0,
    hiddenMsgId: record.hiddenMsgId,
    changes: [],
    quotes: [],
    ...members,
  }
}
