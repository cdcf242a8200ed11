/**
 * IDs: positive integers below 2^53 that never repeat and grow with time (decision B1).
 *
 *   bits 12–52  milliseconds since 2015-01-01 UTC ("tick"), good until 2084
 *   bits 6–11   slot: which node issued it
 *   bits 0–5    number within the tick
 *
 * A slot belongs to one node at a time and only for ticks that the node has reserved in the database beforehand. Whoever takes a slot
 * over starts after everything that was ever reserved in it. So no ID repeats whatever the clocks say and whenever a node dies.
 */

export const idSlots = 64
const idsPerTick = 64
const idsPerSlotTick = idSlots * idsPerTick
const epochMs = Date.UTC(2015, 0, 1)

/** When the ID was issued, milliseconds since 1970; 0 for the ID 0. */
export function timestampOf(id: number): number {
  return id === 0 ? 0 : Math.floor(id / idsPerSlotTick) + epochMs
}

export function tickAt(timestampMs: number): number {
  return timestampMs - epochMs
}

/** The smallest and the largest ID that any node can issue in a tick. */
export function idRangeOf(tick: number): { readonly first: number; readonly last: number } {
  return { first: tick * idsPerSlotTick, last: (tick + 1) * idsPerSlotTick - 1 }
}

export interface IdReservation {
  readonly slot: number
  /** First tick that this node may use. */
  readonly from: number
  /** First tick that it may not use any more. */
  readonly until: number
}

/** Reserves ticks in the database: durable before it resolves. */
export type Reserve = (current: IdReservation | null, wantedTick: number) => Promise<IdReservation>

/** A database transaction must not wait for IDs, because reserving some takes a transaction too: it is to be repeated after the renewal. */
export class IdsRunOut extends Error {
  constructor(readonly renewal: Promise<void>) {
    super('the reserved IDs have run out')
    this.name = 'IdsRunOut'
    renewal.catch(() => {})
  }
}

export class IdGenerator {
  #reservation: IdReservation | null = null
  /** From this tick on the next reservation is fetched in the background, so that callers rarely wait. */
  #renewFrom = 0
  #renewing: Promise<void> | null = null
  #tick = 0
  #number = 0

  /** @param now milliseconds since 1970 */
  constructor(
    private readonly reserve: Reserve,
    private readonly now: () => number,
  ) {}

  /** One ID; waits for the database only when the reserved ticks run out. */
  async next(): Promise<number> {
    const [id] = await this.take(1)
    return id as number
  }

  /** The next IDs, ascending, greater than any before and than `after`; waits for the database only when the reserved ticks run out. */
  async take(count: number, after = 0): Promise<number[]> {
    for (;;) {
      try {
        return this.takeReserved(count, after)
      } catch (error) {
        if (!(error instanceof IdsRunOut)) throw error
        await error.renewal
      }
    }
  }

  /**
   * As {@link take}, without waiting: for use inside a transaction.
   * @throws IdsRunOut
   */
  takeReserved(count: number, after = 0): number[] {
    const first = this.#startAfter(after)
    const last = first + Math.ceil(count / idsPerTick)
    const reservation = this.#reservation
    if (!reservation || last >= reservation.until) throw new IdsRunOut(this.#renew(last))
    if (last >= this.#renewFrom) this.#renew(last).catch(() => {})
    return this.#takeFrom(first, count, reservation.slot)
  }

  /** In one go and without a look at the clock, so that it ends where it was checked to. */
  #takeFrom(tick: number, count: number, slot: number): number[] {
    if (tick > this.#tick) {
      this.#tick = tick
      this.#number = 0
    }
    return Array.from({ length: count }, () => {
      const id = this.#tick * idsPerSlotTick + slot * idsPerTick + this.#number
      if (++this.#number === idsPerTick) {
        this.#tick += 1
        this.#number = 0
      }
      return id
    })
  }

  /** First tick whose IDs are above `after` and everything taken so far; ahead of the clock when IDs are taken faster than it runs. */
  #startAfter(after: number): number {
    const wanted = after === 0 ? 0 : Math.floor(after / idsPerSlotTick) + 1
    return Math.max(this.#tick, tickAt(this.now()), this.#reservation?.from ?? 0, wanted)
  }

  #renew(wantedTick: number): Promise<void> {
    this.#renewing ??= this.reserve(this.#reservation, wantedTick)
      .then((reservation) => {
        this.#reservation = reservation
        this.#renewFrom = (Math.max(wantedTick, reservation.from) + reservation.until) / 2
      })
      .finally(() => {
        this.#renewing = null
      })
    return this.#renewing
  }
}
