import type { Message, Reaction } from '../../api.js'
import { ownKeys } from '../../model/message-fields.js'
import type { MessageRecord } from '../../model/records.js'
import { reactionForm, type Wish } from '../../model/wishes.js'

/** Users that a reaction shows. */
const shownUsers = 5

/** The parts of a message that change after the send. */
type MessageState = Pick<Message, 'reactions' | 'pinned'>

/**
 * Returns the reactions and the pin of a stored message.
 * @param wishes what the own user wants of it, and the server may not have yet
 */
export function messageState(
  record: MessageRecord,
  wishes: readonly Wish[],
  me: number,
): MessageState {
  const own = new Set(ownKeys(record))
  let reactions: readonly Reaction[] = listOf(record.fields?.reactions).flatMap((each) =>
    reactionOf(each, own),
  )
  let pinned = pinOf(record.fields?.pinned)
  for (const { reaction, isOn } of wishes) {
    if (reaction !== undefined) reactions = withWish(reactions, { key: reaction, isOn, me })
    else if (!isOn) pinned = undefined
    else pinned ??= { by: me, at: 0 }
  }
  return { reactions, ...(pinned && { pinned }) }
}

/** The reactions after the own user has changed one. */
function withWish(
  reactions: readonly Reaction[],
  { key, isOn, me }: { readonly key: string; readonly isOn: boolean; readonly me: number },
): readonly Reaction[] {
  const form = reactionForm(key)
  const found = reactions.find((each) => reactionForm(each.key) === form)
  if (!found)
    return isOn ? [...reactions, { key, count: 1, userIds: [me], isOwn: true }] : reactions
  if (found.isOwn === isOn) return reactions
  const others = found.userIds.filter((userId) => userId !== me)
  const changed: Reaction = {
    key: found.key,
    count: found.count + (isOn ? 1 : -1),
    userIds: isOn ? [...others, me].slice(-shownUsers) : others,
    isOwn: isOn,
  }
  return reactions.map((each) => (each === found ? changed : each)).filter(({ count }) => count > 0)
}

function reactionOf(value: unknown, own: ReadonlySet<string>): readonly Reaction[] {
  const { key, count, latest } = Object(value) as Record<string, unknown>
  if (typeof key !== 'string' || typeof count !== 'number') return []
  const userIds = listOf(latest).filter((each): each is number => typeof each === 'number')
  return [{ key, count, userIds, isOwn: own.has(key) }]
}

function pinOf(value: unknown): Message['pinned'] {
  const { by, at } = Object(value) as Record<string, unknown>
  return typeof by === 'number' && typeof at === 'number' ? { by, at } : undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
