import type { TransientEvent } from '@hermod/protocol/events'
import { beforeEach, describe, expect, it } from 'vitest'
import { SessionRegistry } from '../sessions/registry.js'
import type { Session } from '../sessions/session.js'
import { SharedDirectory } from '../sessions/shared-directory.js'
import type { ProbedDevice } from './core-channel.js'
import type { PushNotification } from './notification.js'
import { SessionChannel } from './session-channel.js'
import { SessionAnswers, type SessionQuestion } from './session-questions.js'

const appId = 'shop'
const notification = {
  ...{ kind: 'text', title: 'News', body: 'Some.', bigText: '', attachmentUrl: '', ext: { a: 1 } },
  ...{ isSilent: false, expiresAt: 9, taskId: '77', receiptTag: '77.1' },
} as unknown as PushNotification

let registry: SessionRegistry
let channel: SessionChannel
let sent: { readonly session: Session; readonly event: TransientEvent }[]
let nextId = 1

class FakeLink {
  isBehind = false
  heardAt = 0
  pings = 0
  write(): void {}
  close(): void {}
  ping(): void {
    this.pings++
  }
}

function open(userId: number, deviceSn: number | null, id = nextId++) {
  const link = new FakeLink()
  const session = {
    ...{ id, appId, userId, deviceSn, tokenHash: '', scopes: null, link },
    ...{ phase: 'live' as const, hasMissed: false, features: new Set<never>() },
  }
  registry.add(session)
  return session
}

function sendTo(session: Session, event: TransientEvent): boolean {
  if (session.link.isBehind) return false
  sent.push({ session, event })
  return true
}

beforeEach(() => {
  registry = new SessionRegistry()
  sent = []
  const answers = new SessionAnswers({ sessions: registry, transient: { toSession: sendTo } })
  channel = new SessionChannel({ directory: registry, answers, ask: async () => null })
})

describe('the own channel', () => {
  it('knows the connected devices of users', async () => {
    for (const deviceSn of [1, 2, null]) open(5, deviceSn)
    open(6, null)
    open(7, 1)
    expect(await channel.connected(appId, [5, 6, 8])).toEqual([
      { userId: 5, deviceSn: 1 },
      { userId: 5, deviceSn: 2 },
    ])
    expect(await channel.connected('bank', [5])).toEqual([])
  })

  it('lists users with a connected device page by page', async () => {
    for (const userId of [30, 10, 20, 40]) open(userId, 1)
    open(15, null)
    expect(await channel.listUsers(appId, 0, 3)).toEqual([10, 20, 30])
    expect(await channel.listUsers(appId, 30, 3)).toEqual([40])
  })

  it('hands a notification to the session of the device', async () => {
    const phone = open(5, 1)
    open(5, 2)
    expect(await channel.deliver(appId, { userId: 5, deviceSn: 1 }, notification, 3)).toBe(true)
    expect(sent).toMatchObject([
      {
        session: phone,
        event: {
          kind: 'push.notification',
          data: {
            task_id: 77,
            kind: 'text',
            title: 'News',
            badge: 3,
            ext: { a: 1 },
            expires_at: 9,
          },
        },
      },
    ])
  })

  it('does not hand it to a device that has left, or that does not take what it was sent before', async () => {
    expect(await channel.deliver(appId, { userId: 5, deviceSn: 1 }, notification, null)).toBe(false)
    open(5, 1).link.isBehind = true
    expect(await channel.deliver(appId, { userId: 5, deviceSn: 1 }, notification, null)).toBe(false)
  })
})

describe('a device that was pinged', () => {
  async function probe() {
    const [probed, ...others] = await channel.probe(appId, [5])
    if (!probed || others.length > 0) throw new Error('one device was expected')
    return probed
  }

  it('has answered when anything came from its session since', async () => {
    const { link } = open(5, 1)
    open(5, null)
    link.heardAt = performance.now()
    const probed = await probe()
    expect(link.pings).toBe(1)
    expect(await channel.answered(appId, probed)).toBe(false)
    link.heardAt = performance.now() + 1
    expect(await channel.answered(appId, probed)).toBe(true)
  })

  it('has not answered when its session closed, or is another one by now', async () => {
    const session = open(5, 1)
    const probed = await probe()
    session.link.heardAt = performance.now() + 1
    registry.remove(session)
    expect(await channel.answered(appId, probed)).toBe(false)
    open(5, 1).link.heardAt = performance.now() + 1
    expect(await channel.answered(appId, probed)).toBe(false)
  })
})

describe('a device on another node', () => {
  let elsewhere: SessionRegistry
  let isCut: boolean

  beforeEach(() => {
    elsewhere = new SessionRegistry()
    isCut = false
    const other = new SessionAnswers({ sessions: elsewhere, transient: { toSession: sendTo } })
    const directory = new SharedDirectory({ registry, node: { id: 'here' } })
    channel = new SessionChannel({
      directory,
      answers: new SessionAnswers({ sessions: registry, transient: { toSession: sendTo } }),
      ask: async (nodeId, { about, text }) =>
        isCut || nodeId !== 'there' ? null : other.answer(about as SessionQuestion, text),
    })
    const session = open(5, 1)
    registry.remove(session)
    elsewhere.add(session)
    const place = { nodeId: 'there', lease: 1, closedForMs: null }
    directory.apply({ appId, userId: 5, deviceSn: 1, id: session.id, ...place })
  })

  const remote = () => elsewhere.ofDevice(appId, 5, 1) as ReturnType<typeof open>

  it('is pinged and handed notifications by its node', async () => {
    open(5, 2)
    const probed = await channel.probe(appId, [5])
    expect(probed.map(({ deviceSn }) => deviceSn)).toEqual([2, 1])
    const [, away] = probed as [ProbedDevice, ProbedDevice]
    expect(remote().link.pings).toBe(1)
    expect(await channel.answered(appId, away)).toBe(false)
    remote().link.heardAt = performance.now() + 1
    expect(await channel.answered(appId, away)).toBe(true)
    expect(await channel.deliver(appId, away, notification, 3)).toBe(true)
    expect(sent).toMatchObject([
      { session: { deviceSn: 1 }, event: { data: { task_id: 77, badge: 3, ext: { a: 1 } } } },
    ])
  })

  it('counts as away when its node does not answer, or has it no more', async () => {
    const [probed] = (await channel.probe(appId, [5])) as [ProbedDevice]
    remote().link.heardAt = performance.now() + 1
    isCut = true
    expect(await channel.probe(appId, [5])).toEqual([])
    expect(await channel.answered(appId, probed)).toBe(false)
    expect(await channel.deliver(appId, probed, notification, null)).toBe(false)
    isCut = false
    elsewhere.remove(remote())
    expect(await channel.answered(appId, probed)).toBe(false)
    expect(await channel.deliver(appId, probed, notification, null)).toBe(false)
  })
})
