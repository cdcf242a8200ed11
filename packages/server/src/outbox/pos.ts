/** A position in the history of an app's outbox, as clients keep it. */
export interface OutboxPosition {
  /** The epoch of the database. */
  readonly epoch: string
  /** 0 = before the first row */
  readonly position: number
  /**
   * The time of the row at the position, by which a history that was replaced is noticed; 0 =
   * before the first row.
   */
  readonly time: number
}

/** Writes a position as the opaque text `pos` of the contract. */
export function encodePos({ epoch, position, time }: OutboxPosition): string {
  return `${epoch}.${position.toString(36)}.${time.toString(36)}`
}

const pattern = /^([0-9a-z-]{1,64})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})$/

/** Reads a `pos`; null when the text is none. */
export function decodePos(text: string): OutboxPosition | null {
  const [, epoch = '', position = '', time = ''] = pattern.exec(text) ?? []
  if (epoch === '') return null
  const pos = { epoch, position: Number.parseInt(position, 36), time: Number.parseInt(time, 36) }
  return Number.isSafeInteger(pos.position) && Number.isSafeInteger(pos.time) ? pos : null
}
