/** The users of a run: connected ones with a client, and absent ones with a device for pushes. */
import { Agent } from 'node:http'
import { certificateFields, type PushSimulator } from '@hermod/push-simulator'
import { Api, type Session } from '@hermod/testkit'
import type { ChaosCluster, History } from '@hermod/testkit/chaos'
import { aGroup } from '../../../server/test/support/groups/groups.js'
import { createClientWith } from '../../src/create-client.js'
import { nodePorts } from '../../src/node/node-ports.js'
import { App } from '../support/app.js'

/** Time for an answer: a node that is stopped gives none, and the caller turns to another one. */
const callTimeoutMs = 5_000

/** A conversation of a run. */
export interface Place {
  /** The key of its events. */
  readonly name: string
  readonly log: { readonly low_id: number; readonly high_id: number; readonly is_group: boolean }
  /** Users with a client. */
  readonly connected: readonly Person[]
  readonly absent: readonly Absent[]
}

/** A user with a client, which has sent these texts. */
export interface Person {
  readonly id: number
  readonly app: App
  /** Calls over HTTP, each over a new connection, which the balancer gives to the next node. */
  readonly api: Api
  /** Texts that the client sends and that are not known to be stored yet, with the time of the call. */
  readonly pending: Map<string, number>
}

/** A user whose only device is never connected. */
export interface Absent {
  readonly id: number
  readonly deviceToken: string
}

export interface CrowdOptions {
  readonly cluster: ChaosCluster
  readonly history: History
  readonly simulator: PushSimulator
  readonly connected: number
  readonly absent: number
}

export class ChaosCrowd implements AsyncDisposable {
  readonly people: Person[] = []
  readonly absent: Absent[] = []
  readonly places: Place[] = []

  private constructor(private readonly options: CrowdOptions) {}

  static async start(options: CrowdOptions): Promise<ChaosCrowd> {
    const crowd = new ChaosCrowd(options)
    await crowd.#fill()
    return crowd
  }

  get groupIds(): number[] {
    return this.places.filter(({ log }) => log.is_group).map(({ log }) => log.low_id)
  }

  placeOf(log: Place['log']): Place | undefined {
    return this.places.find(({ name }) => name === nameOf(log))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.people.map(({ app }) => app[Symbol.asyncDispose]()))
  }

  async #fill(): Promise<void> {
    const { cluster, connected, absent, simulator } = this.options
    const { api, appId, operatorToken } = (cluster.nodes[0] as (typeof cluster.nodes)[0]).process
    await api.as(operatorToken).succeed('POST', '/operator/v1/push/certificate/set', {
      body: {
        app_id: appId,
        name: 'phones',
        environment: 1,
        ...certificateFields(simulator.gateways.ios_gw.certificate),
      },
    })
    for (let index = 0; index < connected; index++) await this.#connect(await api.newSession())
    for (let index = 0; index < absent; index++) {
      const { id, api: own } = await api.login(await api.register(), 'phone')
      const deviceToken = String(index + 1).padStart(64, '0')
      await own.succeed('POST', '/user/token/bind', {
        body: { device_sn: 1, device_token: deviceToken, notifier_name: 'phones' },
      })
      this.absent.push({ id, deviceToken })
    }
    await this.#meet()
  }

  async #connect(session: Session): Promise<void> {
    const { cluster } = this.options
    const { api, appId } = (cluster.nodes[0] as (typeof cluster.nodes)[0]).process
    const { token } = await api.sessionOf(session)
    const pending = new Map<string, number>()
    const app = await App.start({
      name: `client of ${session.id}`,
      userId: session.id,
      isDurable: false,
      port: () => cluster.balancer.port,
      create: (url) => {
        const settings = { url, appId, userId: session.id, deviceGuid: 'phone' }
        const client = createClientWith({ ...settings, token: () => token }, nodePorts)
        client.on('message.stored', ({ conversation: { id, kind }, seq, text }) => {
          const parties = kind === 'group' ? [id, id] : [id, session.id].sort((a, b) => a - b)
          const [low_id = 0, high_id = 0] = parties
          const conversation = nameOf({ low_id, high_id, is_group: kind === 'group' })
          this.#receive(session.id, pending, conversation, seq, text)
        })
        return client
      },
    })
    const options = { ...api.options, url: cluster.url, timeoutMs: callTimeoutMs }
    const caller = new Api(options, { token: session.token }, new Agent({ keepAlive: false }))
    this.people.push({ id: session.id, app, api: caller, pending })
  }

  #receive(
    userId: number,
    pending: Map<string, number>,
    conversation: string,
    seq: number,
    text: string,
  ): void {
    const { history } = this.options
    history.record(`client of ${userId}`, 'ok', 'receive', { conversation, seq, text })
    if (pending.delete(text)) history.record(text, 'ok', 'send', { conversation, text })
  }

  /** Conversations of two connected users in a ring, of each absent user with two others, and groups. */
  async #meet(): Promise<void> {
    const { people, absent } = this
    const at = (index: number) => people[index % people.length] as Person
    people.forEach((person, index) => {
      this.#direct([person, at(index + 1)], [])
    })
    absent.forEach((user, index) => {
      for (const person of [at(index), at(index + 1)]) this.#direct([person], [user])
    })
    await this.#group(people, absent)
    await this.#group(people.slice(0, Math.ceil(people.length / 2)), [])
  }

  #direct(connected: readonly Person[], absent: readonly Absent[]): void {
    const [low_id = 0, high_id = 0] = [...connected, ...absent]
      .map(({ id }) => id)
      .sort((a, b) => a - b)
    const log = { low_id, high_id, is_group: false }
    this.#place(log, connected, absent)
  }

  async #group(connected: readonly Person[], absent: readonly Absent[]): Promise<void> {
    const [owner, ...others] = connected as readonly [Person, ...Person[]]
    const id = await aGroup(owner, { members: [...others, ...absent] })
    this.#place({ low_id: id, high_id: id, is_group: true }, connected, absent)
  }

  #place(log: Place['log'], connected: readonly Person[], absent: readonly Absent[]): void {
    const name = nameOf(log)
    this.places.push({ name, log, connected, absent })
    for (const { deviceToken } of absent)
      this.options.history.record('crowd', 'info', 'absent', {
        device: deviceToken,
        conversation: name,
      })
  }
}

/** The peer that a user names for a conversation. */
export function peerOf({ log }: Place, userId: number): number {
  return log.low_id === userId ? log.high_id : log.low_id
}

function nameOf({ low_id, high_id, is_group }: Place['log']): string {
  return is_group ? `g:${low_id}` : `d:${low_id}:${high_id}`
}
