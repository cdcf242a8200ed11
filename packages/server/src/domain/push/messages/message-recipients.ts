import { type Int64, memberRole } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database } from '../../../db/database.js'
import { groupBy } from '../../../lib/group-by.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import type { Group } from '../../groups/core/group-model.js'
import { broadcastUserId, peerOf, readersOf } from '../../messaging/model/conversation-model.js'
import { systemUserId } from '../../users/system-user.js'
import type { Recipient } from '../audience/recipient.js'
import type { PushedMessage } from '../content/pushed-message.js'
import { type MessagePair, pairName, type ReceiverStore } from './receiver-store.js'
import { collapseMessages, collapseRecipients } from './rules/collapse.js'
import { isPushedGroup, memberInputs, recipientOf } from './rules/message-rules.js'
import type { PushConfig } from './rules/push-config.js'

/** A message that may be pushed, with what its sender says about it. */
export interface Candidate {
  readonly event: EventPayloads['message.stored']
  readonly config: PushConfig
}

/** A message that is to be pushed. */
export interface ResolvedMessage extends Candidate {
  readonly message: PushedMessage
  /** null outside of groups */
  readonly group: Group | null
  /** null: the audience is large, and resolved by pages */
  readonly recipients: readonly Recipient[] | null
}

interface MessageRecipientsOptions {
  readonly database: Database
  readonly store: ReceiverStore
  readonly groups: Pick<GroupCache, 'findGroup'>
}

/** The audiences of larger groups are resolved by pages. */
const maxMembersAtOnce = 500
/** Smaller groups are resolved by pages, too, when the messages of a batch have more receivers in all. */
const maxRecipientsAtOnce = 125_000

/** Finds the receivers of a batch of messages; messages without any are left out. */
export class MessageRecipients {
  constructor(private readonly options: MessageRecipientsOptions) {}

  async resolve(appId: string, candidates: readonly Candidate[]): Promise<ResolvedMessage[]> {
    const kinds = groupBy(candidates, ({ event }) => pushedKind(event))
    const resolved = await Promise.all([
      this.#direct(appId, kinds.get('direct') ?? []),
      this.#inGroups(appId, kinds.get('group') ?? []),
      broadcasts(kinds.get('broadcast') ?? []),
    ])
    return resolved.flat()
  }

  async #direct(appId: string, candidates: readonly Candidate[]): Promise<ResolvedMessage[]> {
    const { database, store } = this.options
    const messages = candidates.flatMap((candidate) => {
      const receiver = receiverOf(candidate.event)
      return receiver === null ? [] : [{ candidate, message: pushed(candidate, receiver) }]
    })
    if (messages.length === 0) return []
    const receivers = messages.map(({ message }) => message.targetId)
    const bound = await database.read((db) => store.findBound(db, appId, receivers))
    const reachable = messages.filter(({ message }) => bound.has(message.targetId))
    if (reachable.length === 0) return []
    const pairs = distinctPairs(reachable.map(({ message }) => message))
    const [muted, seen] = await database.read((db) =>
      Promise.all([store.findMutes(db, appId, pairs), store.findSeen(db, appId, pairs)]),
    )
    const resolved = reachable.map(({ candidate, message }) => {
      const name = pairName(message)
      const recipient = recipientOf(message, {
        userId: message.targetId,
        isSeen: (seen.get(name) ?? 0) >= message.seq,
        isSenderMuted: muted.has(name),
        membership: null,
      })
      return { ...candidate, group: null, message, recipients: [recipient] }
    })
    return [...groupBy(resolved, ({ message }) => pairName(message)).values()].flatMap(collapsed)
  }

  async #inGroups(appId: string, candidates: readonly Candidate[]): Promise<ResolvedMessage[]> {
    if (candidates.length === 0) return []
    const { database, store, groups } = this.options
    const byGroup = groupBy(candidates, ({ event }) => event.conversation.low_id)
    const pairs = distinctPairs(
      candidates.map(({ event }) => ({
        senderId: event.sender_id,
        targetId: event.conversation.low_id,
      })),
    )
    const replies = candidates.flatMap(({ event }) => (event.reply_to ? [event] : []))
    const [roles, authors] = await database.read((db) =>
      Promise.all([
        store.findRoles(db, appId, pairs),
        store.findOriginalSenders(db, appId, replies),
      ]),
    )
    const resolved = await Promise.all(
      [...byGroup].map(async ([groupId, ofGroup]) => {
        const group = await groups.findGroup({ appId, groupId })
        return group && isPushedGroup(group)
          ? this.#inGroup(group, ofGroup, { roles, authors })
          : []
      }),
    )
    return resolved.flat()
  }

  async #inGroup(
    group: Group,
    candidates: readonly Candidate[],
    {
      roles,
      authors,
    }: {
      readonly roles: ReadonlyMap<string, number>
      readonly authors: ReadonlyMap<Int64, Int64>
    },
  ): Promise<ResolvedMessage[]> {
    const { database, store } = this.options
    const { appId, groupId } = group
    const messages = candidates.map((candidate) => {
      const message = pushed(candidate, groupId)
      const isFromAdmin =
        message.senderId === systemUserId ||
        (roles.get(pairName(message)) ?? memberRole.member) > memberRole.member
      const quotedId = authors.get(message.msgId)
      return {
        ...message,
        isFromAdmin,
        mentions: candidate.config.mentions,
        ...(quotedId !== undefined && quotedId !== message.senderId && { quotedId }),
      }
    })
    const told = withCollapsed(candidates, messages)
    if (isLarge(group, told))
      return told.map((each) => ({ ...each, group, recipients: laterUnlessCollapsed(each) }))
    const members = await database.read((db) =>
      store.listMembers(db, { appId, groupId }, 0, maxMembersAtOnce),
    )
    const resolved = told.flatMap((each) => {
      const { message } = each
      const others = members.filter(({ userId }) => userId !== message.senderId)
      if (others.length === 0) return []
      const recipients =
        message.collapsedBy === null
          ? others.map((member) => recipientOf(message, memberInputs(message, member)))
          : []
      return [{ ...each, group, recipients }]
    })
    return collapsed(resolved)
  }
}

function isLarge(
  { memberCount }: Pick<Group, 'memberCount'>,
  messages: readonly { readonly message: PushedMessage }[],
): boolean {
  const told = messages.filter(({ message }) => message.collapsedBy === null)
  return memberCount > maxMembersAtOnce || memberCount * told.length > maxRecipientsAtOnce
}

function pushedKind({ conversation }: Candidate['event']): PushedMessage['kind'] {
  if (conversation.is_group) return 'group'
  return conversation.low_id === broadcastUserId ? 'broadcast' : 'direct'
}

/** The receiver of a direct message; null for messages to the sender's own user or to the system. */
function receiverOf({ conversation, sender_id }: Candidate['event']): Int64 | null {
  const key = { lowId: conversation.low_id, highId: conversation.high_id }
  const receiver = peerOf(key, sender_id)
  return receiver !== sender_id && readersOf(key).includes(receiver) ? receiver : null
}

function broadcasts(candidates: readonly Candidate[]): ResolvedMessage[] {
  const streams = groupBy(candidates, ({ event }) => event.sender_id)
  return [...streams.values()].flatMap((ofSender) =>
    withCollapsed(
      ofSender,
      ofSender.map((candidate) => pushed(candidate, 0)),
    ).map((each) => ({ ...each, group: null, recipients: laterUnlessCollapsed(each) })),
  )
}

function pushed({ event, config }: Candidate, targetId: Int64): PushedMessage {
  return {
    kind: pushedKind(event),
    msgId: event.msg_id,
    seq: Number(event.seq),
    senderId: event.sender_id,
    targetId,
    isFromAdmin: false,
    mentions: [],
    isSilent: config.isSilent,
    collapsedBy: null,
  }
}

function laterUnlessCollapsed({ message }: { readonly message: PushedMessage }): [] | null {
  return message.collapsedBy === null ? null : []
}

/** Messages of one conversation, oldest first. */
function withCollapsed(
  candidates: readonly Candidate[],
  messages: readonly PushedMessage[],
): (Candidate & { readonly message: PushedMessage })[] {
  const together = messages.map((message, index) => ({
    message,
    isNotification: candidates[index]?.event.is_system ?? false,
  }))
  const named = collapseMessages(together)
  return candidates.flatMap((candidate, index) => {
    const message = named[index]
    return message ? [{ ...candidate, message }] : []
  })
}

/** Messages of one conversation, oldest first. */
function collapsed(
  resolved: readonly (ResolvedMessage & { readonly recipients: readonly Recipient[] })[],
): ResolvedMessage[] {
  return collapseRecipients(resolved).map(({ recipients }, index) => ({
    ...(resolved[index] as ResolvedMessage),
    recipients,
  }))
}

function distinctPairs<Pair extends MessagePair>(pairs: readonly Pair[]): Pair[] {
  return [...new Map(pairs.map((pair) => [pairName(pair), pair])).values()]
}
