import type { PushedMessage } from '../content/pushed-message.js'
import type { Audience } from '../content/task-content.js'

const maxNamed = 10

/** The audience of a push in words; push tokens are counted and not named. */
export function describeAudience(audience: Audience): string {
  switch (audience.kind) {
    case 'all':
      return 'all devices'
    case 'tag':
      return `users with one of the tags ${listed(audience.values)}`
    case 'alias':
      return `users with one of the aliases ${listed(audience.values)}`
    case 'user_id':
      return `the users ${listed(audience.values)}`
    case 'push_token':
      return `the devices of ${audience.values.length} push tokens`
    case 'message':
      return describeMessage(audience.message)
  }
}

function describeMessage({ kind, senderId, targetId }: PushedMessage): string {
  const from = senderId === 0 ? 'the system' : `user ${senderId}`
  if (kind === 'broadcast') return `all users, of a broadcast of ${from}`
  return kind === 'group'
    ? `the members of group ${targetId}, of a message of ${from}`
    : `user ${targetId}, of a message of ${from}`
}

function listed(values: readonly unknown[]): string {
  const named = values.slice(0, maxNamed).join(', ')
  const others = values.length - maxNamed
  return others > 0 ? `${named} and ${others} more` : named
}
