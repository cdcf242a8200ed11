import type { UserKey } from '../users/user-model.js'

/** Users with a device that is connected to this node. */
export class PresenceService {
  readonly #connections = new Map<string, number>()

  /**
   * Counts a connection of a device.
   * @returns a function that ends the count
   */
  connect(user: UserKey): () => void {
    const key = presenceKeyOf(user)
    this.#connections.set(key, (this.#connections.get(key) ?? 0) + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const others = (this.#connections.get(key) ?? 0) - 1
      if (others > 0) this.#connections.set(key, others)
      else this.#connections.delete(key)
    }
  }

  isOnline(user: UserKey): boolean {
    return this.#connections.has(presenceKeyOf(user))
  }
}

function presenceKeyOf({ appId, userId }: UserKey): string {
  return `${appId}/${userId}`
}
