import { inTurn } from '../measure/statistics.js'
import { idleBytesOf } from '../realtime/realtime.js'
import { addGroupsAndContacts } from '../realtime/realtime-population.js'
import type { Side } from './sides.js'

/** Bytes of an idle connection of each build, one for each round. */
export type IdleBytes = Partial<Readonly<Record<'this' | 'other', readonly number[]>>>

/** Memory of idle connections. */
export interface IdleMemory {
  readonly plain: IdleBytes
  /** Bytes with 20 groups and 30 contacts of each user. */
  readonly withGroups: IdleBytes
}

/** Adds groups and contacts for the second figure, so it comes last. */
export async function measureIdleMemory(
  sides: readonly Side[],
  rounds: number,
): Promise<IdleMemory> {
  const plain = await idleBytes(sides, rounds)
  for (const { server, app } of sides) {
    await addGroupsAndContacts(server, app)
    await server.settle()
  }
  return { plain, withGroups: await idleBytes(sides, rounds) }
}

async function idleBytes(sides: readonly Side[], rounds: number): Promise<IdleBytes> {
  const values: Record<string, number[]> = {}
  for (let round = 0; round < rounds; round++)
    for (const side of inTurn(sides, round)) {
      const bytes = await idleBytesOf(side.server, side.swarms, side.app, () => side.address)
      await side.close()
      values[side.party] = [...(values[side.party] ?? []), bytes]
    }
  return values
}
