/** A server with certificates of simulated gateways, and users with devices that are bound to them. */
import { pushDeliveryState, pushTaskState } from '@hermod/protocol'
import {
  certificateFields,
  PushSimulator,
  type PushSimulatorOptions,
  type SimulatedChannel,
} from '@hermod/push-simulator'
import {
  type Api,
  type Backend,
  type Json,
  type LoginSession,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { InProcessServer } from '../in-process-server.js'
import type { TestServer } from '../watched-server.js'

const operatorPath = '/operator/v1/push/certificate/set'

/** Fields of certificates whose pushes request receipts, lists of vendor_v included. */
export const receiptFields = {
  vendor_f: { requests_receipts: true },
  vendor_v: { receipt_id: '7145' },
} as const

/** Counts of a task that are not 0, such as `vendor_h_sent`. */
export type Counts = Readonly<Record<string, number>>

/** A server with simulated gateways of its own. */
export interface PushPlace extends AsyncDisposable {
  readonly watched: InProcessServer
  readonly simulator: PushSimulator
  readonly world: PushWorld
}

/** Starts both, with a certificate for each of the channels. */
export async function startPushWorld(
  backend: Backend,
  channels: readonly SimulatedChannel[],
  options: PushSimulatorOptions = {},
): Promise<PushPlace> {
  const simulator = await PushSimulator.start(options)
  const watched = await InProcessServer.start(backend)
  const world = new PushWorld(watched.server, simulator)
  await world.setCertificates(channels)
  return {
    watched,
    simulator,
    world,
    async [Symbol.asyncDispose]() {
      await watched[Symbol.asyncDispose]()
      await simulator[Symbol.asyncDispose]()
    },
  }
}

export class PushWorld {
  readonly #sessions = new Map<number, LoginSession>()

  constructor(
    readonly server: Pick<TestServer, 'api' | 'appId' | 'operatorToken'>,
    readonly simulator: PushSimulator,
  ) {}

  get api(): Api {
    return this.server.api
  }

  get admin(): Api {
    return this.server.api.admin()
  }

  get operator(): Api {
    return this.server.api.as(this.server.operatorToken)
  }

  /** Makes a certificate for each channel, named as the channel. */
  async setCertificates(
    channels: readonly SimulatedChannel[],
    changes: Partial<Readonly<Record<SimulatedChannel, Json>>> = {},
  ): Promise<void> {
    for (const channel of channels) await this.setCertificate(channel, channel, changes[channel])
  }

  async setCertificate(channel: SimulatedChannel, name: string, changes: Json = {}): Promise<void> {
    const { certificate } = this.simulator.gateways[channel]
    await this.operator.succeed('POST', operatorPath, {
      body: {
        app_id: this.server.appId,
        name,
        environment: 1,
        ...certificateFields(certificate),
        ...changes,
      },
    })
  }

  /** A user with one device, bound to these certificates. @param bindings certificate name to device token */
  async user(bindings: Readonly<Record<string, string>> = {}): Promise<LoginSession> {
    const account = await this.api.register()
    const session = await this.api.login(account, `guid of ${account.username}`)
    this.#sessions.set(session.id, session)
    for (const [name, token] of Object.entries(bindings)) await this.bind(session, name, token)
    return session
  }

  async bind(
    session: Pick<Session, 'api'>,
    notifierName: string,
    token: string,
    deviceSn = 1,
  ): Promise<void> {
    await session.api.succeed('POST', '/user/token/bind', {
      body: { device_sn: deviceSn, device_token: token, notifier_name: notifierName },
    })
  }

  /** @returns the ID of the task */
  async notify(body: Json): Promise<number> {
    return (await this.admin.succeed('POST', '/push/notify', { body })).data.task_id
  }

  /** The counts of a task that are not 0. */
  async counts(taskId: number): Promise<Counts> {
    const { data } = await this.admin.succeed('POST', '/push/task/detail', {
      body: { list: [taskId] },
    })
    const { task_id: _, ...counts } = data[0] ?? {}
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Counts
  }

  /** How far a task is, as the operator sees it. */
  async progress(taskId: number): Promise<Json> {
    const query = { app_id: this.server.appId, task_id: taskId }
    return (await this.operator.succeed('GET', '/operator/v1/push/task/get', { query })).data
  }

  /** Waits until all devices of a task have their deliveries. */
  async isResolved(taskId: number): Promise<void> {
    await waitFor(async () => (await this.progress(taskId)).state === pushTaskState.expanded, {
      what: 'the devices of the task',
      timeoutMs: 60_000,
    })
  }

  /** Waits until all deliveries of a task have come to their end. */
  async hasEnded(taskId: number): Promise<void> {
    await waitFor(
      async () => {
        const { state, devices, finished } = await this.progress(taskId)
        return state === pushTaskState.expanded && devices === finished
      },
      { what: 'the end of all deliveries', timeoutMs: 60_000 },
    )
  }

  /** What became of a push for a user. @param which task_id or msg_id */
  async trace(which: Json, userId: number): Promise<Json> {
    const query = { ...which, user_id: userId }
    return (await this.admin.succeed('GET', '/push/trace', { query })).data
  }

  /** Returns the delivery of a message on a device as it is now, if there is one. */
  async delivery(messageId: number, userId: number, deviceSn = 1): Promise<Json> {
    const query = { msg_id: messageId, user_id: userId }
    const { data } = await this.admin.call('GET', '/push/trace', { query })
    return data?.devices.find((each: Json) => each.device_sn === deviceSn)?.delivery
  }

  /** What became of the push of a message on a user's device, once it has come to its end. */
  async delivered(messageId: number, userId: number, deviceSn = 1): Promise<Json> {
    return waitFor(
      async () => {
        const delivery = await this.delivery(messageId, userId, deviceSn)
        return (delivery?.state ?? pushDeliveryState.pending) > 0 && delivery
      },
      { what: `the end of message ${messageId} on device ${deviceSn}`, timeoutMs: 60_000 },
    )
  }

  /** Waits until a task has these counts and no others but 0. */
  async reaches(taskId: number, expected: Counts): Promise<void> {
    const text = JSON.stringify(sorted(expected))
    let last = ''
    await waitFor(
      async () => {
        last = JSON.stringify(sorted(await this.counts(taskId)))
        return last === text
      },
      {
        get what() {
          return `the counts ${text}; they are ${last}`
        },
        timeoutMs: 60_000,
      },
    )
  }
}

function sorted(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}
