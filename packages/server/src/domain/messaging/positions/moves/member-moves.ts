import { compare } from '../../../../lib/compare.js'
import { keyText } from '../../../../lib/ids/key-text.js'
import {
  lockMemberPositions,
  type MemberPositionsRow,
  memberKeyRow,
  memberPositionsRow,
  setMemberPositions,
} from '../../../groups/membership/member-statements.js'
import {
  type FurthestReadersRow,
  furthestReadersRow,
  lockFurthestReaders,
  setFurthestReaders,
} from '../../conversations/conversation-statements.js'
import { compareConversations } from '../../model/conversation-model.js'
import { withReader } from './furthest-readers.js'
import { conversationKeys, conversationText, distinct } from './move-keys.js'
import { eventRow, type MemberMove, type MoveKind } from './move-model.js'

/** Positions of group members, which are in the rows of their memberships, and the furthest readers of the groups' conversations. */
export const memberMoves: MoveKind<MemberMove> = {
  async lock(context, moves) {
    const further = moves.filter(({ isFurther }) => isFurther)
    const readers = await context.run<FurthestReadersRow>(
      lockFurthestReaders,
      conversationKeys(further),
    )
    const members = await context.run<MemberPositionsRow>(lockMemberPositions, memberKeys(moves))
    const readersByKey = new Map(
      readers.map((row) => [keyText(row.app_id, row.low_id, row.high_id), row]),
    )
    const membersByKey = new Map(
      members.map((row) => [keyText(row.app_id, row.group_id, row.user_id), row]),
    )
    const changedReaders = new Set<FurthestReadersRow>()
    const changedMembers = new Set<MemberPositionsRow>()
    const moveFurthest = ({ conversation, userId, seq }: MemberMove) => {
      const row = readersByKey.get(conversationText(conversation))
      if (row) changedReaders.add(Object.assign(row, withReader(row, userId, seq)))
    }
    return {
      move(move) {
        const { position, seq, receipts } = move
        const row = membersByKey.get(memberText(move))
        // Sending moves the read position without receipts, so an acknowledgement counts from the last acknowledged position.
        const reported = position === 'read_seq' ? 'acked_seq' : position
        const from = row?.[reported] ?? seq
        if (!row || seq <= from) return null
        row[reported] = seq
        changedMembers.add(row)
        if (position === 'read_seq') {
          row.read_seq = Math.max(row.read_seq, seq)
          row.seen_seq = Math.max(row.seen_seq, seq)
          moveFurthest(move)
        }
        return [
          eventRow(move),
          ...receipts
            .filter((receipt) => receipt.seq > from)
            .map((receipt) =>
              eventRow(move, {
                user_ids: [receipt.senderId],
                msg_id: receipt.messageId,
                seq: receipt.seq,
              }),
            ),
        ]
      },
      write: () => [
        { statement: setFurthestReaders, rows: [...changedReaders].map(furthestReadersRow) },
        { statement: setMemberPositions, rows: [...changedMembers].map(memberPositionsRow) },
      ],
    }
  },
}

function memberKeys(moves: readonly MemberMove[]): (readonly unknown[])[] {
  return distinct(moves, memberText)
    .sort(
      (a, b) => compareConversations(a.conversation, b.conversation) || compare(a.userId, b.userId),
    )
    .map(({ conversation: { appId, lowId: groupId }, userId }) =>
      memberKeyRow({ appId, groupId, userId }),
    )
}

function memberText({ conversation: { appId, lowId }, userId }: MemberMove): string {
  return keyText(appId, lowId, userId)
}
