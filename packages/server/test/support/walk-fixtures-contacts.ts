/** Contacts, messages, conversations and pushes. */
import * as api from '@hermod/protocol'
import { asSubject, type Fixture, fixture, type GroupContext } from './walk-fixture.js'

const text = { type: 1, content_type: 0, content: 'hi' }

const friendAsUser = ({ friend }: GroupContext) => ({ user_id: friend.id })
const friendAsConversation = ({ friend }: GroupContext) => ({ conversation_id: friend.id })
const textToFriend = ({ friend }: GroupContext) => ({ ...text, targets: [friend.id] })

async function stranger({ world }: GroupContext): Promise<{ user_id: number }> {
  return { user_id: await world.stranger() }
}

async function contact(scene: GroupContext): Promise<{ user_id: number }> {
  const { user_id } = await stranger(scene)
  await scene.world.prepare(api.addContacts, asSubject(scene), { list: [user_id] })
  return { user_id }
}

/** Somebody who waits for the subject's answer. */
async function applicant(scene: GroupContext): Promise<{ user_id: number }> {
  const { world, subject } = scene
  const { user_id } = await stranger(scene)
  await world.prepare(api.setAuthMode, asSubject(scene), { value: 1 })
  await world.prepare(
    api.applyToContact,
    { ...asSubject(scene), userId: user_id },
    { user_id: subject.id },
  )
  return { user_id }
}

async function blocked(scene: GroupContext): Promise<{ user_id: number }> {
  const { user_id } = await stranger(scene)
  await scene.world.prepare(api.blockUser, asSubject(scene), { user_id })
  return { user_id }
}

/** @returns the conversation with the friend, in which there is something */
async function conversation(
  scene: GroupContext,
): Promise<{ conversation_id: number; msg_id: number }> {
  const sent = await scene.world.prepare(api.sendMessage, asSubject(scene), textToFriend(scene))
  return { conversation_id: scene.friend.id, msg_id: sent?.msg_ids[0] ?? 0 }
}

async function conversationOnly(scene: GroupContext): Promise<{ conversation_id: number }> {
  const { conversation_id } = await conversation(scene)
  return { conversation_id }
}

export const contactFixtures: readonly Fixture[] = [
  fixture(api.applyToContact, async (scene) => ({
    ...(await stranger(scene)),
    alias: 'them',
    reason: 'hello',
  })),
  fixture(api.applyToContacts, async (scene) => ({
    list: [{ ...(await stranger(scene)), alias: 'them', reason: 'hello' }],
  })),
  fixture(api.listContactRequests),
  fixture(api.acceptContact, applicant),
  fixture(api.declineContact, applicant),
  fixture(api.deleteContact, contact),
  fixture(api.updateContact, async (scene) => ({
    ...(await contact(scene)),
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
    const mobile = `+${friend.id}`
    await world.prepare(api.setMobile, world.adminFor(friend), { mobile })
    return { mobile }
  }),
  fixture(api.mayMessage, ({ subject, friend }) => ({ roster_id: friend.id, user_id: subject.id })),
  fixture(api.addContacts, async (scene) => ({ list: [(await stranger(scene)).user_id] })),
  fixture(api.listContactNames),
]

export const messageFixtures: readonly Fixture[] = [
  fixture(api.sendMessage, textToFriend),
  fixture(api.sendNotification, textToFriend),
  fixture(api.sendBroadcast, text),
  fixture(api.acknowledgeMessages, conversationOnly),
  fixture(api.recallMessage, conversation),
  fixture(api.readHistory, ({ friend }) => ({
    opposite_id: friend.id,
    msg_id_start: 0,
    limit: 10,
  })),
  fixture(api.deleteConversation, conversationOnly),
  fixture(api.listConversations, { limit: 5 }),
  fixture(api.listUnread),
  fixture(api.pinConversation, conversationOnly),
  fixture(api.unpinConversation, friendAsConversation),
  fixture(api.listPinnedConversations),
]

const pushTo = ({ subject }: GroupContext) => ({
  audience: { user_id: [subject.id] },
  message: { title: 'News', body: 'There is some.' },
})

export const pushFixtures: readonly Fixture[] = [
  fixture(api.getPushCertificate, { provider: 1 }, { error: 'push_certificate_not_found' }),
  fixture(api.startPushTask, pushTo),
  fixture(api.listPushTaskStatistics, async (scene) => {
    const { adminToken: token, appId } = scene.world.here
    const task = await scene.world.prepare(api.startPushTask, { token, appId }, pushTo(scene))
    return { list: [task?.data.task_id ?? 1] }
  }),
]
