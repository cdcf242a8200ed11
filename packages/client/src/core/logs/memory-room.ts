import type { LogKey, MessageRecord } from '../../model/records.js'

/** Characters of messages that are kept for logs that are not on screen. */
export const maxKept = 2 ** 24
/** The characters that a message counts in addition to its texts. */
const fixedSize = 300

/** The room of a client without a durable store: how much each log has in memory. */
export class MemoryRoom {
  /** By log, those used last at the end. */
  readonly #sizes = new Map<LogKey, number>()
  #total = 0

  add(key: LogKey, messages: readonly MessageRecord[]): void {
    const size = this.#sizes.get(key) ?? 0
    this.#set(
      key,
      messages.reduce((sum, message) => sum + messageSize(message), size),
    )
  }

  /** Reduces the size of a log to a share of it. */
  shrink(key: LogKey, share: number): void {
    this.#set(key, (this.#sizes.get(key) ?? 0) * share)
  }

  drop(key: LogKey): void {
    this.#set(key, 0)
  }

  clear(): void {
    this.#sizes.clear()
    this.#total = 0
  }

  /**
   * Returns the logs without which the others fit: those that were used longest ago.
   * @param shown logs on screen, which stay
   */
  overflow(shown: () => ReadonlySet<LogKey>): readonly LogKey[] {
    if (this.#total <= maxKept) return []
    const kept = shown()
    const hidden = [...this.#sizes].filter(([key]) => !kept.has(key))
    let excess = hidden.reduce((sum, [, size]) => sum + size, -maxKept)
    return hidden.flatMap(([key, size]) => {
      if (excess <= 0) return []
      excess -= size
      return key
    })
  }

  #set(key: LogKey, size: number): void {
    this.#total += size - (this.#sizes.get(key) ?? 0)
    this.#sizes.delete(key)
    if (size > 0) this.#sizes.set(key, size)
  }
}

function messageSize({ content, attachment, config, ext }: MessageRecord): number {
  return fixedSize + (content + attachment + config + ext).length
}
