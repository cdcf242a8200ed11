import type { User } from '../api.js'
import type { ClientState } from '../sessions/session.js'
import { fromWire, type WireUser } from '../wire/from-wire.js'
import { type Hub, memoized } from './hub.js'

/** Users as they are known now; the same object until one changes. */
export interface Users {
  /** Undefined: not read yet, or no such user. */
  find(id: number): User | undefined
  isOnline(id: number): boolean
}

/** Returns the answer of a cached read; undefined: not read yet. */
export function cachedValueOf<T>(state: ClientState, key: string): T | undefined {
  return state.cached.get(key)?.value as T | undefined
}

/** Makes the users of one client. */
export function createUsers(hub: Hub): Users {
  const users = new Map<number, { readonly raw: WireUser; readonly user: User }>()
  const onlineSet = memoized((online: readonly number[]) => new Set(online))
  const isOnline = (id: number) => onlineSet(hub.session.state.live.online).has(id)
  return {
    isOnline,
    find(id) {
      // A user that does not exist is read as null.
      const raw = cachedValueOf<WireUser | null>(hub.session.state, `user.${id}`)
      if (!raw) {
        users.delete(id)
        return undefined
      }
      const former = users.get(id)
      if (former?.raw === raw && former.user.isOnline === isOnline(id)) return former.user
      const user = fromWire.user(raw, isOnline(id))
      users.set(id, { raw, user })
      return user
    },
  }
}
