/**
 * Clients that keep their stores by sync and changes, with any pages and windows, against the
 * server's other answers: history, unread counts, the list of conversations, and the list of all
 * logs.
 */
import type { LogHead, Message } from '@hermod/protocol'
import { type Api, GatewayClient, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import type { Person } from '../support/contacts.js'
import { operateInGroup, sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, groupCall, types } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast } from '../support/messaging/broadcasts.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  history,
  newestMessages,
  notify,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { type HeldLog, SyncClient } from '../support/messaging/sync-client.js'

const systemId = 0
const nat = fc.nat(1_000)
const numbers = { who: nat, whom: nat, which: nat }
const writing = fc.constantFrom('send', 'send', 'say', 'say', 'notify', 'broadcast')
const altering = fc.constantFrom('recall', 'append')
const reading = fc.constantFrom('read', 'read message', 'read all', 'deliver', 'delete', 'history')
const grouping = fc.constantFrom('mute', 'join', 'kick', 'leave', 'visible', 'create', 'dissolve')
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ what: writing, ...numbers }) },
  { weight: 5, arbitrary: fc.record({ what: altering, ...numbers }) },
  { weight: 5, arbitrary: fc.record({ what: reading, ...numbers }) },
  { weight: 3, arbitrary: fc.record({ what: grouping, ...numbers }) },
  { weight: 7, arbitrary: fc.record({ what: fc.constant('sync'), ...numbers }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const muteModes = [0, 1, 2]

interface Sent {
  readonly id: number
  readonly from: Person
  /** A user, a group, or null: all users. */
  readonly to: number | null
}

/** Calls of users, whatever the service answers: a refused call changes nothing. */
class SyncWorld {
  readonly #sent: Sent[] = []
  readonly #groups: number[] = []
  readonly #clients = new Map<number, SyncClient[]>()
  #texts = 0

  constructor(
    private readonly admin: Api,
    private readonly people: readonly Person[],
  ) {}

  #pick<T>(choices: readonly T[], which: number): T {
    return choices[which % choices.length] as T
  }

  /** Two clients of a user: one that syncs often, and one that syncs seldom. */
  clients({ id, api }: Person): SyncClient[] {
    const clients = this.#clients.get(id) ?? [new SyncClient(api), new SyncClient(api)]
    this.#clients.set(id, clients)
    return clients
  }

  async run({ what, who, whom, which }: Step): Promise<void> {
    const user = this.#pick(this.people, who)
    const other = this.#pick(this.people, whom)
    const { api } = user
    const content = `text ${++this.#texts}`
    const group = this.#pick(this.#groups, whom)
    const isFree = group === undefined
    switch (what) {
      case 'send':
        this.#keep(await sendText(api, other.id, content), user, other.id)
        return
      case 'notify':
        await notify(who % 2 === 0 ? this.admin : api, other.id, content)
        return
      case 'broadcast':
        await broadcast(this.admin, content, who % 3 === 0 ? { from_user_id: user.id } : {})
        return
      case 'create':
        this.#groups.push(
          await aGroup(user, { members: other === user ? [] : [other], more: groupOf(which) }),
        )
        return
      case 'say':
        if (!isFree) await this.#say(user, group, content)
        return
      case 'recall':
      case 'append':
        return this.#alter(what, which)
      case 'sync':
        return this.sync(user, which)
      case 'read all':
        return acknowledge(api)
      case 'deliver': {
        const conversations = [{ conversation_id: other.id, seq: which % 10 }]
        await api.call('POST', '/message/delivered', { body: { conversations } })
        return
      }
      case 'history':
        await history(api, this.#pick([other.id, systemId], which))
        return
      case 'read':
      case 'delete':
      case 'read message':
        return this.#look(what, user, this.#pick([other.id, systemId, group ?? other.id], which))
      default:
        if (!isFree) await this.#changeGroup(what, group, { user, other, which })
    }
  }

  #keep(id: number, from: Person, to: number | null): void {
    this.#sent.push({ id, from, to })
  }

  async #say(user: Person, group: number, content: string): Promise<void> {
    try {
      this.#keep(await sendToGroup(user.api, group, content), user, group)
    } catch {
      // The user is no member.
    }
  }

  async #alter(what: 'recall' | 'append', which: number): Promise<void> {
    const message = this.#pick(this.#sent, which)
    if (!message) return
    const { id, from, to } = message
    const peer = to ?? systemId
    if (what === 'recall') await recall(from.api, peer, id)
    else if (this.#groups.includes(peer))
      await operateInGroup(from.api, 'append', { group: peer, message: id, content: '+' })
    else await operate(from.api, 'append', { peer, message: id, content: '+' })
  }

  async #look(what: string, { api }: Person, peer: number): Promise<void> {
    try {
      if (what === 'delete') await deleteConversation(api, peer)
      else if (what === 'read') await acknowledge(api, { peer })
      else {
        const { messages } = { messages: await history(api, peer) }
        const message = this.#pick(messages, this.#texts)
        if (message) await acknowledge(api, { peer, message: Number(message.msg_id) })
      }
    } catch {
      // The user has no such conversation.
    }
  }

  async #changeGroup(
    what: string,
    group: number,
    { user, other, which }: { user: Person; other: Person; which: number },
  ): Promise<void> {
    const call = (path: string, params: object = {}, api = user.api) =>
      groupCall(api, path, group, params)
    if (what === 'mute')
      await call('/group/msg/mute_mode', { msg_mute_mode: this.#pick(muteModes, which) })
    else if (what === 'join')
      await call('/group/admin/member_join', { user_list: [other.id] }, this.admin)
    else if (what === 'kick') await call('/group/kick', { user_list: [other.id] }, this.admin)
    else if (what === 'leave') await call('/group/leave')
    else if (what === 'visible')
      await call('/group/settings/history_visible', { value: which % 2 === 0 }, this.admin)
    else if (which % 3 === 0) await call('/group/destroy', {}, this.admin)
  }

  /** One of the clients of the user asks for what it has missed, with any page and window. */
  async sync(user: Person, which: number): Promise<void> {
    const client = this.#pick(this.clients(user), which % 5 === 0 ? 1 : 0)
    const logs = [...client.logs.values()]
    await client.sync({
      list: which % 11 === 0,
      limit: 1 + (which % 7),
      window: which % 4,
      have: which % 3 === 0 ? logs.slice(which % 4, 4) : [],
    })
  }

  async compare(user: Person): Promise<void> {
    const fresh = new SyncClient(user.api)
    await fresh.syncToEnd({ limit: 2, window: 50 })
    await this.#compareWithAnswers(user, fresh)
    for (const client of this.clients(user)) {
      await client.syncToEnd({ limit: 3, window: 2 })
      const heads = (of: SyncClient) =>
        Object.fromEntries([...of.logs].map(([name, { head }]) => [name, stateOf(head)]))
      expect(heads(client)).toEqual(heads(fresh))
      for (const [name, held] of client.logs) {
        const all = fresh.logs.get(name)?.messages ?? new Map()
        for (const [seq, message] of held.messages) expect(message).toEqual(all.get(seq))
        const due = [...all.keys()].filter((seq) => seq > held.since)
        expect([...held.messages.keys()]).toEqual(expect.arrayContaining(due))
      }
    }
  }

  /** The windows of a fresh client hold all messages, since there are few. */
  async #compareWithAnswers({ id, api }: Person, client: SyncClient): Promise<void> {
    const unread: Record<number, number> = {}
    const latest = new Map<number, number>()
    const shown = new Map<number, HeldLog[]>()
    for (const held of client.logs.values()) {
      const { head, log } = held
      const peer = Number(log.high_id === id ? log.low_id : log.high_id)
      const peerId = peer === -1 ? id : peer
      shown.set(peerId, [...(shown.get(peerId) ?? []), held])
      if (head.unread > 0) unread[peerId] = (unread[peerId] ?? 0) + Number(head.unread)
      const newest = Math.max(latest.get(peerId) ?? 0, Number(head.latest_msg_id))
      if (newest > 0) latest.set(peerId, newest)
    }
    expect(await unreadCounts(api)).toEqual(unread)
    expect(await newestMessages(api)).toEqual([...latest].sort(([, a], [, b]) => b - a))
    for (const [peer, parts] of shown) {
      const merged = parts.flatMap((held) =>
        [...held.messages.values()].map((each) => ({ ...each, head: held.head })),
      )
      merged.sort((a, b) => Number(b.msg_id) - Number(a.msg_id))
      const isOwnOfGroup = (message: Message) =>
        Number(message.from_xid.uid) === id && this.#groups.includes(peer)
      expect(
        (await history(api, peer)).map((each) => shownMessage(each, isOwnOfGroup(each))),
      ).toEqual(
        merged.map(({ head, ...each }) => ({
          id: each.msg_id,
          seq: each.seq,
          from: each.sender_id,
          content: each.content,
          editedAt: each.edit_timestamp,
          sentAt: each.timestamp,
          status: statusOf(head, each, id),
        })),
      )
    }
  }
}

async function openFor(session: GatewayClient, admin: Api, { id }: Person): Promise<void> {
  const { appId = '', adminToken: accessToken = '' } = admin.options
  expect((await session.open({ appId, accessToken, userId: id })).code).toBe(200)
}

function groupOf(which: number): object {
  return { type: which % 5 === 0 ? types.chatroom : types.private }
}

function shownMessage(message: Message, isOwnOfGroup: boolean) {
  return {
    id: message.msg_id,
    seq: message.seq,
    from: message.from_xid.uid,
    content: message.content,
    editedAt: message.edit_timestamp,
    sentAt: message.timestamp,
    status: isOwnOfGroup ? null : message.status,
  }
}

/**
 * The status of a message as the positions of its log give it; of own messages to groups it is not
 * part of the state.
 */
function statusOf(
  head: LogHead,
  { seq, sender_id }: { readonly seq: number | bigint; readonly sender_id: number | bigint },
  userId: number,
): Message['status'] | null {
  const isOwn = sender_id === userId && head.kind === 'direct'
  if (sender_id === userId && head.kind === 'group') return null
  const [read, delivered] = isOwn
    ? [head.peer_read_seq, head.peer_delivered_seq]
    : [head.read_seq, head.delivered_seq]
  if (seq <= read) return 'READ'
  return seq <= delivered ? 'DELIVERED' : 'UNREAD'
}

/** A head without the part that depends on the request. */
function stateOf({ from, changes, messages, ...state }: LogHead) {
  return state
}

for (const backend of testBackends()) {
  describe(`sync on ${backend.name}`, () => {
    let server: InProcessServer

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    it('sync: clients with any pages come to the state of the server, also beside other calls', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 80, size: 'max' }),
        fc.integer({ min: 1, max: 10 }),
        async (steps, atOnce) => {
          const admin = await anApplication(server)
          const people = await addUsers(admin, 4)
          const world = new SyncWorld(admin, people)
          // With a session the keys of recent rows are in memory.
          using session = await GatewayClient.connect(server.url)
          if (atOnce % 2 === 0) await openFor(session, admin, people[0] as Person)
          for (let first = 0; first < steps.length; first += atOnce)
            await Promise.all(steps.slice(first, first + atOnce).map((each) => world.run(each)))
          for (const person of people) await world.compare(person)
        },
      )
      await checkProperty(backend, property, { share: 0.25 })
    })
  })
}
