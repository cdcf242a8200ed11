/**
 * The logs of a client against the real server: after random work and cuts its store equals the
 * server's answers over HTTP.
 */
import {
  type Api,
  isFullRun,
  type Json,
  type ServerProcess,
  startServer,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aGroup, groupCall, types } from '../../server/test/support/groups/groups.js'
import { operate, recall } from '../../server/test/support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  history,
  notify,
  sendText,
} from '../../server/test/support/messaging/messaging.js'
import { Random } from '../../server/test/support/random.js'
import { conversationOf, logKeyOf } from '../src/model/log-key.js'
import { ownKeys } from '../src/model/message-fields.js'
import { LogDevice } from './support/log-device.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const rounds = isFullRun ? 8 : 2
/** The store is compared after each of them. */
const spansOfRound = 4
const stepsOfSpan = 20
const silent = 2

interface User {
  readonly id: number
  readonly token: string
  readonly api: Api
}

interface Sent {
  readonly user: User
  readonly peer: number
  readonly id: number
}

let server: ServerProcess

beforeAll(async () => {
  server = await startServer()
})

afterAll(() => server?.[Symbol.asyncDispose]())

/** Users, groups and what was sent, on which steps work. */
class Work {
  readonly #sent: Sent[] = []

  constructor(
    readonly random: Random,
    readonly me: User,
    readonly others: readonly User[],
    readonly groups: readonly number[],
  ) {}

  /** Does something at random; what the server refuses has no effect. */
  async step(device: LogDevice): Promise<void> {
    const { random, me, others, groups } = this
    const other = random.pick(others)
    const group = random.pick(groups)
    const old = this.#sent.length > 0 ? random.pick(this.#sent.slice(-10)) : undefined
    const owner = others[0]?.api as Api
    const text = `text ${this.#sent.length}`
    const steps: readonly (readonly [number, () => unknown])[] = [
      [12, () => this.#note(other, me.id, sendText(other.api, me.id, text))],
      [4, () => this.#note(me, other.id, sendText(me.api, other.id, text))],
      [12, () => this.#note(other, group, sendText(other.api, group, text, { type: 2 }))],
      [4, () => this.#note(me, group, sendText(me.api, group, text, { type: 2 }))],
      [2, () => notify(server.api.admin(), me.id, text, { from_user_id: other.id })],
      [2, () => broadcast(other.id, text)],
      [1, () => broadcast(me.id, text)],
      [4, () => old && operate(old.user.api, 'append', edit(old))],
      [4, () => old && recall(old.user.api, old.peer, old.id)],
      [6, () => old && this.#changeFields(old)],
      [3, () => acknowledge(me.api, { peer: random.pick([other.id, group]) })],
      [2, () => acknowledge(other.api, { peer: me.id })],
      [1, () => deleteConversation(me.api, random.pick([other.id, group]))],
      [2, () => groupCall(owner, '/group/kick', group, { user_list: [me.id] })],
      [4, () => groupCall(owner, '/group/admin/member_join', group, { user_list: [me.id] })],
      [
        1,
        () =>
          groupCall(owner, '/group/settings/history_visible', group, { value: random.chance(0.5) }),
      ],
      [
        1,
        () =>
          groupCall(me.api, '/group/msg/mute_mode', group, { msg_mute_mode: random.integer(0, 2) }),
      ],
      [3, () => this.#read(device, other.id)],
      [3, () => device.cut()],
      [2, () => device.restart()],
    ]
    const chosen = random.pick(
      steps.flatMap(([weight, run]) => Array<() => unknown>(weight).fill(run)),
    )
    await Promise.resolve(chosen()).catch(() => undefined)
  }

  /** Pins a message, or unpins it; or a user reacts to it. */
  async #changeFields({ user, peer, id: msg_id }: Sent): Promise<void> {
    const { random } = this
    const isGroup = this.groups.includes(peer)
    const message = { conversation_id: peer, msg_id }
    if (random.chance(0.3)) {
      const path = random.chance(0.7) ? '/message/pin' : '/message/unpin'
      await user.api.call('POST', path, { body: message })
      return
    }
    const reaction = { type: isGroup ? 2 : 1, key: random.pick(['a', 'b']), on: random.chance(0.7) }
    const body = { ...message, ...reaction }
    await user.api.call('POST', '/message/reaction', { body })
  }

  async #note(user: User, peer: number, sent: Promise<number>): Promise<void> {
    this.#sent.push({ user, peer, id: await sent })
  }

  async #read(device: LogDevice, peer: number): Promise<void> {
    const logs = [...(await device.logs()).values()].filter(
      ({ conversationId }) => conversationId === peer,
    )
    const msgId = Math.max(0, ...logs.map(({ last }) => last?.msgId ?? 0))
    await device.execute({ type: 'read', conversationId: peer, msgId })
  }
}

function edit({ peer, id }: { readonly peer: number; readonly id: number }) {
  return { peer, message: id, content: '+' }
}

function broadcast(from_user_id: number, content: string) {
  const body = { type: 1, content_type: 0, content, from_user_id }
  return server.api.admin().succeed('POST', '/message/broadcast', { body })
}

/** All heads of a user, as the server answers them. */
async function headsOf(api: Api): Promise<Json[]> {
  const heads: Json[] = []
  let rest = {}
  for (let pages = 0; pages < 100; pages++) {
    const { data } = await api.succeed<Json>('POST', '/message/sync', {
      body: { after: '', window: 0, ...rest },
    })
    heads.push(...data.heads)
    if (data.cursor === undefined) return heads
    rest = { list: true, cursor: data.cursor }
  }
  throw new Error('the list has no end')
}

/** What changes of a message after the send. */
function stateText({ reactions = [], pinned = null, own = [] }: Json): string {
  return JSON.stringify([reactions, pinned, [...own].sort()])
}

/** The differences between the store of a device and the server, as sentences. */
async function differences(device: LogDevice, { api, id: me }: User): Promise<string[]> {
  const logs = await device.logs()
  const heads = new Map((await headsOf(api)).map((head) => [logKeyOf(head.log) ?? '', head]))
  const found = [...logs.keys()].filter((key) => !heads.has(key)).map((key) => `${key} is gone`)
  for (const [key, head] of heads) {
    const record = logs.get(key)
    if (!record) {
      found.push(`${key} is missing`)
      continue
    }
    const pairs = {
      change: [record.change, head.change],
      seq: [record.seq, head.seq],
      unread: [record.unread, head.unread],
      readSeq: [record.readSeq, head.read_seq],
      hiddenMsgId: [record.hiddenMsgId, head.hidden_msg_id],
      peerReadSeq: [record.peerReadSeq, head.peer_read_seq],
      last: [record.last === undefined ? 'unknown' : (record.last?.msgId ?? 0), head.latest_msg_id],
      status: [record.status, head.status],
      version: [record.version, head.version],
      muteMode: [record.muteMode, head.msg_mute_mode],
      isHeadNeeded: [record.isHeadNeeded, false],
      pendingReadMsgId: [record.pendingReadMsgId, undefined],
    }
    for (const [name, [kept, expected]] of Object.entries(pairs))
      if (kept !== expected) found.push(`${key}: ${name} is ${kept} instead of ${expected}`)
  }
  if (found.length > 0) return found
  for (const peer of new Set([...logs.keys()].map((key) => conversationOf(key, me)))) {
    const keys = [...logs.values()].filter(({ conversationId }) => conversationId === peer)
    for (const { key } of keys) await device.readAll(key)
    const kept = (await Promise.all(keys.map(({ key }) => device.messages(key))))
      .flat()
      .sort((a, b) => b.msgId - a.msgId)
      .map(({ msgId, content, fields = {} }) => {
        const own = ownKeys({ fields })
        return `${msgId} ${content} ${stateText({ ...fields, own })}`
      })
    const expected = (await history(api, peer)).map(
      ({ msg_id, content, ...state }) => `${msg_id} ${content} ${stateText(state)}`,
    )
    if (kept.join() !== expected.join())
      found.push(`history of ${peer}: ${kept.join()} instead of ${expected.join()}`)
  }
  return found
}

/** Waits until a store equals the server. */
async function expectEqual(device: LogDevice, me: User, ofSeed: number): Promise<void> {
  let faults: readonly string[] = ['offline']
  try {
    await waitFor(
      async () => {
        if (!device.isOnline) return false
        const isSilent = ({ muteMode }: { readonly muteMode?: number }) => muteMode === silent
        const logs = [...(await device.logs()).values()].filter(isSilent).map(({ key }) => key)
        // No event of their messages comes: they are read when they are opened.
        await device.execute({ type: 'onScreen', caller: 'test', logs: [] })
        await device.execute({ type: 'onScreen', caller: 'test', logs })
        faults = await differences(device, me)
        return faults.length === 0
      },
      { what: 'a store that equals the server', timeoutMs: 10_000 },
    )
  } catch {
    expect.fail(`seed ${ofSeed}: ${faults.join('\n')}`)
  }
}

it('the logs of a client equal the answers of the server after random work and cuts', {
  timeout: 300_000,
}, async () => {
  const me: User = await server.api.newSession()
  const others: User[] = [await server.api.newSession(), await server.api.newSession()]
  const owner = others[0] as User
  const groups = await Promise.all(
    [types.private, types.chatroom].map((type) =>
      aGroup(owner, { members: [me, ...others.slice(1)], more: { type } }),
    ),
  )
  for (let round = 0; round < rounds; round++) {
    const random = new Random(seed + round)
    using device = await LogDevice.start({ url: server.url, appId: server.appId, token: me.token })
    const work = new Work(random, me, others, groups)
    for (let span = 0; span < spansOfRound; span++) {
      for (let step = 0; step < stepsOfSpan; step++) await work.step(device)
      await expectEqual(device, me, random.seed)
    }
    expect(device.errors).toEqual([])
  }
})
