/**
 * Pushes of messages that come many at a time, after pauses, and with a service that is killed
 * (rules G5, K16).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PushSimulator, type PushSimulatorOptions } from '@hermod/push-simulator'
import {
  anyBackend,
  type Backend,
  freePort,
  GatewayClient,
  isFullRun,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { recall } from '../support/messaging/message-operations.js'
import { acknowledge, sendText } from '../support/messaging/messaging.js'
import { MessagePushes, type Receiver } from '../support/push/message-pushes.js'
import { Random } from '../support/random.js'
import { WatchedServer } from '../support/watched-server.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const timeoutMs = 240_000
const kills = isFullRun ? 3 : 1
const messagesPerRun = 10

/** A service on one port, so that sessions outlast its restarts. */
class Place<Service extends InProcessServer | WatchedServer> implements AsyncDisposable {
  private constructor(
    readonly watched: Service,
    readonly simulator: PushSimulator,
    readonly pushes: MessagePushes,
  ) {}

  static async inProcess(backend: Backend): Promise<Place<InProcessServer>> {
    return Place.#of(await InProcessServer.start(backend))
  }

  /** A service in a process that tests may kill. */
  static async ofProcess(
    backend: Backend,
    gateways?: PushSimulatorOptions,
  ): Promise<Place<WatchedServer>> {
    return Place.#of(await WatchedServer.start(backend, { port: await freePort() }), gateways)
  }

  static async #of<Service extends InProcessServer | WatchedServer>(
    watched: Service,
    gateways?: PushSimulatorOptions,
  ): Promise<Place<Service>> {
    const simulator = await PushSimulator.start(gateways)
    const pushes = new MessagePushes(watched.server, simulator, watched.sql)
    return new Place(watched, simulator, pushes)
  }

  /** Messages that are sent during `work` reach the consumer together. */
  async together(work: () => Promise<void>): Promise<void> {
    const { watched, pushes } = this
    await pushes.handled()
    // The consumer finds nothing to do while it seems to be ahead.
    const move = (by: number) =>
      watched.sql.run(
        `update outbox_positions set position = position + ${by} where consumer = 'push'`,
      )
    await move(1_000_000)
    await work()
    await move(-1_000_000)
    await pushes.handled()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watched[Symbol.asyncDispose]()
    await this.simulator[Symbol.asyncDispose]()
  }
}

describe.each(anyBackend('durable'))('pushes of messages on $name', (backend) => {
  it('begin with what is sent after the application has its first certificate', {
    timeout: timeoutMs,
  }, async () => {
    await using place = await Place.inProcess(backend)
    const { pushes } = place
    const [ann, ben] = [await pushes.user(), await pushes.receiver()]
    const early = await sendText(ann.api, ben.id, 'early')
    await pushes.handled()
    expect(await pushes.hasTask(early)).toBe(false)
    const unseen = await sendText(ann.api, ben.id, 'before')
    await pushes.handled()
    await pushes.setCertificates(['ios_gw'])
    const late = await sendText(ann.api, ben.id, 'late')
    expect(await pushes.outcome(late, ben.id)).toBe('sent')
    expect(await pushes.hasTask(unseen)).toBe(false)
    expect(pushes.shownTo(ben).map(({ body }) => body)).toEqual(['late'])
  })

  it('that come together show the newest of each conversation, and mentions', {
    timeout: timeoutMs,
  }, async () => {
    await using place = await Place.inProcess(backend)
    const { pushes } = place
    await pushes.setCertificates(['ios_gw'])
    const [ann, eve, zoe] = [await pushes.user(), await pushes.user(), await pushes.user()]
    const [ben, carl, dave] = [
      await pushes.receiver(),
      await pushes.receiver(),
      await pushes.receiver(),
    ]
    const group = await aGroup(zoe, { members: [ann, ben, carl, eve] })
    const sent: Record<string, number> = {}
    const mention = { config: JSON.stringify({ mentionList: [ben.id] }) }
    await place.together(async () => {
      for (const text of ['ann 1', 'ann 2', 'ann 3'])
        sent[text] = await sendText(ann.api, ben.id, text)
      sent.eve = await sendText(eve.api, ben.id, 'eve')
      sent['group 1'] = await sendToGroup(ann.api, group, 'group 1')
      sent.mention = await sendToGroup(eve.api, group, 'mention', mention)
      sent['group 2'] = await sendToGroup(ann.api, group, 'group 2')
      sent['group 3'] = await sendToGroup(eve.api, group, 'group 3')
      sent.read = await sendText(ann.api, dave.id, 'read')
      await acknowledge(dave.api, { peer: ann.id, message: sent.read })
      sent.recalled = await sendText(ann.api, carl.id, 'recalled')
      expect((await recall(ann.api, carl.id, sent.recalled)).code).toBe(200)
    })
    const outcomeOf = (text: string, user: Session) => pushes.outcome(sent[text] ?? 0, user.id)
    expect(await outcomeOf('ann 1', ben)).toBe('collapsed')
    expect(await outcomeOf('ann 2', ben)).toBe('collapsed')
    expect(await outcomeOf('ann 3', ben)).toBe('sent')
    expect(await outcomeOf('eve', ben)).toBe('sent')
    // A later one is for everybody whom these would be for, so nobody is looked for.
    for (const text of ['group 1', 'group 2']) {
      expect(await pushes.hasTask(sent[text] ?? 0), text).toBe(true)
      expect(await outcomeOf(text, ben), text).toBe('nothing')
    }
    expect(await outcomeOf('mention', ben)).toBe('sent')
    expect(await outcomeOf('mention', carl)).toBe('collapsed')
    expect(await outcomeOf('group 3', ben)).toBe('sent')
    expect(await outcomeOf('group 3', carl)).toBe('sent')
    expect(await outcomeOf('read', dave)).toBe('message_read')
    expect(await pushes.hasTask(sent.recalled ?? 0)).toBe(false)
    const bodies = (user: Receiver) =>
      pushes
        .shownTo(user)
        .map(({ body }) => body)
        .sort()
    expect(bodies(ben)).toEqual(['ann 3', 'eve', 'group 3', 'mention'])
    expect(bodies(carl)).toEqual(['group 3'])
    expect(bodies(dave)).toEqual([])
  })

  if (isFullRun)
    it('that wait for a connected device are sent after a kill', {
      timeout: timeoutMs,
    }, async () => {
      await using place = await Place.ofProcess(backend)
      const { pushes, watched } = place
      await pushes.setCertificates(['ios_gw'])
      const [ann, ben] = [await pushes.user(), await pushes.receiver()]
      using client = await GatewayClient.connect(watched.server.url)
      const deviceGuid = `guid of ${ben.username}`
      await client.open({ appId: place.watched.server.appId, accessToken: ben.token, deviceGuid })
      const message = await sendText(ann.api, ben.id, 'before the kill')
      await waitFor(
        async () => {
          const [delivery] = await pushes.deliveries(message, ben.id)
          return delivery?.steps.includes('"waiting"')
        },
        { what: 'the wait for the device', timeoutMs },
      )
      await watched.crash()
      expect(pushes.shownTo(ben)).toEqual([])
      await watched.startAgain()
      expect(await pushes.outcome(message, ben.id)).toBe('sent')
      expect(pushes.shownTo(ben).map(({ body }) => body)).toEqual(['before the kill'])
    })

  if (isFullRun && backend.name === 'sqlite')
    it('that wait at a slow gateway at a kill are sent right after the start, before the lease of the killed process would end', {
      timeout: timeoutMs,
    }, async () => {
      /** Half of the shortest lease, for slow machines; a start and its push take less than a second. */
      const withinMs = 5_000
      const atGateway: string[] = []
      let isSlow = true
      await using place = await Place.ofProcess(backend, {
        beforeAnswer: ({ path }) => {
          atGateway.push(path)
          return isSlow ? new Promise(() => {}) : undefined
        },
      })
      const { pushes, watched } = place
      await pushes.setCertificates(['ios_gw'])
      const [ann, ben, carl] = [
        await pushes.user(),
        await pushes.receiver(),
        await pushes.receiver(),
      ]
      const message = await sendText(ann.api, ben.id, 'before the kill')
      await waitFor(() => atGateway.length > 0, {
        what: 'the push is at the gateway',
        timeoutMs,
      })
      await watched.crash()
      isSlow = false
      await watched.startAgain()
      const startedAt = performance.now()
      expect(await pushes.outcome(message, ben.id)).toBe('sent')
      // The consumer of events has a lease too.
      const next = await sendText(ann.api, carl.id, 'after the start')
      expect(await pushes.outcome(next, carl.id)).toBe('sent')
      expect(performance.now() - startedAt).toBeLessThan(withinMs)
      expect(atGateway.map((path) => path.split('/').at(-1))).toEqual([
        ben.deviceToken,
        ben.deviceToken,
        carl.deviceToken,
      ])
    })

  if (isFullRun)
    it('lose none and make none twice when the service is killed', {
      timeout: timeoutMs,
    }, async () => {
      await using place = await Place.ofProcess(backend)
      const { pushes, watched } = place
      await pushes.setCertificates(['ios_gw'])
      const random = new Random(seed)
      const ann = await pushes.user()
      const receivers = await Promise.all([1, 2, 3, 4].map(() => pushes.receiver()))
      const group = await aGroup(ann, { members: receivers })
      const answered: { message: number; receivers: readonly Receiver[] }[] = []
      for (let run = 0; run <= kills; run++) {
        let isRunning = true
        const speak = async (send: () => Promise<number>, to: readonly Receiver[]) => {
          while (isRunning)
            await send().then(
              (message) => answered.push({ message, receivers: to }),
              // Of what was not answered nobody knows whether it was stored.
              () => sleep(1),
            )
        }
        const speakers = [
          ...receivers.map((ben) => speak(() => sendText(ann.api, ben.id, 'direct'), [ben])),
          speak(() => sendToGroup(ann.api, group, 'group'), receivers),
        ]
        const before = answered.length
        await waitFor(() => answered.length >= before + messagesPerRun, {
          what: 'messages are answered',
          timeoutMs,
        })
        await sleep(random.integer(0, 200))
        if (run < kills) await watched.crash()
        isRunning = false
        await Promise.all(speakers)
        if (run < kills) await watched.startAgain()
      }
      await pushes.handled()
      const outcomes = new Map<string, number>()
      for (const { message, receivers: to } of answered) {
        expect(await pushes.hasTask(message)).toBe(true)
        for (const outcome of await pushes.outcomes(message, to))
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
      // `nothing` is a message of the group that a later one stands for.
      const expected = ['collapsed', 'nothing', 'sent']
      expect([...outcomes.keys()].filter((outcome) => !expected.includes(outcome))).toEqual([])
      for (const ben of receivers) {
        const shown = pushes.shownTo(ben)
        const tries = new Map<unknown, Set<string>>()
        for (const { members } of shown) {
          const tasks = tries.get(members.msg_id) ?? new Set()
          tries.set(members.msg_id, tasks.add(JSON.stringify(members.hermod)))
        }
        // A request may be repeated after a kill, and is the same push then; no message has two of them.
        expect([...tries.values()].every((tasks) => tasks.size === 1)).toBe(true)
        const last = answered.findLast(({ receivers: to }) => to.length === 1 && to[0] === ben)
        expect(tries.has(last?.message)).toBe(true)
      }
    })
})
