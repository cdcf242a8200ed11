/** Messages, positions and pins. */
import * as api from '@hermod/protocol'
import type { Cast } from './cast.js'
import { byApp, type Row, row } from './row.js'

const toUser = { type: 1, content_type: 0, content: 'hello' }
const toGroup = { ...toUser, type: 2 }
const acting = { readAck: 9, recall: 10, append: 11, replace: 12 } as const

const toFriend =
  (extras = {}) =>
  ({ friend }: Cast) => ({
    ...toUser,
    targets: [friend],
    ...extras,
  })

/** A message of the actor to the friend on which the call acts. */
const onMessage =
  (content_type: number, content = '') =>
  async (cast: Cast) => ({
    ...toUser,
    content_type,
    content,
    targets: [cast.friend],
    related_mid: await cast.message(cast.friend),
  })

/** A message of the actor to the friend that is being written. */
async function streamed(cast: Cast) {
  const { actor, friend } = cast
  const msg_id = await cast.message(friend, actor, { stream: { kind: 'text' } })
  return { conversation_id: friend, type: 1, msg_id }
}

async function inGroup(cast: Cast, senderId: number, extras = {}) {
  const group = await cast.group({ actor: 'admin' })
  return { group, message: await cast.message(group, senderId, { type: 2, ...extras }) }
}

const conversationWithFriend = async (cast: Cast) => {
  await cast.message(cast.actor, cast.friend)
  return { conversation_id: cast.friend }
}

const messageToFriend = async (cast: Cast) => ({
  conversation_id: cast.friend,
  msg_id: await cast.message(cast.friend),
})

const reactionToFriend = async (cast: Cast) => ({
  ...(await messageToFriend(cast)),
  type: 1,
  key: '👍',
  on: true,
})

async function pinned(cast: Cast) {
  const conversation = await conversationWithFriend(cast)
  await cast.given(api.pinConversation, conversation)
  return conversation
}

/** The friend joins without being asked. */
async function joined(cast: Cast, group_id: number): Promise<void> {
  const { friend } = cast
  await cast.given(api.updateSettings, { user_id: friend, group_confirm: false }, friend)
  await cast.given(api.addGroupMembers, { group_id, user_list: [friend] })
}

export const messageRows: readonly Row[] = [
  row(api.sendMessage, toFriend()),
  row(api.sendMessage, toFriend({ transaction_id: 7, ext: '{"a":1}' }), {
    as: 'with an ID of its own',
  }),
  row(api.sendMessage, ({ actor }) => ({ ...toUser, targets: [actor] }), { as: 'to oneself' }),
  row(api.sendMessage, async (cast) => ({ ...toGroup, targets: [await cast.group()] }), {
    as: 'to a group',
  }),
  row(
    api.sendMessage,
    async (cast) => ({ ...toGroup, targets: [await cast.group({ more: { type: 2 } })] }),
    { as: 'to a chatroom' },
  ),
  row(
    api.sendMessage,
    async (cast) => {
      const group_id = await cast.group()
      await cast.given(api.setMuteMode, { group_id, msg_mute_mode: 1 }, cast.friend)
      return { ...toGroup, targets: [group_id] }
    },
    { as: 'to a group that a member has muted' },
  ),
  row(
    api.sendMessage,
    async (cast) => {
      const group_id = await cast.group()
      await cast.given(api.setMuteMode, { group_id, msg_mute_mode: 2 }, cast.friend)
      return { ...toGroup, targets: [group_id] }
    },
    { as: 'to a group of which a member receives nothing' },
  ),
  row(
    api.sendMessage,
    async (cast) => {
      await cast.message(cast.actor, cast.friend)
      return { ...toUser, targets: [cast.friend] }
    },
    { as: 'after messages that are unread' },
  ),
  row(
    api.sendMessage,
    async (cast) => ({
      ...toUser,
      targets: [cast.friend],
      reply_to: await cast.message(cast.actor, cast.friend),
    }),
    { as: 'to reply' },
  ),
  row(api.sendMessage, toFriend({ online_only: true }), {
    as: 'to connected devices',
  }),
  row(api.sendMessage, toFriend({ content: '', ext: '{"input_status":"typing"}' }), {
    as: 'a typing signal',
  }),
  row(api.sendMessage, onMessage(acting.append, 'more'), { as: 'to append' }),
  row(api.sendMessage, onMessage(acting.replace, 'other'), { as: 'to replace' }),
  row(api.sendMessage, onMessage(acting.recall), { as: 'to recall' }),
  row(
    api.sendMessage,
    async (cast) => ({
      ...toUser,
      content_type: acting.readAck,
      content: '',
      targets: [cast.friend],
      related_mid: await cast.message(cast.actor, cast.friend),
    }),
    { as: 'to acknowledge' },
  ),
  ...(['replace', 'recall'] as const).map((name) =>
    row(
      api.sendMessage,
      async (cast) => {
        const group_id = await cast.group({ hasFriend: false })
        await cast.given(api.setHistoryVisible, { group_id, value: false })
        const related_mid = await cast.message(group_id, cast.actor, { type: 2 })
        await joined(cast, group_id)
        const content = name === 'replace' ? 'other' : ''
        return { ...toGroup, content_type: acting[name], content, targets: [group_id], related_mid }
      },
      { as: `to ${name} a message from before a member joined` },
    ),
  ),
  row(api.sendMessage, toFriend({ stream: { kind: 'markdown' } }), { as: 'to begin a stream' }),
  row(api.appendStream, async (cast) => ({ ...(await streamed(cast)), index: 1, text: 'piece' })),
  row(
    api.appendStream,
    async (cast) => {
      const stream = await streamed(cast)
      const end = { state: 'done', reason: 'stop', ext: '{"a":1}' }
      return { ...stream, index: 1, text: 'the whole text', end }
    },
    { as: 'to end a stream' },
  ),
  row(
    api.recallMessage,
    async (cast) => {
      const { conversation_id, msg_id } = await streamed(cast)
      return { conversation_id, msg_id }
    },
    { as: 'of a message that is being written' },
  ),
  row(api.recallMessage, async (cast) => ({
    conversation_id: cast.friend,
    msg_id: await cast.message(cast.friend),
  })),
  row(
    api.recallMessage,
    async (cast) => {
      const { group, message } = await inGroup(cast, cast.member)
      return { conversation_id: group, msg_id: message }
    },
    { as: 'of a member by an admin' },
  ),
  row(api.reactToMessage, reactionToFriend),
  row(
    api.reactToMessage,
    async (cast) => {
      const reaction = await reactionToFriend(cast)
      await cast.given(api.reactToMessage, reaction)
      return { ...reaction, on: false }
    },
    { as: 'that ends' },
  ),
  row(
    api.reactToMessage,
    async (cast) => {
      const { group, message } = await inGroup(cast, cast.member)
      return { conversation_id: group, type: 2, msg_id: message, key: '👍', on: true }
    },
    { as: 'in a group' },
  ),
  row(
    api.reactToMessage,
    async (cast) => {
      const group_id = await cast.group({ hasFriend: false })
      await cast.given(api.setHistoryVisible, { group_id, value: false })
      const msg_id = await cast.message(group_id, cast.actor, { type: 2 })
      await joined(cast, group_id)
      return { conversation_id: group_id, type: 2, msg_id, key: '👍', on: true }
    },
    { as: 'to a message from before a member joined' },
  ),
  row(api.pinMessage, messageToFriend),
  row(
    api.pinMessage,
    async (cast) => {
      const { group, message } = await inGroup(cast, cast.member)
      return { conversation_id: group, msg_id: message }
    },
    { as: 'in a group' },
  ),
  row(api.unpinMessage, async (cast) => {
    const message = await messageToFriend(cast)
    await cast.given(api.pinMessage, message)
    return message
  }),
  row(api.sendNotification, toFriend(), { by: byApp }),
  row(
    api.sendNotification,
    ({ actor, friend }) => ({ ...toUser, from_user_id: actor, targets: [friend] }),
    { by: byApp, as: 'in the name of a user' },
  ),
  row(api.sendNotification, async (cast) => ({ ...toGroup, targets: [await cast.group()] }), {
    by: byApp,
    as: 'to a group',
  }),

  row(api.acknowledgeMessages, conversationWithFriend),
  row(
    api.acknowledgeMessages,
    async (cast) => {
      const msg_id = await cast.message(cast.actor, cast.friend)
      await cast.message(cast.actor, cast.friend)
      return { conversation_id: cast.friend, msg_id }
    },
    { as: 'up to a message' },
  ),
  row(
    api.acknowledgeMessages,
    async (cast) => {
      await inGroup(cast, cast.member)
      await cast.message(cast.actor, cast.friend)
      return {}
    },
    { as: 'of all conversations' },
  ),
  row(
    api.acknowledgeMessages,
    async (cast) => {
      const group_id = await cast.group({ actor: 'member', hasReadAck: true })
      const config = JSON.stringify({ groupMemberList: [cast.actor] })
      await cast.message(group_id, cast.member, { type: 2, config })
      return { conversation_id: group_id }
    },
    { as: 'in a group, where a receipt is requested' },
  ),
  row(api.acknowledgeDelivery, async (cast) => {
    await cast.message(cast.actor, cast.friend)
    const { data } = await cast.phone.api.succeed('POST', '/message/sync', {
      body: { after: '', list: true, window: 0 },
    })
    const head = data.heads.find(({ log }: { log: { low_id: number; high_id: number } }) =>
      [log.low_id, log.high_id].includes(cast.friend),
    )
    return { conversations: [{ conversation_id: cast.friend, seq: head.seq }] }
  }),
  row(api.deleteConversation, conversationWithFriend),
  row(
    api.deleteConversation,
    async (cast) => {
      const { group } = await inGroup(cast, cast.member)
      return { conversation_id: group }
    },
    { as: 'of a group' },
  ),
  row(api.pinConversation, conversationWithFriend),
  row(api.unpinConversation, pinned),
]

/** Reaches everyone, so that it runs alone. */
export const broadcastRows: readonly Row[] = [
  row(api.sendBroadcast, toUser, { by: byApp, reachesAll: true }),
  row(api.sendBroadcast, ({ actor }) => ({ ...toUser, from_user_id: actor }), {
    by: byApp,
    reachesAll: true,
    as: 'in the name of a user',
  }),
]
