/** Contacts, messages, conversations and pushes. */
import * as api from '@hermod/protocol'
import { mobileOf } from '../contacts.js'
import { asSubject, type Fixture, fixture, type WalkContext } from './walk-fixture.js'

const text = { type: 1, content_type: 0, content: 'hi' }

const friendAsUser = ({ friend }: WalkContext) => ({ user_id: friend.id })
const friendAsConversation = ({ friend }: WalkContext) => ({ conversation_id: friend.id })
const textToFriend = ({ friend }: WalkContext) => ({ ...text, targets: [friend.id] })

async function stranger({ world }: WalkContext): Promise<{ user_id: number }> {
  return { user_id: await world.stranger() }
}

async function contact(context: WalkContext): Promise<{ user_id: number }> {
  const { user_id } = await stranger(context)
  await context.world.prepare(api.addContacts, asSubject(context), { list: [user_id] })
  return { user_id }
}

/** Somebody who waits for the subject's answer. */
async function applicant(context: WalkContext): Promise<{ user_id: number }> {
  const { world, subject } = context
  const { user_id } = await stranger(context)
  await world.prepare(api.setAuthMode, asSubject(context), { value: 1 })
  await world.prepare(
    api.applyToContact,
    { ...asSubject(context), userId: user_id },
    { user_id: subject.id },
  )
  return { user_id }
}

async function blocked(context: WalkContext): Promise<{ user_id: number }> {
  const { user_id } = await stranger(context)
  await context.world.prepare(api.blockUser, asSubject(context), { user_id })
  return { user_id }
}

/** @returns the conversation with the friend, in which there is something */
async function conversation(
  context: WalkContext,
): Promise<{ conversation_id: number; msg_id: number }> {
  const sent = await context.world.prepare(
    api.sendMessage,
    asSubject(context),
    textToFriend(context),
  )
  return { conversation_id: context.friend.id, msg_id: sent?.msg_ids[0] ?? 0 }
}

/** A reaction to a message of the subject to the friend. */
async function reaction(context: WalkContext) {
  return { ...(await conversation(context)), type: 1, key: '👍', on: true }
}

async function pinnedMessage(context: WalkContext) {
  const message = await conversation(context)
  await context.world.prepare(api.pinMessage, asSubject(context), message)
  return message
}

/** A message of the subject to the friend that is being written. */
async function stream(context: WalkContext): Promise<{ conversation_id: number; msg_id: number }> {
  const sent = await context.world.prepare(api.sendMessage, asSubject(context), {
    ...textToFriend(context),
    stream: { kind: 'text' },
  })
  return { conversation_id: context.friend.id, msg_id: sent?.msg_ids[0] ?? 0 }
}

async function conversationOnly(context: WalkContext): Promise<{ conversation_id: number }> {
  const { conversation_id } = await conversation(context)
  return { conversation_id }
}

/** A message of the subject in a group with the friend. */
async function groupMessage(context: WalkContext) {
  const { world, friend } = context
  const created = await world.prepare(api.createGroup, asSubject(context), {
    name: 'Walkers',
    type: 0,
  })
  const conversation_id: number = created?.data.group_id ?? 1
  const sent = await world.prepare(api.sendMessage, asSubject(context), {
    ...{ ...text, type: 2, targets: [conversation_id] },
    config: JSON.stringify({ groupMemberList: [friend.id] }),
  })
  return { conversation_id, msg_id: sent?.msg_ids[0] ?? 0 }
}

/** The log of the subject and the friend, with something in it. */
async function logOfFriend(context: WalkContext) {
  await conversation(context)
  const [low_id = 0, high_id = 0] = [context.subject.id, context.friend.id].sort((a, b) => a - b)
  return { low_id, high_id, is_group: false }
}

export const contactFixtures: readonly Fixture[] = [
  fixture(api.applyToContact, async (context) => ({
    ...(await stranger(context)),
    alias: 'them',
    reason: 'hello',
  })),
  fixture(api.applyToContacts, async (context) => ({
    list: [{ ...(await stranger(context)), alias: 'them', reason: 'hello' }],
  })),
  fixture(api.listContactRequests),
  fixture(api.acceptContact, applicant),
  fixture(api.declineContact, applicant),
  fixture(api.deleteContact, contact),
  fixture(api.updateContact, async (context) => ({
    ...(await contact(context)),
    alias: 'them',
    ext: 'noted',
    mute_notification: true,
  })),
  fixture(api.listContacts),
  fixture(api.findContacts, ({ friend }) => ({ list: [friend.id] })),
  fixture(api.blockUser, stranger),
  fixture(api.unblockUser, blocked),
  fixture(api.listBlockedUsers),
  fixture(api.findUserById, friendAsUser),
  fixture(api.findUserByUsername, ({ friend }) => ({ username: friend.username })),
  fixture(api.findUserByMobile, async ({ world, friend }) => {
    const mobile = mobileOf(friend.id)
    await world.prepare(api.setMobile, world.adminFor(friend), { mobile })
    return { mobile }
  }),
  fixture(api.mayMessage, ({ subject, friend }) => ({ roster_id: friend.id, user_id: subject.id })),
  fixture(api.addContacts, async (context) => ({ list: [(await stranger(context)).user_id] })),
  fixture(api.listContactNames),
]

export const messageFixtures: readonly Fixture[] = [
  fixture(api.sendMessage, textToFriend),
  fixture(api.sendNotification, textToFriend),
  fixture(api.sendBroadcast, text),
  fixture(api.acknowledgeMessages, conversationOnly),
  fixture(api.recallMessage, conversation),
  fixture(api.getMessage, conversation),
  fixture(api.reactToMessage, reaction),
  fixture(api.listReactions, conversation),
  fixture(api.pinMessage, conversation),
  fixture(api.unpinMessage, pinnedMessage),
  fixture(api.listPinnedMessages, conversationOnly),
  fixture(api.appendStream, async (context) => ({
    ...(await stream(context)),
    ...{ type: 1, from_user_id: context.subject.id, index: 1, text: 'piece' },
    end: { state: 'done' },
  })),
  fixture(api.cancelStream, stream),
  fixture(api.sendActivity, (context) => ({
    ...friendAsConversation(context),
    ...{ type: 1, state: 'thinking', text: 'hard' },
  })),
  fixture(api.readHistory, ({ friend }) => ({
    opposite_id: friend.id,
    msg_id_start: 0,
    limit: 10,
  })),
  fixture(api.acknowledgeDelivery, async (context) => {
    const { world, friend, subject } = context
    await world.prepare(api.sendMessage, world.adminFor(friend), {
      ...text,
      targets: [subject.id],
    })
    return { conversations: [{ conversation_id: friend.id, seq: 2 ** 40 }] }
  }),
  fixture(api.deleteConversation, conversationOnly),
  fixture(api.listConversations, { limit: 5 }),
  fixture(api.listUnread),
  fixture(api.syncMessages, async (context) => ({
    have: [{ log: await logOfFriend(context), change: 0 }],
  })),
  fixture(api.readChanges, async (context) => ({
    log: await logOfFriend(context),
    after_change: 0,
  })),
  fixture(api.readLogHistory, async (context) => ({ log: await logOfFriend(context) })),
  fixture(api.listReceipts, groupMessage),
  fixture(api.pinConversation, conversationOnly),
  fixture(api.unpinConversation, friendAsConversation),
  fixture(api.listPinnedConversations),
]

const pushTo = ({ subject }: WalkContext) => ({
  audience: { user_id: [subject.id] },
  message: { title: 'News', body: 'There is some.' },
})

export const pushFixtures: readonly Fixture[] = [
  fixture(api.getPushCertificate, { provider: 1 }, { error: 'push_certificate_not_found' }),
  fixture(api.startPushTask, pushTo),
  fixture(api.listPushTaskStatistics, async (context) => {
    const { adminToken: token, appId } = context.world.here
    const task = await context.world.prepare(api.startPushTask, { token, appId }, pushTo(context))
    return { list: [task?.data.task_id ?? 1] }
  }),
  fixture(api.receivePush, { task_ids: [1] }),
  fixture(api.reportPush, { task_id: 1 }, { error: 'push_task_not_found' }),
  fixture(api.tracePush, ({ subject }) => ({ task_id: 1, user_id: subject.id }), {
    error: 'push_task_not_found',
  }),
]
