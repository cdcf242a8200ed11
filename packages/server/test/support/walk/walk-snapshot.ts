import {
  acknowledgeMessages,
  callerRules,
  findContacts,
  type GroupRightName,
  isWholeBody,
  listJoinRequests,
  type Operation,
  object,
  operations,
  readHistory,
} from '@hermod/protocol'
import type { Answer } from '@hermod/testkit'
import type { Account, WalkWorld } from './walk-world.js'

const systemId = 0

/**
 * What a user may read about itself without saying more. A read receipt is no reading; a file
 * ticket is another one every time.
 */
const ownReads = operations.filter((operation) => {
  const { methods, callers, claims, query, tag } = operation
  const needsNothing = (object(query).required ?? []).length === 0 && !isWholeBody(operation.body)
  const isRead =
    methods[0] === 'GET' && (operation as unknown) !== acknowledgeMessages && tag !== 'Files'
  const isOfUser = callerRules[callers].subject === 'required' || claims.length > 0
  return isRead && needsNothing && isOfUser
})

const readingRights: readonly (GroupRightName | undefined)[] = ['info', 'read', 'unblock']

/** What of a group may be read without saying more than which. */
const groupReads: readonly Operation[] = operations.filter(
  ({ methods, query, right }: Operation) => {
    const required: readonly string[] = object(query).required ?? []
    return (
      methods[0] === 'GET' &&
      readingRights.includes(right) &&
      required.length === 1 &&
      'group_id' in query
    )
  },
)

/** Reading a message delivers it, at once or a little later; whether it was read stays. */
function withoutDelivery({ text }: Answer): unknown {
  return JSON.parse(text, (name, value) =>
    name === 'status' && value === 'DELIVERED' ? 'UNREAD' : value,
  )
}

/** All that the API shows a user of what is the user's own and of groups, by operation. */
export async function snapshot(
  world: WalkWorld,
  { token, appId }: Account,
  peers: readonly Account[],
  groupIds: readonly number[] = [],
): Promise<Record<string, unknown>> {
  const read = async (operation: Operation, params = {}) =>
    withoutDelivery(await world.call(operation, { token, appId }, params))
  const peerIds = peers.map(({ id }) => id)
  const reads = [
    ...ownReads
      .filter((operation) => world.isBuilt(operation))
      .map(async (each): Promise<[string, unknown]> => [each.id, await read(each)]),
    ...groupIds.flatMap((group_id) =>
      groupReads
        .filter((operation) => world.isBuilt(operation))
        .map(
          async (each): Promise<[string, unknown]> => [
            `${each.id} of ${group_id}`,
            await read(each, { group_id }),
          ],
        ),
    ),
    read(listJoinRequests as Operation, { group_list: groupIds }).then(
      (envelope): [string, unknown] => ['applications', envelope],
    ),
    ...[systemId, ...peerIds, ...groupIds].map(async (id): Promise<[string, unknown]> => {
      return [
        `history with ${id}`,
        await read(readHistory as Operation, { opposite_id: id, msg_id_start: 0, limit: 100 }),
      ]
    }),
    read(findContacts as Operation, { list: peerIds }).then((envelope): [string, unknown] => [
      'peers',
      envelope,
    ]),
  ]
  return Object.fromEntries(await Promise.all(reads))
}
