import { randomUUID } from 'node:crypto'
import { epochMs, type IdReservation, type Reserve, tickAt } from '../lib/ids/ids.js'
import type { Database, Queryable, Tx } from './database.js'
import { lockForUpdate } from './locking.js'
import type { Schema } from './schema.js'

type SlotTx = Queryable & Pick<Tx, 'hasRowLocks'>

/**
 * Ticks reserved ahead (60 s). A node that dies loses them; with one slot per node no other node
 * waits for them.
 */
const ticksPerReservation = 60_000

/** Reservations of one node. It leaves a slot that another node has taken over to that node. */
export class IdReservations {
  readonly #owner = randomUUID()

  constructor(private readonly database: Database) {}

  readonly reserve: Reserve = (current, wantedTick) =>
    this.database.transaction((tx) => this.#reserve(tx, current, wantedTick))

  /** Reserves on a connection that is not yet in use. */
  on(db: Queryable): Reserve {
    const { rowLocks: hasRowLocks } = this.database.dialect
    return (current, wantedTick) =>
      db
        .transaction()
        .execute((tx) => this.#reserve(Object.assign(tx, { hasRowLocks }), current, wantedTick))
  }

  async #reserve(
    tx: SlotTx,
    current: IdReservation | null,
    wantedTick: number,
  ): Promise<IdReservation> {
    const until = wantedTick + ticksPerReservation
    const owner = this.#owner
    if (current) {
      const kept = await tx
        .updateTable('id_slots')
        .set({ reserved_until: until })
        .where('slot', '=', current.slot)
        .where('owner', '=', owner)
        .executeTakeFirst()
      if (kept.numUpdatedRows > 0n) return { slot: current.slot, from: current.from, until }
    }
    const free = (await findSlot(tx, wantedTick)) ?? (await findSlot(tx, null))
    if (!free) throw new Error('no ID slot is free')
    const from = Math.max(wantedTick, Number(free.reserved_until))
    const reservation: IdReservation = {
      slot: free.slot,
      from,
      until: from + ticksPerReservation,
    }
    await tx
      .updateTable('id_slots')
      .set({ owner, reserved_until: reservation.until })
      .where('slot', '=', free.slot)
      .execute()
    return reservation
  }
}

/**
 * Ends all reservations, and lets later ones begin after the ticks that a node may have reserved up to
 * now: the database may have lost them.
 */
export async function raiseIdSlots(tx: Tx, now: number): Promise<void> {
  const until = tickAt(now) + ticksPerReservation + 1
  await tx
    .updateTable('id_slots')
    .set((eb) => ({
      owner: '',
      reserved_until: eb
        .case()
        .when('reserved_until', '>', until)
        .then(eb.ref('reserved_until'))
        .else(until)
        .end(),
    }))
    .execute()
}

/** Finds the time up to which any node has begun to issue IDs, milliseconds since 1970; null = none has. */
export async function findNewestIdTime(db: Queryable): Promise<number | null> {
  const { until } = await db
    .selectFrom('id_slots')
    .select(({ fn }) => fn.max('reserved_until').as('until'))
    .executeTakeFirstOrThrow()
  return until > 0 ? epochMs + until - ticksPerReservation : null
}

/**
 * The slot that has been free for the longest time: after a crash the next start does not wait for
 * the ticks of the crashed one.
 *
 * @param freeAt leaves out slots with a reservation beyond this tick, which another node may be
 * using; null takes one from it
 */
async function findSlot(
  tx: SlotTx,
  freeAt: number | null,
): Promise<Pick<Schema['id_slots'], 'slot' | 'reserved_until'> | null> {
  const slots = tx
    .selectFrom('id_slots')
    .select(['slot', 'reserved_until'])
    .$if(freeAt !== null, (query) => query.where('reserved_until', '<=', freeAt as number))
    .orderBy('reserved_until')
    .orderBy('slot')
    .limit(1)
  // A slot that another node is taking right now is skipped; the next search sees it.
  return (await lockForUpdate(tx, slots, { skipLocked: true }).executeTakeFirst()) ?? null
}
