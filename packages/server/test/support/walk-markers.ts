/** Texts that are found again wherever they turn up, put into everything that a user can write. */

import type { Operation } from '@hermod/protocol'
import * as api from '@hermod/protocol'
import { type Params, type Person, placeholderId, type World } from './walk-world.js'

export interface Marker {
  readonly text: string
  readonly where: string
  /** `application`: the contract shows it to every user of the application. */
  readonly audience: 'owner' | 'application'
  /** False: no operation shows it to anybody, or the one that writes it is not built yet. */
  readonly isReadable: boolean
}

export interface MarkedWorld {
  readonly markers: readonly Marker[]
  /** The one who wrote nearly all of it. */
  readonly alice: Person
  /** Her contact. */
  readonly carol: Person
  /** Has applied to her, and she to him. */
  readonly dave: Person
  /** Of a message from her to her contact. */
  readonly messageId: number
  /** Of a message that she recalled. */
  readonly recalledId: number
  readonly groupId: number
}

const text = { type: 1, content_type: 0 }

/** Nobody in it takes messages or applications of strangers, so whatever happens to them afterwards was not to happen. */
export async function markedWorld(world: World): Promise<MarkedWorld> {
  const markers: Marker[] = []
  const keep = (where: string, text: string, more: Partial<Marker> = {}) => {
    markers.push({ where, text, audience: 'owner', isReadable: true, ...more })
    return text
  }
  const unread = { isReadable: false } as const
  const shared = { audience: 'application' } as const

  const alice = await world.newPerson(world.here, {
    username: keep('username', world.newName('Alice'), shared),
    password: 'the secret of alice',
    userAgent: world.isBuilt(api.listDevices as Operation) ? keep('user agent', world.newName('agent')) : 'walk',
  })
  const [carol, dave] = [await world.newPerson(), await world.newPerson()]
  const asAlice = world.adminFor(alice)

  /** Puts a marker into each named field. */
  const write = async (operation: unknown, fields: Record<string, Partial<Marker>>, more: Params = {}, by = asAlice) => {
    const { id } = operation as Operation
    const isBuilt = world.isBuilt(operation as Operation)
    const marked = Object.entries(fields).map(([name, about]) => {
      const marker = world.newName('mark')
      return [name, isBuilt ? keep(`${name} of ${id}`, marker, about) : marker]
    })
    return world.prepare(operation as Operation, by, { ...Object.fromEntries(marked), ...more })
  }

  await write(api.updateProfile, { nick_name: shared, description: shared, public_info: shared, private_info: {} })
  await write(api.setAvatar, { avatar: shared })
  const mobile = `+1555${alice.id}`
  const email = `${world.newName('mail')}@example.org`
  if (await world.prepare(api.setMobile as Operation, asAlice, { mobile })) keep('mobile', mobile)
  if (await world.prepare(api.setEmail as Operation, asAlice, { email })) keep('email', email)
  const settings = { user_id: alice.id, auth_mode: 1 }
  await write(api.updateSettings, { auth_answer: {}, auth_question: shared, push_nick_name: {}, push_token: {} }, settings)
  await write(api.setPushAlias, { alias: unread })
  const tag = world.newName('mark')
  if (await world.prepare(api.addPushTags as Operation, asAlice, { tags: [tag] })) keep('push tag', tag)
  await write(api.bindPushToken, { device_token: unread, notifier_name: unread }, { device_sn: 1 })

  await world.prepare(api.addContacts as Operation, asAlice, { list: [carol.id] })
  await write(api.updateContact, { alias: {}, ext: {} }, { user_id: carol.id })
  await write(api.applyToContact, { reason: {}, alias: unread }, { user_id: alice.id }, world.adminFor(dave))
  await world.prepare(api.setAuthMode as Operation, world.adminFor(dave), { value: 1 })
  await write(api.applyToContact, { reason: {}, alias: unread }, { user_id: dave.id })

  const contents = { content: {}, ext: {}, config: {}, attachment: {} }
  const sent = await write(api.sendMessage, contents, { ...text, targets: [carol.id] })
  await write(api.sendMessage, contents, { ...text, targets: [alice.id] }, world.adminFor(carol))
  const { appId, adminToken: token } = world.here
  await write(api.sendNotification, { content: {} }, { ...text, targets: [alice.id] }, { appId, token })
  const recalled = await write(api.sendMessage, { content: unread }, { ...text, targets: [carol.id] })
  const recalledId = recalled?.msg_ids[0] ?? placeholderId
  await world.prepare(api.recallMessage as Operation, asAlice, { conversation_id: carol.id, msg_id: recalledId })
  await world.prepare(api.pinConversation as Operation, asAlice, { conversation_id: carol.id })

  const group = await write(api.createGroup, { name: { ...shared, ...unread } }, { type: 0, user_list: [carol.id] })
  const groupId = group?.data.group_id ?? placeholderId
  await write(api.publishAnnouncement, { title: unread, content: unread }, { group_id: groupId })

  for (const person of [alice, carol, dave]) {
    await world.prepare(api.updateSettings as Operation, world.adminFor(person), { user_id: person.id, auth_mode: 3, stranger_chat: 2 })
  }
  return { markers, alice, carol, dave, messageId: sent?.msg_ids[0] ?? placeholderId, recalledId, groupId }
}
