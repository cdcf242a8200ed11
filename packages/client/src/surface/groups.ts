import type { Group, Groups, NotDone } from '../api.js'
import type { GroupMemberInfo, GroupRecord } from '../protocol-types.js'
import type { ConversationParts } from '../views/conversation-parts.js'
import { type Hub, shareList } from '../views/hub.js'
import type { Interests } from '../views/interests.js'
import { cachedValueOf } from '../views/users.js'
import { deriveView } from '../views/view.js'
import { checkId, checkIds, checkOptionalText, checkText, refuse } from './arguments.js'
import type { Caller } from './caller.js'

/** Parts of a client that groups use. */
interface GroupSources {
  readonly parts: ConversationParts
  readonly interests: Interests
  readonly call: Caller
}

/** Makes the groups of a client. */
export function createGroups(hub: Hub, sources: GroupSources): Groups {
  const { parts, interests, call } = sources
  const handles = new Map<number, Group>()
  const ids = () => cachedValueOf<readonly number[]>(hub.session.state, 'groups')
  const groupOf = (id: number) =>
    cachedValueOf<GroupRecord | null>(hub.session.state, `group.${id}`)

  let former: readonly GroupRecord[] | undefined

  return {
    list: deriveView(hub, {
      initial: undefined,
      inputs: () => [hub.cacheVersion],
      derive: (_things) => {
        interests.changed()
        const groups = ids()?.flatMap((id) => groupOf(id) ?? [])
        former = groups && shareList(former, groups)
        return former
      },
      start: () =>
        interests.add({
          rank: 2,
          *reads() {
            yield 'groups'
            for (const id of ids() ?? []) yield `group.${id}`
          },
        }),
    }),
    group(id) {
      checkId('id', id)
      const handle = handles.get(id) ?? makeGroup(hub, sources, id)
      handles.set(id, handle)
      return handle
    },
    async create({ name, userIds = [], description = '' }, options) {
      checkText('name', name)
      if (userIds.length > 0) checkIds('userIds', userIds)
      checkOptionalText('description', description)
      const { data } = await call(
        'group.create',
        {
          name,
          ...(userIds.length > 0 && { user_list: userIds }),
          ...(description && { description }),
        },
        options,
      )
      const { group_id: id } = data as GroupRecord
      parts.addGroup(id)
      return id
    },
  }
}

function makeGroup(hub: Hub, { interests, call }: GroupSources, id: number): Group {
  const ofGroup = { group_id: id }
  const cachedView = <T>(key: string) =>
    deriveView(hub, {
      initial: undefined,
      inputs: () => [cachedValueOf<T | null>(hub.session.state, key)],
      derive: (value) => value ?? undefined,
      // The version of the group tells which events its members have.
      start: () => interests.add({ rank: 2, reads: () => [key, `group.${id}`] }),
    })
  return {
    id,
    info: cachedView<GroupRecord>(`group.${id}`),
    members: cachedView<readonly GroupMemberInfo[]>(`members.${id}`),
    async invite(userIds, { reason, ...options } = {}) {
      checkIds('userIds', userIds)
      checkOptionalText('reason', reason)
      const users = { ...ofGroup, user_list: userIds, ...(reason && { reason }) }
      return notDone((await call('group.invite', users, options)).data)
    },
    async kick(userIds, options) {
      checkIds('userIds', userIds)
      return notDone((await call('group.kick', { ...ofGroup, user_list: userIds }, options)).data)
    },
    async rename(name, options) {
      checkText('name', name)
      await call('group.name.update', { ...ofGroup, value: name }, options)
    },
    async setMuted(isMuted, options) {
      if (typeof isMuted !== 'boolean') refuse('isMuted', 'true or false')
      await call('group.msg.not_disturb', { ...ofGroup, value: isMuted }, options)
    },
    async leave(options) {
      await call('group.leave', ofGroup, options)
    },
    async destroy(options) {
      await call('group.destroy', ofGroup, options)
    },
  }
}

function notDone(results: unknown): readonly NotDone[] {
  const list = results as readonly {
    readonly user_id: number
    readonly result: 'success' | 'fail'
    readonly reason?: string
  }[]
  return list
    .filter(({ result }) => result === 'fail')
    .map(({ user_id: userId, reason = '' }) => ({ userId, reason }))
}
