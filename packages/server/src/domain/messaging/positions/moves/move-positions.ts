import type { Procedure, ProcedureContext } from '../../../../db/procedure.js'
import { keyText } from '../../../../lib/ids/key-text.js'
import { appendToOutbox, type NewRow } from '../../../../outbox/outbox-statements.js'
import {
  conversationKeyRow,
  type FurthestReadersRow,
  furthestReadersRow,
  lockFurthestReaders,
  setFurthestReaders,
} from '../../conversations/conversation-statements.js'
import { type ConversationKey, compareConversations } from '../../model/conversation-model.js'
import { type FurthestReaders, withReader } from '../../model/furthest-readers.js'
import type { ReaderKey } from '../../readers/reader-positions.js'
import {
  compareReaders,
  findReaders,
  insertedReaderRow,
  insertReaders,
  lockReaders,
  type ReaderRow,
  type ReaderStart,
  readerKeyRow,
  readerRow,
  setReaders,
} from '../../readers/reader-statements.js'
import { type CallerMoves, eventRow, type PositionMove } from './move-model.js'

/**
 * Moves positions for many callers, as if one after another, and appends an event for each that has
 * moved (rules E5, E6). Positions of former members and deleted users do not move. The output tells
 * for each caller whether a position moved.
 */
export const movePositions: Procedure<
  { readonly callers: readonly CallerMoves[]; readonly now: number },
  readonly boolean[]
> = {
  module: import.meta.url,
  name: 'movePositions',
  async run(context, { callers, now }) {
    const moves = callers.flatMap((caller) => caller.moves)
    // In the order in which all transactions lock: users with broadcasts, conversations, readers.
    await insertMissing(context, moves)
    const furthest = await lockConversations(context, moves)
    const readers = await lockAll(context, moves)
    const changed = new Set<ReaderRow>()
    const moveOne = (move: PositionMove): NewRow[] | null => {
      const { reader, position, seq, receipts } = move
      const row = readers.get(readerText(reader))
      // A position that a receipt reports: sending moves the read position without one.
      const reported = position === 'read_seq' ? 'acked_seq' : position
      if (!row || row.closed === 1) return null
      const from = Math.max(row[reported], move.from)
      if (seq <= from) return null
      row[reported] = seq
      changed.add(row)
      if (position === 'read_seq') {
        row.read_seq = Math.max(row.read_seq, seq)
        row.seen_seq = Math.max(row.seen_seq, seq)
        furthest.read(reader, seq)
      }
      return [
        eventRow(move),
        ...receipts
          .filter((receipt) => receipt.seq > from)
          .map(({ senderId, messageId, seq }) =>
            eventRow(move, { user_ids: [senderId], msg_id: messageId, seq }),
          ),
      ]
    }
    const events: NewRow[] = []
    const output = callers.map(({ moves, announcement }) => {
      const moved = moves.map(moveOne).filter((each) => each !== null)
      if (moved.length === 0) return false
      if (announcement) events.push(announcement)
      for (const each of moved) events.push(...each)
      return true
    })
    return {
      last: [
        { statement: setFurthestReaders, rows: furthest.changedRows() },
        { statement: setReaders, rows: [...changed].map(readerRow) },
        appendToOutbox(events, now),
      ],
      output: () => output,
    }
  },
}

/** Locks the conversations of groups whose furthest readers the moves may change. */
async function lockConversations(context: ProcedureContext, moves: readonly PositionMove[]) {
  const keys = distinct(
    moves.filter(({ isFurther }) => isFurther).map(({ reader }) => reader),
    conversationText,
  ).sort(compareConversations)
  const rows = await context.run<FurthestReadersRow>(
    lockFurthestReaders,
    keys.map(conversationKeyRow),
  )
  const known = new Map(
    rows.map((row): [string, FurthestReaders] => [
      keyText(row.app_id, row.low_id, row.high_id),
      { id: row.furthest_id, seq: row.furthest_seq, othersSeq: row.others_seq },
    ]),
  )
  const changed = new Map<string, ConversationKey>()
  return {
    /** Records that a reader has read to a position, if the conversation is locked. */
    read(reader: ReaderKey, seq: number): void {
      const key = conversationText(reader)
      const before = known.get(key)
      if (!before) return
      known.set(key, withReader(before, reader.userId, seq))
      changed.set(key, reader)
    },
    changedRows: () =>
      [...changed].map(([key, conversation]) =>
        furthestReadersRow(conversation, known.get(key) as FurthestReaders),
      ),
  }
}

/** Inserts readers of broadcasts that have no row. Inserting locks the user, so it is done for these only. */
async function insertMissing(
  context: ProcedureContext,
  moves: readonly PositionMove[],
): Promise<void> {
  const starts = new Map<string, ReaderStart>()
  for (const { reader, start } of moves) if (start) starts.set(readerText(reader), start)
  const readers = distinct(
    moves.filter(({ start }) => start !== null).map(({ reader }) => reader),
    readerText,
  ).sort(compareReaders)
  const found = await context.run<ReaderRow>(findReaders, readers.map(readerKeyRow))
  if (found.length === readers.length) return
  await context.change(
    insertReaders,
    readers.map((reader) =>
      insertedReaderRow(reader, starts.get(readerText(reader)) as ReaderStart),
    ),
  )
}

async function lockAll(
  context: ProcedureContext,
  moves: readonly PositionMove[],
): Promise<ReadonlyMap<string, ReaderRow>> {
  const readers = distinct(
    moves.map(({ reader }) => reader),
    readerText,
  ).sort(compareReaders)
  const rows = await context.run<ReaderRow>(lockReaders, readers.map(readerKeyRow))
  return new Map(
    rows.map((row) => [keyText(row.app_id, row.low_id, row.high_id, row.user_id), row]),
  )
}

function readerText({ appId, lowId, highId, userId }: ReaderKey): string {
  return keyText(appId, lowId, highId, userId)
}

function conversationText({ appId, lowId, highId }: ConversationKey): string {
  return keyText(appId, lowId, highId)
}

/** Returns the last one of the items with the same text. */
function distinct<Item>(items: readonly Item[], textOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [textOf(item), item])).values()]
}
