import { type Int64, userChangeKind } from '@hermod/protocol'
import { type ConcernedUsers, eventDefinitions, type UserChangeName } from '@hermod/protocol/events'
import type { RecordedEvent } from './rows/recorded-event.js'

/** Users that an event concerns although its payload does not name them. */
export type AlsoConcerned = Readonly<
  Partial<Record<Extract<ConcernedUsers, 'managers' | 'invitees'>, readonly Int64[]>>
>

/** An event with the users that {@link userChangesOf} cannot read from its payload. */
export type AppendedEvent = RecordedEvent & { readonly also?: AlsoConcerned }

/** A thing of a user that clients must read again. */
export interface UserChange {
  readonly userId: Int64
  /** A value of `userChangeKind` of the protocol. */
  readonly kind: number
  /** The peer or the group; 0 = the user's only one of its kind. */
  readonly ref: Int64
}

/** Returns the changes of users that an event makes. */
export function userChangesOf(event: AppendedEvent): UserChange[] {
  if (event.kind === 'message.stored') return []
  const { also = {}, payload } = event
  const { userChanges } = eventDefinitions[event.kind]
  return Object.entries(userChanges).flatMap(([name, concerned]) =>
    changesByUsers(name as UserChangeName, payload, concernedUsers(concerned, payload, also)),
  )
}

type ChangePayload = Exclude<AppendedEvent, { readonly kind: 'message.stored' }>['payload']

function concernedUsers(
  concerned: ConcernedUsers,
  payload: ChangePayload,
  also: AlsoConcerned,
): readonly Int64[] {
  const { actor_id: actorId, user_ids: userIds } = payload
  switch (concerned) {
    case 'actor':
      return [actorId]
    case 'users':
      return userIds
    case 'both':
      return [actorId, ...userIds]
    case 'owners':
      return 'former_owner_id' in payload ? [payload.former_owner_id, ...userIds] : userIds
    default:
      return also[concerned] ?? []
  }
}

function changesByUsers(
  name: UserChangeName,
  payload: ChangePayload,
  userIds: readonly Int64[],
): UserChange[] {
  const kind = userChangeKind[name]
  if (name !== 'contact' && name !== 'contactRequest') {
    const ref = 'group_id' in payload ? payload.group_id : 0
    return userIds.map((userId) => ({ userId, kind, ref }))
  }
  const { actor_id: actorId, user_ids: peerIds } = payload
  return userIds.flatMap((userId) =>
    (userId === actorId ? peerIds : [actorId]).map((ref) => ({ userId, kind, ref })),
  )
}
