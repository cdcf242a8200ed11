import type { Int64 } from '@hermod/protocol'

/** Bytes that are held for users, over all of their sessions. User IDs are unique over all apps. */
export class BytesByUser {
  readonly #bytes = new Map<Int64, number>()

  /** @param bytes less than 0 gives back. @returns the bytes of the user now */
  add(userId: Int64, bytes: number): number {
    const held = (this.#bytes.get(userId) ?? 0) + bytes
    if (held === 0) this.#bytes.delete(userId)
    else this.#bytes.set(userId, held)
    return held
  }
}
