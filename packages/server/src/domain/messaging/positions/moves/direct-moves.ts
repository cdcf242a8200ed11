import { keyText } from '../../../../lib/ids/key-text.js'
import type { UserKey } from '../../../users/user-model.js'
import { lockPresence } from '../../../users/user-statements.js'
import {
  lockPositions,
  type PartyPositions,
  positionsRow,
  setPositions,
} from '../../conversations/conversation-statements.js'
import { partyColumn } from '../../model/conversation-model.js'
import { conversationKeys, conversationText } from './move-keys.js'
import { type DirectMove, eventRow, type MoveKind } from './move-model.js'

/** Positions of parties, which are in the rows of direct conversations. */
export const directMoves: MoveKind<DirectMove> = {
  async lock(context, moves) {
    const found = await context.run<PartyPositions>(lockPositions, conversationKeys(moves))
    const rows = new Map(found.map((row) => [keyText(row.app_id, row.low_id, row.high_id), row]))
    const rowOfMove = ({ conversation }: DirectMove) => rows.get(conversationText(conversation))
    // A deletion waits for the open conversations of its user. In a closed one either party may still be present.
    const inClosed = moves.filter((move) => rowOfMove(move)?.closed === 1)
    const isPresent =
      inClosed.length === 0 ? () => true : await lockPresence(context, inClosed.map(userOf))
    const changed = new Set<PartyPositions>()
    return {
      move(move) {
        const row = rowOfMove(move)
        if (!row || (row.closed === 1 && !isPresent(userOf(move)))) return null
        const { party, position, seq } = move
        const column = partyColumn(party, position)
        const seen = partyColumn(party, 'seen_seq')
        const to = seq ?? row.seq
        if (to <= row[column]) return null
        row[column] = to
        if (position === 'read_seq') row[seen] = Math.max(row[seen], to)
        changed.add(row)
        return [eventRow(move, seq === null ? { msg_id: row.last_msg_id, seq: to } : {})]
      },
      write: () => [{ statement: setPositions, rows: [...changed].map(positionsRow) }],
    }
  },
}

function userOf({ conversation: { appId, lowId, highId }, party }: DirectMove): UserKey {
  return { appId, userId: party === 'first' ? lowId : highId }
}
