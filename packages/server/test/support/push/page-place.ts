/** A database with users and their devices, and the writer of pages on it, without a server. */
import { pushTaskState, userStatus } from '@hermod/protocol'
import type { Database, Tx } from '../../../dist/db/database.js'
import { databaseNow } from '../../../dist/db/database-now.js'
import { AudienceEstimate } from '../../../dist/domain/push/audience/audience-estimate.js'
import { AudienceReader } from '../../../dist/domain/push/audience/audience-reader.js'
import { AudienceStore } from '../../../dist/domain/push/audience/audience-store.js'
import { allDevicesOf } from '../../../dist/domain/push/audience/recipient.js'
import type { Audience, TaskContent } from '../../../dist/domain/push/content/task-content.js'
import { planDeliveries } from '../../../dist/domain/push/deliveries/plan-deliveries.js'
import { RecipientStore } from '../../../dist/domain/push/deliveries/recipient-inputs.js'
import { PageWriter } from '../../../dist/domain/push/pages/page-writer.js'
import { GatewayHolds } from '../../../dist/domain/push/sending/gateway-holds.js'
import {
  firstPageJob,
  type PageToSend,
  sendBatch,
} from '../../../dist/domain/push/tasks/push-jobs.js'
import { TaskStore } from '../../../dist/domain/push/tasks/task-store.js'
import { defaultSettings } from '../../../dist/domain/users/user-model.js'
import { JobQueue } from '../../../dist/jobs/job-queue.js'
import { JobStore } from '../../../dist/jobs/job-store.js'

export const appId = 'app'
const startedAt = Date.UTC(2026, 0, 5, 12)
const lifetimeMs = 60_000
const sequence = ['ios_gw', 'vendor_h'] as const
/** Small, so that a few users are several pages of several parts. */
const pageSize = { devices: 4, users: 12, usersPerPart: 2 }

export const certificates = [
  { certificateId: 1, name: 'phones', gateway: { channel: 'ios_gw' } },
  { certificateId: 2, name: 'handsets', gateway: { channel: 'vendor_h' } },
] as const

/** A user as a test describes it. */
export interface Person {
  readonly bindings: readonly { readonly deviceSn: number; readonly name: string }[]
  readonly connected: readonly number[]
  readonly isDisabled: boolean
  readonly isDeleted: boolean
  readonly hasPushesOff: boolean
}

/** A user with one device. */
export const oneDevice: Person = {
  bindings: [{ deviceSn: 1, name: 'phones' }],
  connected: [],
  isDisabled: false,
  isDeleted: false,
  hasPushesOff: false,
}

/** A delivery: user, device, state and channel. */
export type DeliveryText = string

/** The part of a run before which it ends, as if the node was killed; from 1. */
export class Killed extends Error {}

interface KnownPerson extends Person {
  readonly userId: number
}

export class PagePlace {
  readonly holds: GatewayHolds
  readonly tasks: TaskStore
  readonly #jobs: JobQueue
  readonly #audiences: AudienceReader
  readonly #estimate: AudienceEstimate
  readonly #recipients: RecipientStore
  #now = startedAt
  #lastId = 1_000_000
  #people: readonly KnownPerson[] = []

  constructor(readonly database: Database) {
    const clock = { now: () => this.#now }
    const store = new AudienceStore(database)
    const core = {
      listUsers: async (_: string, after: number | bigint, limit: number) =>
        this.#people
          .filter(({ userId, connected }) => userId > after && connected.length > 0)
          .map(({ userId }) => userId)
          .slice(0, limit),
    }
    const messages = {
      page: () => Promise.reject(new Error('no message is pushed')),
      countMembers: () => Promise.reject(new Error('no message is pushed')),
    }
    this.tasks = new TaskStore(database)
    this.holds = new GatewayHolds(clock)
    this.#audiences = new AudienceReader({ database, store, core, messages })
    this.#estimate = new AudienceEstimate({
      database,
      store,
      users: { find: async () => ({ users: this.#people.length }) },
      messages,
    })
    this.#recipients = new RecipientStore(database)
    this.#jobs = new JobQueue({
      store: new JobStore(databaseNow({ now: null }, clock)),
      ids: this.#ids,
      clock,
      announce: () => {},
    })
  }

  get now(): number {
    return this.#now
  }

  /** Moves the clock to the end of every task. */
  endTime(): void {
    this.#now = startedAt + lifetimeMs
  }

  /** Replaces all users; removes tasks, deliveries and jobs. */
  async fill(people: readonly Person[]): Promise<void> {
    this.#now = startedAt
    this.#people = people.map((one, index) => ({ ...one, userId: 10 + 3 * index }))
    await this.database.transaction(async (tx) => {
      for (const table of tables) await tx.deleteFrom(table).execute()
      await addPeople(tx, this.#people)
    })
  }

  userId(index: number): number {
    return this.#people[index]?.userId ?? 0
  }

  /** Starts a task. @returns its ID */
  async start(
    audience: Audience = { kind: 'all' },
    strategy: TaskContent['strategy'] = 'combined',
  ): Promise<number> {
    const taskId = ++this.#lastId
    const notification = { badge: { mode: 'add', count: 1 }, ios: {} }
    const content = { audience, strategy, sequence, notification } as unknown as TaskContent
    const task = {
      appId,
      taskId,
      msgId: 0,
      requestId: '',
      content,
      estimatedUsers: null,
      beginsAt: startedAt,
      expiresAt: startedAt + lifetimeMs,
      createdAt: startedAt,
    }
    await this.database.transaction(async (tx) => {
      await this.tasks.insert(tx, task)
      await this.#jobs.enqueue(tx, sendBatch, firstPageJob(task))
    })
    return taskId
  }

  /** The jobs that are not finished, by page. */
  async jobs(): Promise<{ page: PageToSend; kind: string; runAt: number }[]> {
    const rows = await this.database.read((db) =>
      db.selectFrom('jobs').select(['payload', 'kind', 'run_at']).execute(),
    )
    return rows
      .map(({ payload, kind, run_at: runAt }) => ({ page: JSON.parse(payload), kind, runAt }))
      .sort((a, b) => a.page.page - b.page.page)
  }

  /**
   * Writes a page.
   * @param options.killBefore the part before which the run ends with {@link Killed}, from 1
   * @param options.before runs before each part
   */
  async write(
    page: PageToSend,
    options: { readonly killBefore?: number; before?(part: number): Promise<void> } = {},
  ): Promise<void> {
    const { database, tasks } = this
    let part = 0
    const writer = new PageWriter({
      database,
      tasks,
      audiences: this.#audiences,
      estimate: this.#estimate,
      planInputs: { read: async (_, userIds) => this.#inputs(userIds) },
      holds: this.holds,
      pause: {
        rest: async () => {
          part++
          if (part === options.killBefore) throw new Killed()
          await options.before?.(part)
          return false
        },
      },
      jobs: this.#jobs,
      ids: this.#ids,
      clock: { now: () => this.#now },
      pageSize,
    })
    await writer.write(appId, page, new AbortController().signal)
  }

  async finishJob({ taskId, page }: PageToSend): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.deleteFrom('jobs').where('key', '=', `${taskId}.${page}`).execute()
    })
  }

  /** Runs all jobs until none is left. */
  async finish(): Promise<void> {
    for (;;) {
      const [first] = await this.jobs()
      if (!first) return
      await this.write(first.page)
      await this.finishJob(first.page)
    }
  }

  /** The deliveries of a task, as {@link DeliveryText}, by user and device. */
  async deliveries(taskId: number): Promise<DeliveryText[]> {
    const rows = await this.database.read((db) =>
      db
        .selectFrom('push_deliveries')
        .select(['user_id', 'device_sn', 'state', 'channel'])
        .where('task_id', '=', taskId)
        .orderBy('user_id')
        .orderBy('device_sn')
        .execute(),
    )
    return rows.map((row) => `${row.user_id} ${row.device_sn} ${row.state} ${row.channel}`)
  }

  /** The deliveries that a task must have up to a position. */
  async expected(
    strategy: TaskContent['strategy'],
    position: number = Number.MAX_SAFE_INTEGER,
  ): Promise<DeliveryText[]> {
    const inAudience = ({ bindings, connected }: Person) =>
      bindings.length > 0 || (strategy !== 'ospush_only' && connected.length > 0)
    const userIds = this.#people
      .filter(inAudience)
      .map(({ userId }) => userId)
      .filter((userId) => userId <= position)
    const users = await this.database.read((db) => this.#recipients.inputs(db, appId, userIds))
    const content = {
      audience: { kind: 'all' },
      strategy,
      sequence,
      notification: { ios: {} },
    } as unknown as TaskContent
    const recipients = userIds.map(allDevicesOf)
    const audience = { task: { appId, taskId: 0, content }, recipients }
    const [plan] = planDeliveries([audience], users, this.#inputs(userIds))
    return (plan?.deliveries ?? [])
      .map((each) => ({ ...each, text: `${each.state} ${each.channel}` }))
      .sort((a, b) => Number(a.userId) - Number(b.userId) || a.deviceSn - b.deviceSn)
      .map(({ userId, deviceSn, text }) => `${userId} ${deviceSn} ${text}`)
  }

  /** The counts that a task must have with these deliveries: all of them are pending or suppressed. */
  async requireExact(taskId: number): Promise<void> {
    const [task, counts, deliveries] = await Promise.all([
      this.task(taskId),
      this.database.read((db) => this.tasks.listCounts(db, appId, [taskId])),
      this.deliveries(taskId),
    ])
    const pending = deliveries.filter((text) => text.split(' ')[2] === '0')
    const targets = counts.reduce((sum, { target }) => sum + target, 0)
    const found = { devices: deliveries.length, targets: pending.length }
    const stored = { devices: task.devices, targets }
    if (JSON.stringify(found) !== JSON.stringify(stored))
      throw new Error(`counted ${JSON.stringify(stored)} of ${JSON.stringify(found)}`)
  }

  async task(taskId: number) {
    const task = await this.database.read((db) => this.tasks.find(db, { appId, taskId }))
    if (!task) throw new Error('there is no such task')
    return { ...task, isOpen: task.state < pushTaskState.expanded }
  }

  async cancel(taskId: number): Promise<void> {
    await this.database.transaction((tx) => this.tasks.cancel(tx, { appId, taskId }, this.#now))
  }

  /** The badges of users, by user ID. */
  async badges(): Promise<ReadonlyMap<number, number>> {
    const rows = await this.database.read((db) =>
      db.selectFrom('user_badges').select(['user_id', 'badge']).execute(),
    )
    return new Map(rows.map(({ user_id, badge }) => [Number(user_id), Number(badge)]))
  }

  readonly #ids = {
    takeReserved: (count: number) => Array.from({ length: count }, () => ++this.#lastId),
  }

  #inputs(userIds: readonly (number | bigint)[]) {
    const connected = this.#people
      .filter(({ userId }) => userIds.includes(userId))
      .flatMap((one) => one.connected.map((deviceSn) => ({ userId: one.userId, deviceSn })))
    return { certificates, connected, timeZone: 'UTC', now: this.#now }
  }
}

const tables = [
  'jobs',
  'push_deliveries',
  'push_task_counts',
  'push_tasks',
  'push_bindings',
  'push_tags',
  'user_badges',
  'user_settings',
  'users',
] as const

const row = {
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

async function addPeople(tx: Tx, people: readonly KnownPerson[]): Promise<void> {
  const key = ({ userId }: KnownPerson) => ({ app_id: appId, user_id: userId })
  const users = people.map((one) => ({
    ...row,
    ...key(one),
    username: `u${one.userId}`,
    status: one.isDisabled ? userStatus.disabled : userStatus.normal,
    deleted_at: one.isDeleted ? 1 : null,
  }))
  const badges = people.filter(({ isDeleted }) => !isDeleted).map(key)
  const settings = people
    .filter(({ hasPushesOff }) => hasPushesOff)
    .map((one) => ({ ...key(one), ...defaultSettings, no_push: 1 }))
  const bindings = people.flatMap((one) =>
    one.bindings.map(({ deviceSn, name }) => ({
      ...key(one),
      device_sn: deviceSn,
      notifier_name: name,
      device_token: `${one.userId}0${deviceSn}${name === 'phones' ? 'a' : 'b'}`,
      bound_at: 1,
      paused_until: 0,
    })),
  )
  if (users.length > 0) await tx.insertInto('users').values(users).execute()
  if (badges.length > 0) await tx.insertInto('user_badges').values(badges).execute()
  if (settings.length > 0) await tx.insertInto('user_settings').values(settings).execute()
  if (bindings.length > 0) await tx.insertInto('push_bindings').values(bindings).execute()
}

/** Inserts the application that all users are of. */
export async function addApp(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    await tx
      .insertInto('apps')
      .values({
        app_id: appId,
        name: appId,
        status: 0,
        open_registration: 0,
        registration_secret: '',
        file_link_key: '',
        settings: '{}',
        created_at: 0,
      })
      .execute()
  })
}
