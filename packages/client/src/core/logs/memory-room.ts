import type { LogKey, MessageRecord } from '../records.js'

/** Characters of messages that are kept for logs that are not on screen. */
export const maxKept = 2 ** 24
/** The characters that a message counts in addition to its texts. */
const fixedSize = 300

/** The room of a client without a durable store: how much each log has in memory. */
export class MemoryRoom {
  /** By log, those used last at the end. */
  readonly #sizes = new Map<LogKey, number>()
  /** Logs on screen by caller. */
  readonly #shown = new Map<string, readonly LogKey[]>()
  #total = 0

  show(caller: string, logs: readonly LogKey[]): void {
    if (logs.length === 0) this.#shown.delete(caller)
    else this.#shown.set(caller, logs)
  }

  add(key: LogKey, messages: Iterable<MessageRecord | null>): void {
    let size = this.#sizes.get(key) ?? 0
    for (const message of messages) if (message) size += sizeOf(message)
    this.#set(key, size)
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

  /** Returns the logs without which the others fit: those that were used longest ago. */
  overflow(): readonly LogKey[] {
    if (this.#total <= maxKept) return []
    const shown = new Set([...this.#shown.values()].flat())
    const hidden = [...this.#sizes].filter(([key]) => !shown.has(key))
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

function sizeOf({ content, attachment, config, ext }: MessageRecord): number {
  return fixedSize + content.length + attachment.length + config.length + ext.length
}
