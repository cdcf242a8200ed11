/** The keys by which events are kept in order: `g:<group>`, `d:<low>:<high>`, `u:<user>`, `app`. */
import { broadcastUserId } from '../enums.js'
import type { Int64 } from '../schema.js'

interface ConversationMembers {
  readonly low_id: Int64
  readonly high_id: Int64
  readonly is_group: boolean
}

interface Action {
  readonly actor_id: Int64
  readonly user_ids: readonly Int64[]
}

/** The application as a whole. */
export const ofApp = () => 'app'

/** An event in a group. */
export const ofGroup = ({ group_id }: { readonly group_id: Int64 }) => `g:${group_id}`

/** The log of a conversation. Those of broadcasts have the key of the application. */
export function ofLog({ conversation }: { readonly conversation: ConversationMembers }): string {
  const { low_id, high_id, is_group } = conversation
  if (is_group) return `g:${low_id}`
  return low_id === broadcastUserId ? ofApp() : `d:${low_id}:${high_id}`
}

/** An action between the actor and one other user. */
export const ofPair = ({ actor_id, user_ids: [other] }: Action) =>
  other === undefined ? ofUser(actor_id) : pair(actor_id, other)

/** An action that concerns the actor alone, or all others. */
export const ofActor = ({ actor_id }: Pick<Action, 'actor_id'>) => ofUser(actor_id)

/** An action on one account; an administrator is the actor 0. */
export const ofAccount = ({ actor_id, user_ids: [user] }: Action) => ofUser(user ?? actor_id)

function ofUser(userId: Int64): string {
  return `u:${userId}`
}

function pair(a: Int64, b: Int64): string {
  return a < b ? `d:${a}:${b}` : `d:${b}:${a}`
}
