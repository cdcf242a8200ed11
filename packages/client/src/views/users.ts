import type { User } from '../api.js'
import type { RosterEntry } from '../protocol-types.js'
import type { ClientState } from '../sessions/session.js'
import { type Hub, memoized } from './hub.js'

/** Values of `relation` of the contract. */
const relations = { contact: 0, blocked: 3 }

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
  const users = new Map<number, User>()
  const onlineSet = memoized((online: readonly number[]) => new Set(online))
  const isOnline = (id: number) => onlineSet(hub.session.state.live.online).has(id)
  return {
    isOnline,
    find(id) {
      // A user that does not exist is read as null.
      const raw = cachedValueOf<RosterEntry | null>(hub.session.state, `user.${id}`)
      if (!raw) {
        users.delete(id)
        return undefined
      }
      const former = users.get(id)
      if (former?.raw === raw && former.isOnline === isOnline(id)) return former
      const user = userOf(raw, isOnline)
      users.set(id, user)
      return user
    },
  }
}

/** Returns the view of a user. */
export function userOf(raw: RosterEntry, isOnline: (id: number) => boolean): User {
  return {
    id: raw.user_id,
    name: raw.alias || raw.nick_name || raw.username,
    avatar: raw.avatar,
    isContact: raw.relation === relations.contact,
    isBlocked: raw.relation === relations.blocked,
    isOnline: isOnline(raw.user_id),
    raw,
  }
}
