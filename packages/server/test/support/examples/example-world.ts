/** The service and the people of the recorded examples. */
import * as api from '@hermod/protocol'
import { certificateFields, PushSimulator } from '@hermod/push-simulator'
import { type Backend, TempFolder, waitFor } from '@hermod/testkit'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { InProcessServer } from '../in-process-server.js'
import { endOfJob } from '../long-jobs.js'
import type { WalkContext } from '../walk/walk-fixture.js'
import { type Identity, type Params, WalkWorld } from '../walk/walk-world.js'

/** A certificate of the simulated gateway, to whose devices pushes go. */
export const pushChannel = 'ios_gw'
/** A device of the gateway, as the user binds it. */
export const pushBinding = {
  device_sn: 1,
  device_token: 'a1'.repeat(32),
  notifier_name: pushChannel,
}

export class ExampleWorld implements AsyncDisposable {
  #backup: Promise<{ readonly job_id: number }> | undefined

  private constructor(
    readonly server: InProcessServer,
    readonly context: WalkContext,
    private readonly backups: TempFolder,
    private readonly receiver: WebhookReceiver,
    private readonly parts: readonly AsyncDisposable[],
  ) {}

  /** Addresses and folders of this machine, and those that stand for them. */
  get texts(): readonly (readonly [string, string])[] {
    return [
      [this.server.url, 'https://chat.example.com'],
      [this.receiver.url, 'https://hooks.example.com/hermod'],
      [this.backups.path, '/var/backups/hermod'],
      ['http://localhost:9/hook', 'https://hooks.example.com/hermod'],
      ['http://127.0.0.1:9', 'https://push.example.com'],
    ]
  }

  /** The address of a receiver that takes events. */
  get receiverUrl(): string {
    return this.receiver.url
  }

  /** The folder of backups. */
  get backupFolder(): { readonly folder: string } {
    return { folder: this.backups.path }
  }

  static async create(backend: Backend): Promise<ExampleWorld> {
    const receiver = await WebhookReceiver.start({ verify: () => {} })
    const simulator = await PushSimulator.start({})
    const settings = {
      HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
      HERMOD_ALERT_URL: receiver.url,
      HERMOD_ALERT_SECRET: `whsec_${Buffer.alloc(32, 'a').toString('base64')}`,
    }
    const server = await InProcessServer.start(backend, settings, 'gateway')
    const world = await WalkWorld.create(server)
    const subject = await world.newPerson(world.here, { username: 'alice' })
    const friend = await world.newPerson(world.here, { username: 'bob' })
    const context = { world, subject, friend }
    const backups = new TempFolder('example-backups')
    const parts = [server, simulator, receiver]
    const example = new ExampleWorld(server, context, backups, receiver, parts)
    await example.#fill(simulator)
    return example
  }

  /** Gives lists something to answer. */
  async #fill({ gateways }: PushSimulator): Promise<void> {
    const { world, subject, friend } = this.context
    const [alice, bob] = [world.adminFor(subject), world.adminFor(friend)]
    const certificate = {
      app_id: world.here.appId,
      name: pushChannel,
      environment: 1,
      ...certificateFields(gateways[pushChannel].certificate),
    }
    const hello = { type: 1, content_type: 0, content: 'Hello Alice', targets: [subject.id] }
    const steps: readonly [unknown, Identity, Params][] = [
      [api.updateProfile, alice, { nick_name: 'Alice' }],
      [api.updateProfile, bob, { nick_name: 'Bob' }],
      [api.addContacts, alice, { list: [friend.id] }],
      [api.addPushTags, alice, { tags: ['news'] }],
      [api.blockUser, alice, { user_id: await world.stranger() }],
      [api.sendMessage, bob, hello],
      [api.setPushCertificate, world.operator, certificate],
      [api.bindPushToken, alice, pushBinding],
    ]
    for (const [operation, identity, params] of steps)
      await world.prepare(operation as api.Operation, identity, params)
  }

  /** Waits until each delivery of a push task has come to its end. */
  async waitForTask(task_id: number): Promise<void> {
    const { world } = this.context
    const params = { app_id: world.here.appId, task_id }
    await waitFor(
      async () => {
        const got = await world.prepare(api.getPushTask as api.Operation, world.operator, params)
        const { state, devices, finished } = got?.data ?? {}
        return state === api.pushTaskState.expanded && devices === finished
      },
      { what: 'the end of a push task', timeoutMs: 60_000, everyMs: 20 },
    )
  }

  /** Starts the service as after a restore of its database. */
  async restore(): Promise<void> {
    const { server } = this
    await server.sql.run("update database_identity set state = 'restored', state_since = 1")
    await server.stop()
    await server.startAgain()
  }

  /** Makes a backup, once. @returns its job */
  backup(): Promise<{ readonly job_id: number }> {
    this.#backup ??= this.#makeBackup()
    return this.#backup
  }

  async #makeBackup(): Promise<{ readonly job_id: number }> {
    const { world } = this.context
    const create = api.createBackup as api.Operation
    const { job_id } = (await world.prepare(create, world.operator, this.backupFolder))?.data ?? {}
    await endOfJob(this.server, job_id)
    return { job_id }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.parts) await part[Symbol.asyncDispose]()
    this.backups[Symbol.dispose]()
  }
}
