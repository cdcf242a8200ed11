/**
 * The devices of everybody, as the database counts them in groups, are those that would be found user by user, on both databases
 * (decision 030): whatever the users' settings, statuses, bindings and connections, and wherever the parts end.
 */
import { userStatus } from '@hermod/protocol'
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AudienceCounter } from '../../../dist/domain/push/audience/audience-counter.js'
import { AudienceReader, allDevicesOf } from '../../../dist/domain/push/audience/audience-reader.js'
import { AudienceStore } from '../../../dist/domain/push/audience/audience-store.js'
import {
  addCounts,
  type DeviceCounts,
  noDevices,
} from '../../../dist/domain/push/batches/batch-model.js'
import { countDeliveries } from '../../../dist/domain/push/deliveries/plan-deliveries.js'
import { RecipientStore } from '../../../dist/domain/push/deliveries/recipient-store.js'
import type { StoredPushTask } from '../../../dist/domain/push/tasks/task-model.js'
import { defaultSettings } from '../../../dist/domain/users/user-model.js'
import type { ConnectedDevice } from '../../../dist/push/core-channel.js'
import { DatabasePlace } from '../../support/database/database-place.js'
import { withinTime } from '../../support/within-time.js'

const appId = 'app'
const otherApp = 'app-2'
const now = Date.UTC(2026, 0, 5, 12)
const certificates = [
  { certificateId: 1, name: 'phones', gateway: { channel: 'ios_gw' } },
  { certificateId: 2, name: 'two\nlines', gateway: { channel: 'vendor_h' } },
  { certificateId: 3, name: String.raw`a\nb`, gateway: { channel: 'vendor_h' } },
  { certificateId: 4, name: 'b\n0 lines', gateway: { channel: 'vendor_x' } },
] as const

interface Person {
  readonly bindings: readonly {
    readonly deviceSn: number
    readonly name: string
    readonly paused: boolean
  }[]
  readonly connected: readonly number[]
  readonly status: number
  readonly isDeleted: boolean
  readonly settings: {
    readonly no_push: number
    readonly no_push_start_hour: number
    readonly no_push_end_hour: number
    readonly no_push_detail: number
  } | null
}

const usually = <T>(value: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: others })
const hour = fc.constantFrom(0, 8, 11, 13, 22)
const person: fc.Arbitrary<Person> = fc.record({
  bindings: fc.uniqueArray(
    fc.record({
      deviceSn: fc.integer({ min: 1, max: 2 }),
      name: fc.constantFrom(...certificates.map(({ name }) => name), 'nobody knows it'),
      paused: usually(false, fc.constant(true)),
    }),
    { maxLength: 3, selector: ({ deviceSn, name }) => `${deviceSn} ${name}` },
  ),
  connected: usually<number[]>([], fc.subarray([1, 2], { minLength: 1 })),
  status: usually<number>(userStatus.normal, fc.constant(userStatus.disabled)),
  isDeleted: usually(false, fc.constant(true)),
  settings: usually<Person['settings']>(
    null,
    fc.record({
      no_push: usually(0, fc.constant(1)),
      no_push_start_hour: hour,
      no_push_end_hour: hour,
      no_push_detail: fc.constantFrom(0, 1),
    }),
  ),
})
/** Some have no device at all, so many in a row that a part ends amid them. */
const withoutDevice = person.map((one) => ({ ...one, bindings: [] }))
const population = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: person.map((one) => [one]) },
      { weight: 1, arbitrary: fc.array(withoutDevice, { maxLength: 9 }) },
    ),
    { maxLength: 25, size: 'max' },
  )
  .map((groups) => groups.flat())

/** Beside what is random about it. */
const someone = {
  app_id: appId,
  password_hash: '',
  nick_name: '',
  avatar: '',
  description: '',
  public_info: '',
  private_info: '',
  last_device_sn: 2,
  credential_epoch: 1,
  created_at: 1,
}

/** An application with users, and what decides about their pushes beside them. */
class Place {
  readonly #counter: AudienceCounter
  readonly #recipients: RecipientStore
  #connected: readonly ConnectedDevice[] = []
  #userIds: readonly number[] = []

  constructor(private readonly place: DatabasePlace) {
    const { database } = place
    const store = new AudienceStore(database)
    const core = {
      listUsers: async (_: string, after: number | bigint, limit: number) =>
        [...new Set(this.#connected.map(({ userId }) => userId))]
          .filter((userId) => userId > after)
          .slice(0, limit),
    }
    const messages = { page: () => Promise.reject(new Error('no message is pushed')) }
    this.#counter = new AudienceCounter({
      database,
      store,
      audiences: new AudienceReader({ database, store, core, messages }),
      planner: {
        surroundings: async (_, userIds) => this.#surroundings(userIds),
      },
      core,
    })
    this.#recipients = new RecipientStore(database)
  }

  async fill(people: readonly Person[]): Promise<void> {
    const known = people.map((one, index) => ({ ...one, userId: 10 + 3 * index }))
    this.#userIds = known.map(({ userId }) => userId)
    this.#connected = known.flatMap(({ userId, connected }) =>
      connected.map((deviceSn) => ({ userId, deviceSn })),
    )
    await this.place.database.transaction(async (tx) => {
      for (const table of ['push_bindings', 'user_settings', 'users'] as const)
        await tx.deleteFrom(table).execute()
      for (const { userId, bindings, settings, status, isDeleted } of known) {
        const user = { user_id: userId, username: `u${userId}`, status }
        await tx
          .insertInto('users')
          .values({ ...someone, ...user, deleted_at: isDeleted ? 1 : null })
          .execute()
        const key = { app_id: appId, user_id: userId }
        if (settings)
          await tx
            .insertInto('user_settings')
            .values({ ...key, ...defaultSettings, ...settings })
            .execute()
        for (const { deviceSn, name, paused } of bindings)
          await tx
            .insertInto('push_bindings')
            .values({
              ...key,
              device_sn: deviceSn,
              notifier_name: name,
              device_token: `${userId} ${deviceSn} ${name}`,
              bound_at: 1,
              paused_until: paused ? now + 1 : 0,
            })
            .execute()
      }
      // Whoever is of another application counts nowhere.
      await tx
        .insertInto('push_bindings')
        .values({
          app_id: otherApp,
          user_id: 11,
          device_sn: 1,
          notifier_name: 'phones',
          device_token: 'of another',
          bound_at: 1,
        })
        .execute()
    })
  }

  /** As the service counts, in parts of so many devices. */
  async counted(task: StoredPushTask, limit: number): Promise<DeviceCounts> {
    const sizes: number[] = []
    let counts = noDevices
    for (let after: number | bigint = 0, isLast = false; !isLast; ) {
      const part = await this.#counter.next(task, after, limit, async (size) => {
        sizes.push(size)
      })
      expect(part.upTo).toSatisfy((upTo: number) => upTo > Number(after) || part.isLast)
      counts = addCounts(counts, part.expected)
      ;({ upTo: after, isLast } = part)
    }
    // Both lists may fill a part.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * limit)
    return counts
  }

  /** One user after the other. */
  async found(task: StoredPushTask): Promise<DeviceCounts> {
    const { database } = this.place
    const facts = await database.read((db) => this.#recipients.facts(db, appId, this.#userIds))
    const recipients = this.#userIds.map(allDevicesOf)
    // Who is only connected is no target of it, and is not looked for.
    const asked = task.content.strategy === 'ospush_only' ? [] : this.#userIds
    return countDeliveries({ task, recipients }, facts, this.#surroundings(asked))
  }

  #surroundings(userIds: readonly (number | bigint)[]) {
    const connected = this.#connected.filter(({ userId }) => userIds.includes(userId))
    return { certificates, connected, timeZone: 'UTC', now }
  }
}

for (const backend of testBackends()) {
  describe(`the devices of everybody on ${backend.name}`, { timeout: 300_000 }, () => {
    let database: DatabasePlace

    beforeEach(async () => {
      database = await DatabasePlace.create(backend)
      await database.database.transaction(async (tx) => {
        for (const app_id of [appId, otherApp])
          await tx
            .insertInto('apps')
            .values({
              app_id,
              name: app_id,
              status: 0,
              open_registration: 0,
              registration_secret: '',
              file_link_key: '',
              settings: '{}',
              created_at: 0,
            })
            .execute()
      })
    })
    afterEach(() => database?.[Symbol.asyncDispose]())

    it('are as many as would be found user by user', async () => {
      const place = new Place(database)
      let counted = 0
      await fc.assert(
        fc.asyncProperty(
          population,
          fc.constantFrom('combined', 'corepush_only', 'ospush_only'),
          fc.integer({ min: 1, max: 12 }),
          async (people, strategy, limit) => {
            await place.fill(people)
            const content = {
              audience: { kind: 'all' },
              strategy,
              sequence: ['ios_gw', 'vendor_h', 'vendor_x'],
            }
            const task = { appId, taskId: 1, content } as unknown as StoredPushTask
            const [found, inParts] = [await place.found(task), await place.counted(task, limit)]
            counted += found.devices
            expect(tidy(inParts)).toEqual(tidy(found))
          },
        ),
        { numRuns: 80, ...withinTime },
      )
      expect(counted).toBeGreaterThan(300)
    })
  })
}

/** Counts of 0 are the same as none. */
function tidy({ devices, targets }: DeviceCounts) {
  return { devices, targets: Object.fromEntries([...targets].filter(([, count]) => count !== 0)) }
}
