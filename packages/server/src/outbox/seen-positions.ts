import type { SeenRow } from '../db/identity/identity-store.js'

/**
 * The most apps whose positions are kept. A failover loses the newest commits of all apps, so those
 * with the newest rows show the loss.
 */
const maxApps = 1_000

/** The last row of each outbox that this node has begun or handled. */
export class SeenPositions {
  readonly #rows = new Map<string, SeenRow>()

  /** @param time of the row, milliseconds since 1970; 0 = not known */
  saw(appId: string, position: number, time: number): void {
    if (position <= (this.#rows.get(appId)?.position ?? 0)) return
    this.#rows.delete(appId)
    this.#rows.set(appId, { appId, position, time })
    if (this.#rows.size <= maxApps) return
    for (const oldest of this.#rows.keys()) {
      this.#rows.delete(oldest)
      return
    }
  }

  list(): readonly SeenRow[] {
    return [...this.#rows.values()]
  }
}
