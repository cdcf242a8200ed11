/**
 * The service and a model of conversations: after any history of calls every user sees what the
 * model says. A failure prints the shortest history that shows it.
 */
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { InProcessServer } from '../support/in-process-server.js'
import { ChangeReader } from '../support/messaging/change-reader.js'
import {
  perform,
  type SendOptions,
  type Step,
  type What,
} from '../support/messaging/conversation-steps.js'
import {
  type Cast,
  ConversationWorld,
  counts,
  type Service,
} from '../support/messaging/conversation-world.js'
import { Retention } from '../support/messaging/history-retention.js'
import { integrityFaults } from '../support/messaging/messaging.js'

type NamedStep = Step & { readonly what: What }

/** A step with its weight; what is not fixed is any. */
interface Choice {
  readonly what: What
  readonly weight: number
  readonly who?: number
  readonly whom?: number
  readonly way?: fc.Arbitrary<number>
  readonly more?: fc.Arbitrary<SendOptions>
  readonly steps?: fc.Arbitrary<readonly Step[]>
}

const nat = fc.nat(1_000)
const age = fc.oneof(fc.nat(6), nat)

function anyOf(choices: readonly Choice[]): fc.Arbitrary<NamedStep> {
  return fc.oneof(
    ...choices.map(({ weight, what, who, whom, way = nat, more, steps }) => ({
      weight,
      arbitrary: fc.record(
        {
          what: fc.constant(what),
          who: who === undefined ? nat : fc.constant(who),
          whom: whom === undefined ? nat : fc.constant(whom),
          age,
          way,
          ...(more && { more }),
          ...(steps && { steps }),
        },
        { noNullPrototype: true },
      ),
    })),
  )
}

function steps(
  choices: readonly Choice[],
  { minLength, maxLength }: { readonly minLength: number; readonly maxLength: number },
): fc.Arbitrary<NamedStep[]> {
  return fc.array(anyOf(choices), { minLength, maxLength, size: 'max' })
}

/** True once in so many times. */
const onceIn = (times: number) => fc.nat(times - 1).map((chance) => chance === times - 1)
const transaction = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
)
const anySend: fc.Arbitrary<SendOptions> = fc.record({
  isSystem: onceIn(5),
  isNotification: onceIn(4),
  isOnlineOnly: onceIn(10),
  transaction,
  others: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(nat, { maxLength: 4 }) },
  ),
})
const byUserOrSystem = (isSystem: fc.Arbitrary<boolean>) =>
  fc.record({ isSystem, isNotification: onceIn(5) })
const notification: fc.Arbitrary<SendOptions> = fc.record({
  isSystem: fc.boolean(),
  isNotification: fc.constant(true),
})

interface Kind {
  readonly cast: Cast
  readonly first?: readonly NamedStep[]
  readonly histories: fc.Arbitrary<NamedStep[]>
  /** The users who look at everything after each step; default: one of them in turn. */
  readonly looks?: 'all' | 'none'
  /** A device of each user that was away reads all changes at the end, and the integrity check runs. */
  readonly isFollowed?: boolean
}

const direct: Kind = {
  cast: { users: 4, correspondents: 4, hasSystem: true, groups: [] },
  looks: 'none',
  histories: steps(
    [
      { what: 'send', weight: 80, more: anySend },
      { what: 'look', weight: 27 },
      { what: 'look on a device', weight: 3 },
      { what: 'count unread', weight: 15 },
      { what: 'list', weight: 15 },
      { what: 'walk', weight: 15 },
      { what: 'acknowledge', weight: 12 },
      { what: 'acknowledge message', weight: 20 },
      { what: 'acknowledge all', weight: 6 },
      { what: 'recall', weight: 25 },
      { what: 'edit', weight: 25, more: fc.record({ transaction }) },
      { what: 'delete', weight: 14 },
      { what: 'restart', weight: 1 },
      { what: 'set the clock', weight: 5 },
    ],
    { minLength: 0, maxLength: 40 },
  ),
}

const groupHistories = { minLength: 1, maxLength: 40 }

/** Two groups of one owner, and the conversation of two of their members. */
const group: Kind = {
  cast: {
    users: 4,
    correspondents: 2,
    hasSystem: false,
    groups: [
      [0, 1, 2],
      [0, 3],
    ],
  },
  first: [{ what: 'set read receipts', who: 0, whom: 0, age: 0, way: 0 }],
  looks: 'all',
  histories: steps(
    [
      { what: 'send', weight: 40, more: byUserOrSystem(onceIn(5)) },
      { what: 'acknowledge', weight: 4 },
      { what: 'acknowledge message', weight: 12 },
      { what: 'acknowledge all', weight: 4 },
      { what: 'look on a device', weight: 10, way: fc.constant(0) },
      { what: 'recall', weight: 7 },
      { what: 'recall as the user', weight: 5 },
      { what: 'delete', weight: 8 },
      { what: 'join', weight: 10 },
      { what: 'leave', weight: 6 },
      { what: 'kick', weight: 4 },
      { what: 'set visible', weight: 6 },
      { what: 'set read receipts', weight: 6 },
      { what: 'mute', weight: 16 },
    ],
    groupHistories,
  ),
}

const owner = { who: 0, whom: 0 }
const listener = { who: 1, whom: 0 }

/** A member of a group who does not receive all of it, and reads it by and by. */
const listeningMember: Kind = {
  ...group,
  histories: steps(
    [
      { what: 'send', weight: 50, ...owner, more: fc.record({ isSystem: onceIn(4) }) },
      { what: 'send', weight: 4, ...listener, more: fc.record({ isNotification: fc.boolean() }) },
      { what: 'acknowledge message', weight: 12, ...listener },
      { what: 'recall', weight: 14, ...owner },
      { what: 'mute', weight: 26, ...listener },
      { what: 'delete', weight: 1, ...listener },
      { what: 'leave', weight: 2, ...listener },
      { what: 'join', weight: 6, ...listener },
    ],
    groupHistories,
  ),
}

const atOnce: readonly Choice[] = [
  { what: 'broadcast', weight: 18 },
  { what: 'send', weight: 24 },
  { what: 'register', weight: 12 },
  { what: 'remove', weight: 6 },
]

const broadcasts: Kind = {
  cast: { users: 3, correspondents: 3, hasSystem: true, groups: [] },
  histories: steps(
    [
      ...atOnce,
      { what: 'burst', weight: 10, steps: steps(atOnce, { minLength: 2, maxLength: 16 }) },
      { what: 'acknowledge', weight: 16 },
      { what: 'acknowledge message', weight: 16 },
      { what: 'acknowledge all', weight: 16 },
      { what: 'delete', weight: 16 },
      { what: 'look on a device', weight: 16, way: fc.constant(2) },
      { what: 'recall', weight: 15 },
      { what: 'edit', weight: 15 },
    ],
    { minLength: 5, maxLength: 50 },
  ),
}

/** All of it, with an end of the history and a clock that is wrong at times. */
const expiring: Kind = {
  cast: { users: 4, correspondents: 4, hasSystem: true, groups: [[0, 1, 2]] },
  isFollowed: true,
  histories: steps(
    [
      { what: 'send', weight: 28 },
      { what: 'send', weight: 28, more: notification },
      { what: 'send', weight: 28, whom: 0 },
      { what: 'broadcast', weight: 28 },
      { what: 'recall', weight: 35 },
      { what: 'edit', weight: 35 },
      { what: 'acknowledge', weight: 12 },
      { what: 'acknowledge message', weight: 12 },
      { what: 'acknowledge all', weight: 12 },
      { what: 'delete', weight: 12 },
      { what: 'mute', weight: 12 },
      { what: 'join', weight: 12 },
      { what: 'follow', weight: 12 },
      { what: 'expire', weight: 42 },
      { what: 'set the clock', weight: 14 },
    ],
    { minLength: 10, maxLength: 60 },
  ),
}

async function play(service: Service, kind: Kind, history: readonly NamedStep[]): Promise<void> {
  const { cast, first = [], looks } = kind
  const world = await ConversationWorld.begin(service, cast)
  for (const each of first) await perform(world, each)
  const compareAll = () => Promise.all(world.present.map(({ id }) => world.compare(id)))
  for (const [index, each] of history.entries()) {
    await perform(world, each)
    if (looks === 'all') await compareAll()
    else if (looks === undefined) await world.compare(world.pick(world.present, index).id)
  }
  await compareAll()
  if (!kind.isFollowed) return
  for (const { id } of world.present)
    for (const peer of world.peersOf(id)) await world.follow(id, peer, 3)
  expect(await integrityFaults(service.server)).toEqual([])
}

for (const backend of testBackends()) {
  describe(`conversations on ${backend.name}`, () => {
    let service: Service

    beforeAll(async () => {
      const server = await InProcessServer.start(backend)
      service = {
        server,
        retention: new Retention(server.place),
        changes: new ChangeReader(server.place),
      }
    })

    afterAll(async () => {
      await service?.changes[Symbol.asyncDispose]()
      await service?.retention[Symbol.asyncDispose]()
      await service?.server[Symbol.asyncDispose]()
      if (process.env.HERMOD_SHOW_COUNTS) process.stderr.write(`${JSON.stringify(counts)}\n`)
    })

    // The integrity check of each expiring history takes less time while there are few others.
    it.each([
      ['history with an end', expiring],
      ['direct conversations', direct],
      ['groups', group],
      ['a member of a group who receives nothing at times', listeningMember],
      ['broadcasts', broadcasts],
    ])(
      'conversations: any sequence of calls gives the results of the model: %s',
      { timeout: propertyTimeoutMs },
      async (_, kind) => {
        const property = fc.asyncProperty(kind.histories, (history) => play(service, kind, history))
        await checkProperty(backend, property)
        expect(await integrityFaults(service.server)).toEqual([])
      },
    )
  })
}
