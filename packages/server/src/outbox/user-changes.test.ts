import { userChangeKind } from '@hermod/protocol'
import { actorEvent, type EventKind } from '@hermod/protocol/events'
import { describe, expect, it } from 'vitest'
import { type AlsoConcerned, type AppendedEvent, userChangesOf } from './user-changes.js'

const about = { appId: 'app', actorId: 1, userIds: [2, 3] }

function event(kind: EventKind, payload: object = {}, also: AlsoConcerned = {}): AppendedEvent {
  const { appId, actorId: actor_id, userIds: user_ids } = about
  return { kind, appId, payload: { actor_id, user_ids, ...payload }, also } as AppendedEvent
}

/** The changes of an event as user, kind and ref. */
function changesOf(appended: AppendedEvent): (readonly [number, number, number])[] {
  return userChangesOf(appended).map(({ userId, kind, ref }) => [Number(userId), kind, Number(ref)])
}

const { contact, contactRequest, group, joinRequests, invitation, profile } = userChangeKind

describe('user changes of an event', () => {
  it('a contact that is added changes for both users, with the other user as ref', () => {
    const added = actorEvent('contact.added', { appId: 'app', actorId: 1, userIds: [2] })
    expect(changesOf(added)).toEqual([
      [1, contact, 2],
      [2, contact, 1],
      [1, contactRequest, 2],
      [2, contactRequest, 1],
    ])
  })

  it('a block changes the contact for the actor only', () => {
    const blocked = actorEvent('contact.blocked', { appId: 'app', actorId: 1, userIds: [2] })
    expect(changesOf(blocked)).toEqual([[1, contact, 2]])
  })

  it('a join changes the group for the users, and the lists of those whose entries it answered', () => {
    const also = { managers: [7, 8], invitees: [3] }
    expect(changesOf(event('group.joined', { group_id: 90 }, also))).toEqual([
      [2, group, 90],
      [3, group, 90],
      [3, invitation, 90],
      [7, joinRequests, 90],
      [8, joinRequests, 90],
    ])
  })

  it('a profile changes without a ref', () => {
    expect(changesOf(event('user.info_updated', { properties: ['avatar'] }))).toEqual([
      [2, profile, 0],
      [3, profile, 0],
    ])
  })

  it.each(['message.stored', 'message.recalled', 'message.read', 'group.destroyed'] as const)(
    '%s changes nothing of a user',
    (kind) => expect(userChangesOf(event(kind, { group_id: 90 }))).toEqual([]),
  )
})
