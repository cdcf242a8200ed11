import type { Contacts, User } from '../api.js'
import { ClientError } from '../errors.js'
import { fromWire, type WireContactRequest, type WireUser } from '../wire/from-wire.js'
import { type Hub, isSameList } from '../views/hub.js'
import type { Interests } from '../views/interests.js'
import { cachedValueOf, type Users } from '../views/users.js'
import { deriveView } from '../views/view.js'
import { checkId, checkOptionalText, checkText } from './arguments.js'
import type { Caller } from './caller.js'

/** Characters of the longest username; the service refuses longer ones. */
const maxName = 64
/** Status of a contact request that waits for an answer. */
const waiting = 0

/** Makes the contacts of a client. */
export function createContacts(
  hub: Hub,
  { users, interests, call }: { users: Users; interests: Interests; call: Caller },
): Contacts {
  const { session } = hub
  const ids = () => cachedValueOf<readonly number[]>(session.state, 'contacts')
  let found: readonly User[] = []
  let sorted: readonly User[] = []

  return {
    list: deriveView(hub, {
      initial: undefined,
      inputs: () => [hub.cacheVersion, session.state.live.online],
      derive: (_things, _online) => {
        interests.changed()
        const next = ids()?.flatMap((id) => users.find(id) ?? [])
        if (next === undefined) return undefined
        if (!isSameList(found, next)) {
          found = next
          sorted = [...next].sort((a, b) => a.name.localeCompare(b.name) || a.id - b.id)
        }
        return sorted
      },
      start: () =>
        interests.add({
          rank: 2,
          *reads() {
            yield 'contacts'
            for (const id of ids() ?? []) yield `user.${id}`
          },
          presence: () => ids() ?? [],
        }),
    }),
    requests: deriveView(hub, {
      initial: undefined,
      inputs: () => [
        cachedValueOf<readonly WireContactRequest[]>(session.state, 'contactRequests'),
      ],
      derive: (requests) =>
        requests?.filter(({ status }) => status === waiting).map(fromWire.contactRequest),
      start: () => interests.add({ rank: 2, reads: () => ['contactRequests'] }),
    }),
    async add(userId, { reason, ...options } = {}) {
      checkId('userId', userId)
      checkOptionalText('reason', reason)
      await call('contact.apply', { user_id: userId, ...(reason && { reason }) }, options)
    },
    async accept(userId, options) {
      checkId('userId', userId)
      await call('contact.accept', { user_id: userId }, options)
    },
    async decline(userId, { reason, ...options } = {}) {
      checkId('userId', userId)
      checkOptionalText('reason', reason)
      await call('contact.decline', { user_id: userId, ...(reason && { reason }) }, options)
    },
    async remove(userId, options) {
      checkId('userId', userId)
      await call('contact.delete', { user_id: userId }, options)
    },
    async block(userId, options) {
      checkId('userId', userId)
      await call('contact.block', { user_id: userId }, options)
    },
    async unblock(userId, options) {
      checkId('userId', userId)
      await call('contact.unblock', { user_id: userId }, options)
    },
    async setAlias(userId, alias, options) {
      checkId('userId', userId)
      checkText('alias', alias, { isEmptyAllowed: true })
      await call('contact.update', { user_id: userId, alias }, options)
    },
    async findByName(username, options) {
      checkText('username', username)
      if ([...username].length > maxName) return undefined
      try {
        const { data } = await call('contact.find.name', { username }, options)
        const user = data as WireUser
        return fromWire.user(user, users.isOnline(user.user_id))
      } catch (error) {
        if (error instanceof ClientError && error.name === 'user_not_found') return undefined
        throw error
      }
    },
  }
}
