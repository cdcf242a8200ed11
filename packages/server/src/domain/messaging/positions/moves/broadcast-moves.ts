import { compare } from '../../../../lib/compare.js'
import { keyText } from '../../../../lib/ids/key-text.js'
import type { BroadcastReader } from '../../conversations/broadcast-streams.js'
import {
  type BroadcastPositionsRow,
  broadcastKeyRow,
  broadcastPositionsRow,
  findBroadcastPositions,
  insertBroadcastPositions,
  insertedBroadcastRow,
  lockBroadcastPositions,
  setBroadcastPositions,
} from '../broadcast-position-statements.js'
import { distinct } from './move-keys.js'
import { type BroadcastMove, eventRow, type MoveKind } from './move-model.js'

/** Positions of users in broadcast streams, which have a row for each user and sender. */
export const broadcastMoves: MoveKind<BroadcastMove> = {
  async lock(context, moves) {
    const inOrder = distinct(moves, (move) => streamReaderText(streamReaderOf(move))).sort(
      compareReaders,
    )
    const keys = inOrder.map((move) => broadcastKeyRow(streamReaderOf(move)))
    const found = await context.run<BroadcastPositionsRow>(findBroadcastPositions, keys)
    // Inserting locks the user, so it is only done for missing rows.
    if (found.length < keys.length)
      await context.change(
        insertBroadcastPositions,
        inOrder.map((move) => insertedBroadcastRow(streamReaderOf(move), move.seen)),
      )
    const locked = await context.run<BroadcastPositionsRow>(lockBroadcastPositions, keys)
    const rows = new Map(
      locked.map((row) => [keyText(row.app_id, row.sender_id, row.user_id), row]),
    )
    const changed = new Set<BroadcastPositionsRow>()
    return {
      move(move) {
        const { position, seq } = move
        const row = rows.get(streamReaderText(streamReaderOf(move)))
        if (!row || seq <= row[position]) return null
        row[position] = seq
        if (position === 'read_seq') row.seen_seq = Math.max(row.seen_seq, seq)
        changed.add(row)
        return [eventRow(move)]
      },
      write: () => [
        { statement: setBroadcastPositions, rows: [...changed].map(broadcastPositionsRow) },
      ],
    }
  },
}

function streamReaderOf({
  conversation: { appId, highId },
  userId,
}: BroadcastMove): BroadcastReader {
  return { appId, userId, senderId: highId }
}

function streamReaderText({ appId, userId, senderId }: BroadcastReader): string {
  return keyText(appId, senderId, userId)
}

function compareReaders(one: BroadcastMove, other: BroadcastMove): number {
  const [a, b] = [streamReaderOf(one), streamReaderOf(other)]
  return compare(a.appId, b.appId) || compare(a.userId, b.userId) || compare(a.senderId, b.senderId)
}
