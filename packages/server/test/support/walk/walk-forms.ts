/** The forms in which a foreign caller names logs, conversations and things. */

import type { Target } from './walk-intrusions.js'
import type { MarkedGroup, MarkedWorld } from './walk-markers.js'

/** What the caller has: a user and a group. */
export interface Own {
  readonly user: number
  readonly group: number
}

const systemId = 0
const direct = (low_id: number, high_id: number) => ({ low_id, high_id, is_group: false })
const sorted = (a: number, b: number) => direct(Math.min(a, b), Math.max(a, b))
const group = (id: number) => ({ low_id: id, high_id: id, is_group: true })

/** A form, by its name. */
export type Forms = Readonly<Record<string, Target>>

/** Every form of the names of what a marked world protects. */
export function formsOf(marked: MarkedWorld, own: Own): Forms {
  const { alice, carol, dave, erin, messageId, recalledId, notificationId } = marked
  const found = (where: string) =>
    marked.markers.find((marker) => marker.where === where)?.text ?? '+15550000000'
  const names = { username: alice.username, mobile: found('mobile'), email: found('email') }
  const about = ({ groupId, announcementId, fileId, groupMessageId }: MarkedGroup) => ({
    ...{ group: groupId, announcement: announcementId, file: fileId, message: groupMessageId },
    ...{ log: group(groupId), conversation: groupId, user: groupId, task: marked.taskId },
    endpoint: marked.endpointId,
    ...{ recipient: { id: groupId, isGroup: true }, device: 1, contentType: 0, names },
  })
  const base: Target = {
    ...about(marked),
    ...{ user: alice.id, log: sorted(alice.id, carol.id), conversation: alice.id },
    ...{ recipient: { id: alice.id, isGroup: false }, message: messageId },
  }
  return {
    'a direct log': base,
    'another party of it': { ...base, conversation: carol.id, user: carol.id, contentType: 10 },
    'a log with its parties swapped': {
      ...base,
      log: direct(Math.max(alice.id, carol.id), Math.min(alice.id, carol.id)),
      ...{ conversation: dave.id, user: dave.id, message: recalledId, contentType: 12 },
    },
    'a user as a group': {
      ...base,
      ...{ log: group(alice.id), group: alice.id, user: erin.id, contentType: 9 },
      recipient: { id: alice.id, isGroup: true },
    },
    'the own log of another': {
      ...base,
      ...{ log: direct(alice.id, alice.id), conversation: messageId, user: messageId },
      contentType: 11,
    },
    'the log with the system': {
      ...base,
      ...{ log: direct(systemId, alice.id), conversation: systemId, message: notificationId },
    },
    'a group': { ...about(marked), contentType: 10 },
    'a group as a direct log': {
      ...about(marked),
      ...{ log: direct(marked.groupId, marked.groupId), user: alice.id, contentType: 12 },
      recipient: { id: marked.groupId, isGroup: false },
    },
    'the group of members': {
      ...about(marked.open),
      user: marked.open.people.carol.id,
      contentType: 12,
    },
    'the group of members as a direct log': {
      ...about(marked.open),
      log: direct(marked.open.groupId, marked.open.groupId),
      ...{ user: marked.open.people.alice.id, contentType: 10 },
      recipient: { id: marked.open.groupId, isGroup: false },
    },
    'the own log of the caller': {
      ...base,
      ...{ log: direct(own.user, own.user), conversation: own.user, group: own.group },
      ...{ recipient: { id: own.user, isGroup: false }, contentType: 10 },
    },
    'a group of the caller, as a direct log with a member of another': {
      ...about(marked),
      ...{ log: sorted(own.group, alice.id), group: own.group, conversation: own.group },
      ...{ recipient: { id: own.group, isGroup: true }, user: alice.id, contentType: 12 },
    },
    'the own user as a group': {
      ...base,
      ...{ log: group(own.user), group: own.user, conversation: alice.id, contentType: 12 },
    },
  }
}
