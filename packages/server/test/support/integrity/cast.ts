/** Data of every table that the integrity check looks at. */
import { apply, authModes, changeSettings, connect, registerPeople } from '../contacts.js'
import { aGroup, expectSuccess, groupCall, types } from '../groups/groups.js'
import { broadcast, newestId } from '../messaging/broadcasts.js'
import { operate, recall } from '../messaging/message-operations.js'
import { acknowledge, deleteConversation, notify, sendText } from '../messaging/messaging.js'
import type { TestServer } from '../watched-server.js'

/**
 * Alice wrote 1, 2 and 3 to Bob, who read 1 and then wrote 4; then she wrote 5 and 6, recalled 5
 * and edited 3. Both are contacts. Carol has a device and settings and applied to Bob. The system
 * sent a broadcast, which Bob has read.
 *
 * Of the group Alice is the owner, Bob is a banned member, Carol is blocked, Dave applied, Erin is
 * invited and Frank was kicked. Alice wrote three messages to it, of which Bob did not receive the
 * second, read two and is asked for a receipt of the third.
 */
export interface IntegrityCast {
  readonly alice: number
  readonly bob: number
  readonly carol: number
  readonly dave: number
  readonly erin: number
  readonly frank: number
  /** The messages between Alice and Bob. */
  readonly ids: readonly [number, number, number, number, number, number]
  readonly broadcastId: number
  readonly group: number
  /** The message of the group with a receipt. */
  readonly receiptId: number
  /** The message of Carol to herself, with a reaction and pinned. */
  readonly noteId: number
  /** A disabled endpoint of webhooks. */
  readonly endpoint: number
}

export async function integrityCast(server: TestServer): Promise<IntegrityCast> {
  const admin = server.api.admin()
  const [alice, bob, dave, erin, frank] = await registerPeople(server, 5)
  const names = { username: 'carol', password: 'correct horse' }
  const device = { device_guid: 'phone', push_token: 'push' }
  const registered = await server.api.succeed('POST', '/user/register/push', {
    body: { ...names, ...device },
  })
  const carol = {
    id: registered.data.user_id,
    api: admin.admin({ userId: registered.data.user_id }),
  }
  const [first, second, third] = [
    await sendText(alice.api, bob.id, '1'),
    await sendText(alice.api, bob.id, '2'),
    await sendText(alice.api, bob.id, '3'),
  ]
  await acknowledge(bob.api, { peer: alice.id, message: first })
  const fourth = await sendText(bob.api, alice.id, '4')
  const fifth = await sendText(alice.api, bob.id, '5')
  const sixth = await sendText(alice.api, bob.id, '6')
  await recall(alice.api, bob.id, fifth)
  const edit = { peer: bob.id, message: third, content: '!' }
  expectSuccess(await operate(alice.api, 'append', edit))

  const noteId = await sendText(carol.api, carol.id, 'note to self')
  const note = { conversation_id: carol.id, msg_id: noteId }
  const reaction = { ...note, type: 1, key: '👍', on: true }
  await carol.api.succeed('POST', '/message/reaction', { body: reaction })
  await carol.api.succeed('POST', '/message/pin', { body: note })
  await notify(admin, carol.id, 'welcome')
  await sendText(alice.api, carol.id, 'hidden')
  await deleteConversation(carol.api, alice.id)
  await connect(alice, bob)
  await changeSettings(bob, { auth_mode: authModes.consent })
  await apply(carol.api, bob.id)

  const more = { type: types.public }
  const group = await aGroup(alice, { members: [bob, frank], more })
  const call = async (path: string, params: object, { api } = alice) =>
    expectSuccess(await groupCall(api, path, group, params))
  await changeSettings(erin, { group_confirm: true })
  await call('/group/kick', { user_list: [frank.id] })
  await call('/group/ban', { user_list: [bob.id], duration: -1 })
  await call('/group/block', { user_list: [carol.id] })
  await call('/group/invite', { user_list: [erin.id] })
  await call('/group/apply', {}, dave)
  await alice.api.succeed('POST', '/user/conversation/pin', { body: { conversation_id: group } })
  const say = (content: string, config = '') =>
    sendText(alice.api, group, content, { type: 2, config })
  await say('1')
  await call('/group/msg/mute_mode', { msg_mute_mode: 2 }, bob)
  const muted = await say('2')
  await call('/group/msg/mute_mode', { msg_mute_mode: 0 }, bob)
  await call('/group/settings/enable_read_ack', { value: true })
  const receiptId = await say('3', JSON.stringify({ groupMemberList: [bob.id] }))
  await acknowledge(bob.api, { peer: group, message: muted })

  await broadcast(admin, 'hello')
  const broadcastId = await newestId(bob.api, 0)
  await acknowledge(bob.api, { peer: 0 })

  // Nothing is sent to it.
  const url = 'http://localhost:9/hook'
  const { endpoint_id } = (await admin.succeed('POST', '/app/webhook/create', { body: { url } }))
    .data
  const disabled = { endpoint_id, state: 'disabled' }
  await admin.succeed('POST', '/app/webhook/update', { body: disabled })
  return {
    alice: alice.id,
    bob: bob.id,
    carol: carol.id,
    dave: dave.id,
    erin: erin.id,
    frank: frank.id,
    ids: [first, second, third, fourth, fifth, sixth],
    broadcastId,
    group,
    receiptId,
    noteId,
    endpoint: endpoint_id,
  }
}
