import type { Procedure } from '../../../../db/procedure.js'
import { appendToOutbox, type NewRow } from '../../../../outbox/outbox-statements.js'
import { broadcastMoves } from './broadcast-moves.js'
import { directMoves } from './direct-moves.js'
import { memberMoves } from './member-moves.js'
import type { CallerMoves, PositionMove } from './move-model.js'

/**
 * Moves positions for many callers, as if one after another, and appends an event for each that has moved (rules E5, E6). Positions in
 * missing conversations, of former members and of deleted users do not move. The output tells for each caller whether a position moved.
 */
export const movePositions: Procedure<
  { readonly callers: readonly CallerMoves[]; readonly now: number },
  readonly boolean[]
> = {
  module: import.meta.url,
  name: 'movePositions',
  async run(context, { callers, now }) {
    const moves = callers.flatMap((caller) => caller.moves)
    // In the order in which all transactions lock: direct conversations, users with their broadcasts, conversations of groups, members.
    const direct = await directMoves.lock(context, ofKind(moves, 'direct'))
    const broadcast = await broadcastMoves.lock(context, ofKind(moves, 'broadcast'))
    const member = await memberMoves.lock(context, ofKind(moves, 'member'))
    const moveOne = (move: PositionMove): NewRow[] | null => {
      if (move.kind === 'direct') return direct.move(move)
      return move.kind === 'member' ? member.move(move) : broadcast.move(move)
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
        ...direct.write(),
        ...member.write(),
        ...broadcast.write(),
        appendToOutbox(events, now),
      ],
      output: () => output,
    }
  },
}

function ofKind<Kind extends PositionMove['kind']>(moves: readonly PositionMove[], kind: Kind) {
  return moves.filter((move): move is Extract<PositionMove, { kind: Kind }> => move.kind === kind)
}
