import type { EventPayloads } from '@hermod/protocol/events'
import type { Procedure, ProcedureContext } from '../../../db/procedure.js'
import { rowOf } from '../../../db/rows.js'
import { appendInProcedure, type NewRow } from '../../../outbox/outbox-statements.js'
import { type ConversationKey, compareConversations, type Side } from '../log/conversation-model.js'
import { lockMarks, setMarks, writtenMarkColumns } from './conversation-statements.js'
import type { Mark } from './conversation-store.js'

/** A mark of a party that is to move forward, never back. */
export interface MarkMove {
  readonly conversation: ConversationKey
  readonly side: Side
  readonly mark: Mark
  /** null = to the end of the conversation */
  readonly seq: number | null
  /** What is told when the mark has moved; without a `messageId` it names the last message of the conversation. */
  readonly event: {
    readonly kind: 'message.read' | 'message.delivered'
    readonly payload: EventPayloads['message.read']
    readonly messageId: number | null
  }
}

interface LockedMarks {
  readonly app_id: string
  readonly low_id: number
  readonly high_id: number
  readonly seq: number
  readonly last_msg_id: number
  low_read_seq: number
  high_read_seq: number
  low_seen_seq: number
  high_seen_seq: number
  low_delivered_seq: number
  high_delivered_seq: number
}

/**
 * Moves marks of many callers, as if one after another in the order of the moves, and tells of each that has moved (rules E5, E6). The
 * output says which have; a mark of a conversation that is not there has not.
 */
export const moveMarks: Procedure<
  { readonly moves: readonly MarkMove[]; readonly now: number },
  readonly boolean[]
> = {
  module: import.meta.url,
  name: 'moveMarks',
  async run(context, { moves, now }) {
    const rows = await lockedRows(context, moves)
    const moved = new Set<LockedMarks>()
    const told: NewRow[] = []
    const output = moves.map((move) => {
      const row = rows.get(conversationText(move.conversation))
      if (!row || !advance(row, move)) return false
      moved.add(row)
      told.push(eventRow(move, row.last_msg_id))
      return true
    })
    await context.change(setMarks, [...moved].map(marksRow))
    await appendInProcedure(context, told, now)
    return output
  },
}

/** In the order in which everybody locks conversations. */
async function lockedRows(
  context: ProcedureContext,
  moves: readonly MarkMove[],
): Promise<ReadonlyMap<string, LockedMarks>> {
  const byText = new Map(
    moves.map(({ conversation }) => [conversationText(conversation), conversation]),
  )
  const inOrder = [...byText.values()].sort(compareConversations)
  const rows = await context.run<LockedMarks>(
    lockMarks,
    inOrder.map(({ appId, lowId, highId }) => [appId, lowId, highId]),
  )
  return new Map(
    rows.map((row) => [
      conversationText({ appId: row.app_id, lowId: row.low_id, highId: row.high_id }),
      row,
    ]),
  )
}

/** @returns false when the mark is there already */
function advance(row: LockedMarks, { side, mark, seq }: MarkMove): boolean {
  const to = seq ?? row.seq
  if (to <= row[`${side}_${mark}`]) return false
  row[`${side}_${mark}`] = to
  if (mark === 'read_seq') row[`${side}_seen_seq`] = Math.max(row[`${side}_seen_seq`], to)
  return true
}

function eventRow({ conversation, event }: MarkMove, lastMessageId: number): NewRow {
  const { kind, payload, messageId } = event
  return {
    appId: conversation.appId,
    kind,
    payload: JSON.stringify({ ...payload, msg_id: messageId ?? lastMessageId }),
  }
}

const marksRow = rowOf(writtenMarkColumns, (row: LockedMarks) => ({
  low_read_seq: row.low_read_seq,
  high_read_seq: row.high_read_seq,
  low_seen_seq: row.low_seen_seq,
  high_seen_seq: row.high_seen_seq,
  low_delivered_seq: row.low_delivered_seq,
  high_delivered_seq: row.high_delivered_seq,
  app_id: row.app_id,
  low_id: row.low_id,
  high_id: row.high_id,
}))

/** For maps. */
function conversationText({ appId, lowId, highId }: ConversationKey): string {
  return `${appId}/${lowId}/${highId}`
}
