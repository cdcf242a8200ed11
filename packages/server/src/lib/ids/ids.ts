/**
 * IDs: positive integers below 2^53 that never repeat and grow with time (rule B1).
 *
 *   bits 12–52  milliseconds since 2015-01-01 UTC ("tick"), good until 2084
 *   bits 6–11   slot: which node issued it
 *   bits 0–5    number within the tick
 *
 * The last slot (63) is no node's: it is for messages that are imported with dates of the past, see
 * {@link importedId}.
 *
 * A slot belongs to one node at a time and only for ticks that the node has reserved in the
 * database beforehand. A node that takes a slot over starts after everything that was ever reserved
 * in it. So no ID repeats whatever the clocks say and whenever a node dies.
 */

const allSlots = 64
/** Slots of nodes, from 0. */
export const idSlots = allSlots - 1
const importSlot = allSlots - 1
const idsPerTick = 64
/** IDs of a millisecond. */
export const idsPerMs = allSlots * idsPerTick
/** The first millisecond that has IDs. */
export const epochMs = Date.UTC(2015, 0, 1)

/** The time at which the ID was issued, milliseconds since 1970; 0 for the ID 0. */
export function timestampOf(id: number): number {
  return id === 0 ? 0 : Math.floor(id / idsPerMs) + epochMs
}

/**
 * Returns the tick of a time in milliseconds since 1970: the milliseconds since the epoch of IDs.
 */
export function tickAt(timestampMs: number): number {
  return timestampMs - epochMs
}

/** IDs are ahead of the clock by less than this while they are taken faster than it runs. */
export const usualLeadMs = 1_000

/** The milliseconds by which an ID is ahead of a time; less than {@link usualLeadMs} counts as 0. */
export function leadOf(id: number, timestampMs: number): number {
  const lead = timestampOf(id) - timestampMs
  return lead < usualLeadMs ? 0 : lead
}

/** The smallest ID of a millisecond. */
export function firstIdAt(timestampMs: number): number {
  return tickAt(timestampMs) * idsPerMs
}

/** Tests whether an ID is one of imported history. */
export function isImportedId(id: number): boolean {
  return Math.floor(id / idsPerTick) % allSlots === importSlot
}

/** IDs of imported history for each millisecond. */
export const importedIdsPerTick = idsPerTick
/** The same for each minute. */
export const importedIdsPerMinute = 60_000 * idsPerTick

/**
 * The ID of something imported with a date of the past. No node issues it, whatever its clock says.
 * It is above the ID of whatever nodes issued in the same millisecond and below everything that
 * they issue later.
 *
 * @param timestampMs milliseconds since 1970, from 2015 on
 * @param number from 0: which of the imported messages and users of this millisecond; the importer uses each
 * once and records that it did
 * @throws RangeError before 2015, and for more than {@link importedIdsPerTick} in a millisecond:
 * the rest takes the next millisecond
 */
export function importedId(timestampMs: number, number: number): number {
  const tick = tickAt(timestampMs)
  const isNumber = Number.isInteger(number) && number >= 0 && number < importedIdsPerTick
  const id = tick * idsPerMs + importSlot * idsPerTick + number
  if (!Number.isInteger(tick) || tick < 0 || !isNumber || !Number.isSafeInteger(id))
    throw new RangeError(`there is no ID for number ${number} of ${timestampMs} ms`)
  return id
}

/** Ticks that one node may use for IDs. */
export interface IdReservation {
  readonly slot: number
  /** The first tick that this node may use. */
  readonly from: number
  /** The first tick that it may not use. */
  readonly until: number
}

/** Reserves ticks in the database: durable before it resolves. */
export type Reserve = (current: IdReservation | null, wantedTick: number) => Promise<IdReservation>

/**
 * A database transaction must not wait for IDs, because a reservation takes a transaction too. It
 * must run again after the renewal.
 */
export class IdsRunOut extends Error {
  constructor(readonly renewal: Promise<void>) {
    super('the reserved IDs have run out')
    this.name = 'IdsRunOut'
    renewal.catch(() => {})
  }
}

/**
 * Runs work that takes reserved IDs outside of a transaction, and runs it again when they had to be
 * renewed.
 */
export async function whenReserved<T>(work: () => T): Promise<T> {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof IdsRunOut)) throw error
      await error.renewal
    }
  }
}

/** Gives ascending IDs from ticks that this node has reserved in the database. */
export class IdGenerator {
  #reservation: IdReservation | null = null
  /**
   * The tick from which the next reservation is fetched in the background, so that callers rarely
   * wait.
   */
  #renewFrom = 0
  #renewing: Promise<void> | null = null
  #tick = 0
  #number = 0
  /** The times that the reservation was given up. An answer from before the last time is of no use. */
  #losses = 0
  #isGivenUp = false

  /** @param now milliseconds since 1970 */
  constructor(
    private readonly reserve: Reserve,
    private readonly now: () => number,
  ) {}

  /** The time of the next ID where the clock does not ask for a later one, milliseconds since 1970. */
  get clockMs(): number {
    return epochMs + Math.max(this.#tick, this.#reservation?.from ?? 0)
  }

  /** One ID; waits for the database only when the reserved ticks run out. */
  async next(): Promise<number> {
    const [id] = await this.take(1)
    return id as number
  }

  /**
   * The next IDs, ascending, greater than all before and than `after`; waits for the database only
   * when the reserved ticks run out.
   */
  async take(count: number, after = 0): Promise<number[]> {
    return whenReserved(() => this.takeReserved(count, after))
  }

  /**
   * {@link take} without waiting, for use inside a transaction.
   * @throws IdsRunOut
   */
  takeReserved(count: number, after = 0): number[] {
    const first = this.#startAfter(after)
    const last = first + Math.ceil(count / idsPerTick)
    const reservation = this.#reservation
    if (!reservation || this.#isGivenUp || last >= reservation.until)
      throw new IdsRunOut(this.#renew(last))
    if (last >= this.#renewFrom) this.#renew(last).catch(() => {})
    return this.#takeFrom(first, count, reservation.slot)
  }

  /**
   * Takes all of them without reading the clock, so that they end where they were checked to end.
   */
  #takeFrom(tick: number, count: number, slot: number): number[] {
    if (tick > this.#tick) {
      this.#tick = tick
      this.#number = 0
    }
    return Array.from({ length: count }, () => {
      const id = this.#tick * idsPerMs + slot * idsPerTick + this.#number
      if (++this.#number === idsPerTick) {
        this.#tick += 1
        this.#number = 0
      }
      return id
    })
  }

  /**
   * The first tick with IDs above `after` and above all taken ones. It is ahead of the clock when
   * IDs are taken faster than the clock runs.
   */
  #startAfter(after: number): number {
    const wanted = after === 0 ? 0 : Math.floor(after / idsPerMs) + 1
    return Math.max(this.#tick, tickAt(this.now()), this.#reservation?.from ?? 0, wanted)
  }

  /**
   * Issues nothing until ticks are reserved again: the database may have lost the reservation, so
   * that another node gets the same ticks.
   */
  giveUp(): void {
    this.#losses++
    this.#isGivenUp = true
    this.#renewing = null
  }

  /** Gives the reservation up, if there is one, and makes another above all issued IDs, by `reserve`. */
  async reserveAnew(reserve: Reserve): Promise<void> {
    this.giveUp()
    if (this.#reservation) await this.#reserve(reserve, this.#startAfter(0) + 1)
  }

  #renew(wantedTick: number): Promise<void> {
    if (this.#renewing) return this.#renewing
    const renewing = this.#reserve(this.reserve, wantedTick).finally(() => {
      if (this.#renewing === renewing) this.#renewing = null
    })
    this.#renewing = renewing
    return renewing
  }

  async #reserve(reserve: Reserve, wantedTick: number): Promise<void> {
    const losses = this.#losses
    const reservation = await reserve(this.#reservation, wantedTick)
    if (losses !== this.#losses) return
    this.#reservation = reservation
    this.#renewFrom = (Math.max(wantedTick, reservation.from) + reservation.until) / 2
    this.#isGivenUp = false
  }
}
