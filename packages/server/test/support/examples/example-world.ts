/** The service and the people of the recorded examples. */
import * as api from '@hermod/protocol'
import { certificateFields, PushSimulator } from '@hermod/push-simulator'
import { type Backend, TempFolder, waitFor } from '@hermod/testkit'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { InProcessServer } from '../in-process-server.js'
import type { WalkContext } from '../walk/walk-fixture.js'
import { type Identity, type Params, WalkWorld } from '../walk/walk-world.js'

/** A certificate of the simulated gateway, to whose devices pushes go. */
export const pushChannel = 'ios_gw'
const deviceToken = 'a1'.repeat(32)

export class ExampleWorld implements AsyncDisposable {
  private constructor(
    readonly server: InProcessServer,
    readonly context: WalkContext,
    private readonly backups: TempFolder,
    private readonly parts: readonly AsyncDisposable[],
  ) {}

  /** Where backups go. */
  get backupFolder(): { readonly folder: string } {
    return { folder: this.backups.path }
  }

  static async create(backend: Backend): Promise<ExampleWorld> {
    const receiver = await WebhookReceiver.start({ verify: () => {} })
    const simulator = await PushSimulator.start({})
    const server = await InProcessServer.start(backend, {
      HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
      HERMOD_ALERT_URL: receiver.url,
      HERMOD_STREAM_SILENT_SECONDS: '3600',
    })
    const world = await WalkWorld.create(server)
    const subject = await world.newPerson(world.here, { username: 'alice' })
    const friend = await world.newPerson(world.here, { username: 'bob' })
    const context = { world, subject, friend }
    const backups = new TempFolder('example-backups')
    const parts = [server, simulator, receiver]
    const example = new ExampleWorld(server, context, backups, parts)
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
    const binding = { device_sn: 1, device_token: deviceToken, notifier_name: pushChannel }
    const hello = { type: 1, content_type: 0, content: 'Hello Alice', targets: [subject.id] }
    const steps: readonly [unknown, Identity, Params][] = [
      [api.updateProfile, alice, { nick_name: 'Alice' }],
      [api.updateProfile, bob, { nick_name: 'Bob' }],
      [api.addContacts, alice, { list: [friend.id] }],
      [api.addPushTags, alice, { tags: ['news'] }],
      [api.blockUser, alice, { user_id: await world.stranger() }],
      [api.sendMessage, bob, hello],
      [api.setPushCertificate, world.operator, certificate],
      [api.bindPushToken, alice, binding],
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

  /** Makes the row of another node. */
  async otherNode({ isDead = false } = {}): Promise<{ readonly node_id: string }> {
    const node_id = isDead ? 'node-2' : 'node-1'
    const heartbeat = isDead ? 1 : Date.now()
    await this.server.sql.run(`insert into nodes
      (node_id, lease, started_at, heartbeat_at, ended_at, drain, version, schema, host, pool, figures, settings)
      values ('${node_id}', ${isDead ? 902 : 901}, 1, ${heartbeat}, ${isDead ? 1 : 'null'}, 0, '', 1, 'chat-2', 1, '{}', '{}')`)
    return { node_id }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.parts) await part[Symbol.asyncDispose]()
    this.backups[Symbol.dispose]()
  }
}
