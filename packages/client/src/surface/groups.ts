import type { GroupInfo, Groups } from '../api.js'
import { groupTypes } from '../model/words.js'
import { type Hub, shareList } from '../views/hub.js'
import type { Interests } from '../views/interests.js'
import { cachedValueOf } from '../views/users.js'
import { deriveView } from '../views/view.js'
import {
  fromWire,
  type WireGroup,
  type WireInvitation,
  type WireJoinRequest,
} from '../wire/from-wire.js'
import { checkIds, checkOneOf, checkOptionalText, checkText } from './arguments.js'
import type { Caller } from './caller.js'

/** The status of an invitation or a request that waits for an answer. */
const pending = 0

/** Makes the groups of a client. */
export function createGroups(
  hub: Hub,
  { interests, call }: { readonly interests: Interests; readonly call: Caller },
): Groups {
  const read = <T>(key: string) => cachedValueOf<T>(hub.session.state, key)
  const ids = () => read<readonly number[]>('groups')

  /** A view of a list with one read for each group. */
  const ofAllGroups = <Public>(
    kind: string,
    publicOf: (id: number) => readonly Public[] | undefined,
    inOrder: (list: readonly Public[]) => readonly Public[],
  ) => {
    let former: readonly Public[] | undefined
    return deriveView(hub, {
      initial: undefined,
      inputs: () => [hub.cacheVersion],
      derive: (_version) => {
        interests.changed()
        const lists = ids()?.map(publicOf)
        if (!lists) former = undefined
        // At first all have to be read; a group that comes later is left out until it is.
        else if (former || !lists.includes(undefined))
          former = shareList(former, inOrder(lists.flatMap((list) => list ?? [])))
        return former
      },
      start: () =>
        interests.add({
          rank: 2,
          *reads() {
            yield 'groups'
            for (const id of ids() ?? []) yield `${kind}.${id}`
          },
        }),
    })
  }

  return {
    list: ofAllGroups<GroupInfo>(
      'group',
      (id) => {
        const group = read<WireGroup | null>(`group.${id}`)
        return group ? [fromWire.group(group)] : []
      },
      (list) => list,
    ),
    invitations: deriveView(hub, {
      initial: undefined,
      inputs: () => [read<readonly WireInvitation[]>('invitations')],
      derive: (invitations) =>
        invitations?.filter(({ status }) => status === pending).map(fromWire.invitation),
      start: () => interests.add({ rank: 2, reads: () => ['invitations'] }),
    }),
    joinRequests: ofAllGroups(
      'joinRequests',
      (id) =>
        read<readonly WireJoinRequest[]>(`joinRequests.${id}`)
          ?.filter(({ status }) => status === pending)
          .map(fromWire.joinRequest),
      (list) => [...list].sort((a, b) => b.expiresAt - a.expiresAt),
    ),
    async create({ name, type, userIds = [], description = '' }, options) {
      checkText('name', name)
      checkOneOf('type', type, [undefined, ...groupTypes])
      if (userIds.length > 0) checkIds('userIds', userIds)
      checkOptionalText('description', description)
      const group = {
        name,
        ...(type && { type: groupTypes.indexOf(type) as 0 | 1 | 2 | 3 }),
        ...(userIds.length > 0 && { user_list: userIds }),
        ...(description && { description }),
      }
      const { data } = await call('group.create', group, options)
      return (data as WireGroup).group_id
    },
  }
}
