/** The `editTimestamp` of a message before and after own edits, with no edit of others between. */
export interface OwnEdits {
  readonly from: number
  readonly to: number
}

/** Messages of which each kind is remembered. */
const maxMessages = 1_000

/**
 * The messages and edits that were sent since the start, for apps that edit and recall a message as
 * it was before: without its ID, or without their own edits.
 */
export class SentMemory {
  readonly #ids = new Map<number, number>()
  readonly #edits = new Map<number, OwnEdits>()

  clear(): void {
    this.#ids.clear()
    this.#edits.clear()
  }

  sent(transactionId: number, msgId: number): void {
    remember(this.#ids, transactionId, msgId)
  }

  /** Returns the ID of a message by its transaction ID; 0: not known. */
  idOf(transactionId: number): number {
    return this.#ids.get(transactionId) ?? 0
  }

  edited(msgId: number, { from, to }: OwnEdits): void {
    const former = this.#edits.get(msgId)
    const isNext = former && this.lastEdit(msgId, from) === former.to
    remember(this.#edits, msgId, { from: isNext ? former.from : from, to })
  }

  /** Returns the newest edit of a user who has seen one, and knows the own ones. */
  lastEdit(msgId: number, seenEdit: number): number {
    const { from, to } = this.#edits.get(msgId) ?? { from: seenEdit, to: seenEdit }
    return seenEdit >= from && seenEdit <= to ? to : seenEdit
  }
}

function remember<V>(map: Map<number, V>, key: number, value: V): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > maxMessages && oldest !== undefined) map.delete(oldest)
}
