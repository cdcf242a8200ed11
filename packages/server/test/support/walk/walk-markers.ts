/** Texts that are found again wherever they turn up, put into everything that a user can write. */
import type { Operation } from '@hermod/protocol'
import * as api from '@hermod/protocol'
import type { Envelope } from '@hermod/testkit'
import { mobileOf } from '../contacts.js'
import {
  type Account,
  type Identity,
  type Params,
  placeholderId,
  type WalkWorld,
} from './walk-world.js'

export interface Marker {
  readonly text: string
  readonly where: string
  /**
   * `application`: the contract shows it to every user of the application; `members`: to those of
   * the group of later members.
   */
  readonly audience: 'owner' | 'members' | 'application'
  /** False: no operation shows it to anybody. */
  readonly isReadable: boolean
}

interface People {
  /** The one who wrote nearly all of it. */
  readonly alice: Account
  /** Her contact. */
  readonly carol: Account
  /** Has applied to her, and to the group. */
  readonly dave: Account
  /** She has applied to her, and invited her to the group. */
  readonly erin: Account
}

/** A private group with two members, who alone see what was written before others join. */
export interface MarkedGroup {
  readonly groupId: number
  readonly announcementId: number
  readonly fileId: number
  /** Of a message in it. */
  readonly groupMessageId: number
}

interface MarkedMessages {
  /** Of a message from her to her contact. */
  readonly messageId: number
  /** Of a message that its sender recalled. */
  readonly recalledId: number
  /** Of a notification of the system to her. */
  readonly notificationId: number
}

export interface MarkedWorld extends People, MarkedGroup, MarkedMessages {
  readonly markers: readonly Marker[]
  /** Of a push to her. */
  readonly taskId: number
  /** Of the application, disabled. */
  readonly endpointId: number
  /** Another group, which others join and leave. */
  readonly open: MarkedGroup & { readonly people: People }
}

type About = Partial<Pick<Marker, 'audience' | 'isReadable'>>

/** Foreign callers know the shared password of all other users. */
const secret = 'the secret of the victims'
const text = { type: 1, content_type: 0 }
const own: About = {}
const shared: About = { audience: 'application' }
const forMembers: About = { audience: 'members' }
const unread: About = { isReadable: false }

/** Writes markers and keeps in mind where. What is not built yet gets none. */
class Pen {
  readonly markers: Marker[] = []

  constructor(readonly world: WalkWorld) {}

  keep(where: string, text: string, about: About = {}): string {
    this.markers.push({ where, text, audience: 'owner', isReadable: true, ...about })
    return text
  }

  /** One parameter with a text of its own. */
  async put(
    operation: unknown,
    by: Identity,
    name: string,
    value: string | readonly string[],
  ): Promise<void> {
    if (await this.do(operation, by, { [name]: value })) this.keep(name, String(value))
  }

  /** Puts a marker into each named field. */
  async write(
    operation: unknown,
    by: Identity,
    fields: Readonly<Record<string, About>>,
    more: Params = {},
  ): Promise<Envelope | null> {
    const marked = Object.entries(fields).map(([name, about]) => ({
      name,
      about,
      text: this.world.newName('mark'),
    }))
    const params = Object.fromEntries(marked.map(({ name, text }) => [name, text]))
    const answer = await this.do(operation, by, { ...params, ...more })
    if (answer)
      for (const { name, about, text } of marked)
        this.keep(`${name} of ${(operation as Operation).id}`, text, about)
    return answer
  }

  do(operation: unknown, by: Identity, params: Params): Promise<Envelope | null> {
    return this.world.prepare(operation as Operation, by, params)
  }
}

/**
 * Nobody in it takes messages, applications or, unasked, invitations of strangers, so whatever
 * happens to them afterwards was not to happen.
 */
export async function markedWorld(world: WalkWorld): Promise<MarkedWorld> {
  const pen = new Pen(world)
  const people = await newPeople(pen)
  const { alice } = people
  await writeAboutOneself(pen, alice)
  await writeToContacts(pen, people)
  const messages = await writeMessages(pen, people)
  const taskId = await writePush(pen, alice)
  const endpointId = await writeEndpoint(pen)
  const group = await writeToGroup(pen, people, own)
  const others = await newPeople(pen, 'Grace')
  const ofOthers = await writeToGroup(pen, others, forMembers)
  for (const person of [...Object.values<Account>({ ...people }), others.alice]) {
    await pen.do(api.updateSettings, world.adminFor(person), {
      user_id: person.id,
      auth_mode: 3,
      stranger_chat: 2,
      group_confirm: true,
    })
  }
  const open = { ...ofOthers, people: others }
  return { ...people, ...messages, ...group, taskId, endpointId, open, markers: pen.markers }
}

async function newPeople(pen: Pen, name = 'Alice'): Promise<People> {
  const { world } = pen
  const alice = await world.newPerson(world.here, {
    username: pen.keep('username', world.newName(name), shared),
    password: secret,
    userAgent: pen.keep('user agent', world.newName('agent'), {
      isReadable: world.isBuilt(api.listDevices as Operation),
    }),
  })
  const newVictim = () => world.newPerson(world.here, { password: secret })
  return { alice, carol: await newVictim(), dave: await newVictim(), erin: await newVictim() }
}

async function writeAboutOneself(pen: Pen, alice: Account): Promise<void> {
  const by = pen.world.adminFor(alice)
  await pen.write(api.updateProfile, by, {
    nick_name: shared,
    description: shared,
    public_info: shared,
    private_info: own,
  })
  await pen.write(api.setAvatar, by, { avatar: shared })
  await pen.put(api.setMobile, by, 'mobile', mobileOf(alice.id))
  await pen.put(api.setEmail, by, 'email', `${pen.world.newName('mail')}@example.org`)
  const settings = { auth_answer: own, auth_question: shared, push_nick_name: own, push_token: own }
  await pen.write(api.updateSettings, by, settings, { user_id: alice.id, auth_mode: 1 })
  await pen.write(api.setPushAlias, by, { alias: unread })
  await pen.put(api.addPushTags, by, 'tags', [pen.world.newName('mark')])
  await pen.write(
    api.bindPushToken,
    by,
    { device_token: unread, notifier_name: unread },
    { device_sn: 1 },
  )
}

async function writeToContacts(pen: Pen, { alice, carol, dave, erin }: People): Promise<void> {
  const by = pen.world.adminFor(alice)
  await pen.do(api.addContacts, by, { list: [carol.id] })
  await pen.write(api.updateContact, by, { alias: own, ext: own }, { user_id: carol.id })
  await pen.write(
    api.applyToContact,
    pen.world.adminFor(dave),
    { reason: own, alias: unread },
    { user_id: alice.id },
  )
  await pen.do(api.setAuthMode, pen.world.adminFor(erin), { value: 1 })
  await pen.write(api.applyToContact, by, { reason: own, alias: unread }, { user_id: erin.id })
}

async function writeMessages(pen: Pen, { alice, carol }: People): Promise<MarkedMessages> {
  const by = pen.world.adminFor(alice)
  const { appId, adminToken: token } = pen.world.here
  const texts = { content: own, ext: own, config: own, attachment: own }
  const toCarol = { ...text, targets: [carol.id] }
  const toAlice = { ...text, targets: [alice.id] }
  const sent = await pen.write(api.sendMessage, by, texts, toCarol)
  await pen.write(
    api.reactToMessage,
    by,
    { key: own },
    { conversation_id: carol.id, type: 1, msg_id: sent?.msg_ids[0] ?? placeholderId, on: true },
  )
  const streamed = await pen.do(api.sendMessage, by, {
    ...{ ...toCarol, content: '…', stream: { kind: 'text' } },
  })
  const piece = { conversation_id: carol.id, type: 1, from_user_id: alice.id, index: 1 }
  const msg_id = streamed?.msg_ids[0] ?? placeholderId
  await pen.write(api.appendStream, by, { text: own }, { ...piece, msg_id })
  await pen.write(api.sendMessage, pen.world.adminFor(carol), texts, toAlice)
  const notified = await pen.write(
    api.sendNotification,
    { appId, token },
    { content: own },
    toAlice,
  )
  await pen.do(api.pinConversation, by, { conversation_id: carol.id })
  const recalled = await pen.write(api.sendMessage, by, { content: unread }, toCarol)
  const recalledId = recalled?.msg_ids[0] ?? placeholderId
  await pen.do(api.recallMessage, by, { conversation_id: carol.id, msg_id: recalledId })
  return {
    messageId: sent?.msg_ids[0] ?? placeholderId,
    recalledId,
    notificationId: notified?.msg_ids[0] ?? placeholderId,
  }
}

async function writePush(pen: Pen, { id }: Account): Promise<number> {
  const { appId, adminToken: token } = pen.world.here
  const message = {
    title: 'News',
    body: pen.keep('body of a push', pen.world.newName('mark'), unread),
  }
  const params = { audience: { user_id: [id] }, message }
  const task = await pen.do(api.startPushTask, { appId, token }, params)
  return task?.data.task_id ?? placeholderId
}

async function writeEndpoint(pen: Pen): Promise<number> {
  const { appId, adminToken: token } = pen.world.here
  const by = { appId, token }
  const url = `https://example.org/${pen.keep('url of an endpoint', pen.world.newName('mark'), unread)}`
  const made = await pen.write(
    api.createWebhook,
    by,
    { description: unread },
    { url, kinds: ['webhook.disabled'] },
  )
  const endpoint_id = made?.data.endpoint_id ?? placeholderId
  pen.keep('secret of an endpoint', made?.data.secret ?? pen.world.newName('mark'), unread)
  await pen.do(api.updateWebhook, by, { endpoint_id, state: 'disabled' })
  return endpoint_id
}

/** @param about the audience of what the group shows its members */
async function writeToGroup(
  pen: Pen,
  { alice, carol, dave, erin }: People,
  about: About,
): Promise<MarkedGroup> {
  const [by, byCarol] = [alice, carol].map((person) => pen.world.adminFor(person)) as [
    Identity,
    Identity,
  ]
  const info = { name: about, avatar: about, description: about }
  const group = await pen.write(api.createGroup, by, info, { type: 0, user_list: [carol.id] })
  const groupId = group?.data.group_id ?? placeholderId
  const here = { group_id: groupId }
  await pen.write(api.setGroupExt, by, { value: about }, here)
  await pen.write(api.setDisplayName, byCarol, { value: about }, here)
  const published = await pen.write(
    api.publishAnnouncement,
    by,
    { title: about, content: about },
    here,
  )
  const link = `https://example.org/${pen.world.newName('mark')}`
  const url = pen.keep('url of a shared file', link, about)
  const shared = await pen.write(
    api.shareFile,
    byCarol,
    { name: about, type: about },
    { ...here, size: 1, url },
  )
  await pen.write(api.applyToGroup, pen.world.adminFor(dave), { reason: own }, here)
  await pen.do(api.updateSettings, pen.world.adminFor(erin), {
    user_id: erin.id,
    group_confirm: true,
  })
  await pen.write(api.inviteToGroup, by, { reason: own }, { ...here, user_list: [erin.id] })
  const sent = await pen.write(
    api.sendMessage,
    by,
    { content: own, ext: own },
    { type: 2, content_type: 0, targets: [groupId] },
  )
  await pen.do(api.setApplyApproval, by, { ...here, apply_approval: 2 })
  return {
    groupId,
    announcementId: published?.data.id ?? placeholderId,
    fileId: shared?.data.file_id ?? placeholderId,
    groupMessageId: sent?.msg_ids[0] ?? placeholderId,
  }
}
