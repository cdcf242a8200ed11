/** A run of chaos: users at work on several nodes, a schedule of faults, and what has to be true then. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PushSimulator } from '@hermod/push-simulator'
import { type Api, type Json, TempFolder, waitFor } from '@hermod/testkit'
import {
  ChaosCluster,
  type CheckedHistory,
  checkHistory,
  type Fault,
  History,
  type Placed,
} from '@hermod/testkit/chaos'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'
import { openSql, type SqlRow } from '../../../server/test/support/database/sql.js'
import { runHermod } from '../../../server/test/support/hermod-command.js'
import type { Random } from '../../../server/test/support/random.js'
import { ChaosCrowd, type Person, type Place } from './chaos-crowd.js'
import { ChaosWork } from './chaos-work.js'

const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`
const appId = 'test'
const textPattern = /\bm\d+\./
/** The position in the ID of an event, after its application. */
const positionPattern = /^(?:[A-Z]{6}_)?(\d+)/
/** The time in which everything recovers from faults; a push of a killed node waits 15 s for its lease. */
const healingMs = 30_000
/** Longer than any pause of a client or of a retry: at the end nothing is left undone. */
const endMs = 60_000
/** A message reaches connected devices of every node within this time while nothing fails. */
const deliveryMs = 5_000
/** A node ends with it to be started clean, after the database has lost commits. */
const cleanStartCode = 75

export interface ChaosRunOptions {
  readonly random: Random
  readonly nodes: number
  readonly connected: number
  readonly absent: number
  readonly hasStandby: boolean
  /** Average time between two actions of a client, and of a caller over HTTP. */
  readonly everyMs: number
}

export class ChaosRun implements AsyncDisposable {
  readonly history = new History()
  /** What was not as it has to be, apart from the history. */
  readonly faults: string[] = []
  /** Times from an answered send to its event at the other clients while nothing failed, in milliseconds. */
  readonly deliveries: number[] = []
  /** Times that it took until everything was well again. */
  readonly healings: number[] = []
  readonly #withEvent = new Set<string>()
  /** Device and text. */
  readonly #withPush = new Set<string>()
  readonly #resources: AsyncDisposable[] = []
  readonly #inProgress = new Set<Promise<void>>()
  #cluster: ChaosCluster | undefined
  #crowd: ChaosCrowd | undefined
  #work: ChaosWork | undefined

  private constructor(private readonly options: ChaosRunOptions) {}

  static async start(options: ChaosRunOptions): Promise<ChaosRun> {
    const run = new ChaosRun(options)
    try {
      await run.#fill()
      return run
    } catch (error) {
      await run[Symbol.asyncDispose]()
      throw error
    }
  }

  get cluster(): ChaosCluster {
    return this.#cluster as ChaosCluster
  }

  get crowd(): ChaosCrowd {
    return this.#crowd as ChaosCrowd
  }

  get work(): ChaosWork {
    return this.#work as ChaosWork
  }

  /** Begins each fault in its turn; some go on while the next ones begin. */
  async inflict(faults: readonly Fault[]): Promise<void> {
    for (const fault of faults) {
      await sleep(fault.pauseMs)
      await new Promise<void>((begun, failed) => {
        const done = this.cluster.inflict(fault, begun).catch(failed)
        this.#inProgress.add(done)
        void done.then(() => this.#inProgress.delete(done))
      })
    }
  }

  /**
   * Waits until all faults are over, and then until everything is well, while the users go on.
   * @param restMs the time without a fault
   */
  async heal(restMs: number): Promise<void> {
    await Promise.all(this.#inProgress)
    const begun = performance.now()
    await this.cluster.waitUntilReady()
    const unwell = await this.#untilWell(healingMs)
    this.healings.push(performance.now() - begun)
    this.faults.push(...unwell.map((each) => `not well ${healingMs} ms after faults: ${each}`))
    await this.#probe()
    await sleep(Math.max(0, restMs - (performance.now() - begun)))
  }

  /** Ends the work, compares everything, and checks the history. */
  async finish(): Promise<CheckedHistory> {
    await Promise.all(this.#inProgress)
    await this.cluster.waitUntilReady()
    await this.work.stop()
    const last = await this.#untilWell(endMs, true)
    this.faults.push(...last.map((each) => `not well at the end: ${each}`))
    const lists = await this.#finalLists()
    this.#settlePending(lists)
    for (const [conversation, messages] of lists)
      this.history.record('end', 'ok', 'final', { conversation, messages })
    this.faults.push(...this.work.refusals.map((each) => `refused: ${each}`))
    for (const { index, ownExits } of this.cluster.nodes)
      for (const exit of ownExits)
        if (exit.code !== cleanStartCode || this.cluster.losses.length === 0)
          this.faults.push(`node ${index} ended by itself: ${JSON.stringify(exit)}`)
    this.faults.push(...(await this.#withoutTask()), ...(await this.#checkData()))
    return checkHistory(this.history.entries)
  }

  /** Keeps the history and the output of the nodes in a folder, and reports its path. */
  keep(): void {
    const folder = new TempFolder('chaos')
    writeFileSync(join(folder.path, 'history.ndjson'), this.history.toNdjson())
    for (const node of this.cluster.nodes)
      writeFileSync(join(folder.path, `node-${node.index}.log`), node.output())
    folder.keep('the run found faults')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work?.stop()
    for (const resource of this.#resources.reverse()) await resource[Symbol.asyncDispose]()
  }

  async #fill(): Promise<void> {
    const { nodes, hasStandby, random, connected, absent, everyMs } = this.options
    const { history } = this
    const simulator = this.#keep(
      await PushSimulator.start({ onCall: ({ path, body }) => this.#recordPush(path, body) }),
    )
    const receiver = this.#keep(await this.#startReceiver())
    this.#cluster = this.#keep(await ChaosCluster.start({ nodes, history, hasStandby }))
    await this.#admin().succeed('POST', '/app/webhook/create', {
      body: { url: receiver.url, secret },
    })
    this.#crowd = this.#keep(
      await ChaosCrowd.start({ cluster: this.cluster, history, simulator, connected, absent }),
    )
    this.#work = new ChaosWork({
      crowd: this.crowd,
      cluster: this.cluster,
      history,
      random,
      everyMs,
    })
    await this.cluster.waitUntilReady()
    const unwell = await this.#untilWell(endMs)
    if (unwell.length > 0) throw new Error(`not well at the start: ${unwell.join('; ')}`)
    this.work.start()
  }

  #keep<T extends AsyncDisposable>(resource: T): T {
    this.#resources.push(resource)
    return resource
  }

  #admin(): Api {
    return (this.cluster.nodes[0] as (typeof this.cluster.nodes)[0]).process.api.admin()
  }

  #recordPush(path: string, body: string): void {
    const text = textPattern.exec(body)?.[0]
    const device = path.split('/').at(-1)
    if (text === undefined || device === undefined) return
    this.#withPush.add(`${device} ${text}`)
    this.history.record('gateway', 'ok', 'push', { device, text })
  }

  async #startReceiver(): Promise<WebhookReceiver> {
    const webhook = new Webhook(secret)
    return WebhookReceiver.start({
      verify: (body, headers) => webhook.verify(body, { ...headers }),
      record: ({ events }) => {
        for (const { id, key, type, data } of events) {
          const position = Number(positionPattern.exec(id.slice(`evt_${appId}_`.length))?.[1])
          const stored = { conversation: key, seq: data.seq, text: data.content }
          const isText = type === 'message.stored' && textPattern.test(data.content)
          if (isText) this.#withEvent.add(data.content)
          this.history.record('webhook', 'ok', 'event', {
            id,
            key,
            position,
            ...(isText && { stored }),
          })
        }
      },
    })
  }

  /**
   * @param comparesAll whether every message of every client is compared
   * @returns what is still not well after this time
   */
  async #untilWell(timeoutMs: number, comparesAll = false): Promise<string[]> {
    const newest = new Map<Place, Set<string>>()
    let found: string[] = []
    const isWell = async () => {
      found = await this.#unwell(newest, comparesAll)
      return found.length === 0
    }
    const patience = { what: 'everything is well', timeoutMs, everyMs: 200 }
    await waitFor(isWell, patience).catch(() => {})
    return found
  }

  /** @param newest see {@link #behind} */
  async #unwell(newest: Map<Place, Set<string>>, comparesAll: boolean): Promise<string[]> {
    const found: string[] = []
    for (const person of this.crowd.people) {
      const state = person.app.client.connection.getSnapshot()
      if (state.state !== 'online')
        found.push(`${person.app.name} is not online: ${JSON.stringify(state)}`)
    }
    if (found.length > 0) return found
    try {
      if (comparesAll)
        for (const { app, api } of this.crowd.people)
          found.push(...(await app.differences(api, this.crowd.groupIds)))
      found.push(
        ...(await this.#degraded()),
        ...(await this.#presence()),
        ...(await this.#sessionsTable()),
        ...(await this.#behind(newest)),
      )
    } catch (error) {
      found.push(`a call failed: ${(error as Error).message}`)
    }
    return found
  }

  /** Every node says of every user whether a device is connected. */
  async #presence(): Promise<string[]> {
    const found: string[] = []
    const users = [
      ...this.crowd.people.map(({ id }) => ({ id, isOnline: true })),
      ...this.crowd.absent.map(({ id }) => ({ id, isOnline: false })),
    ]
    for (const { index, process } of this.cluster.nodes)
      for (const { id, isOnline } of users) {
        const api = process.api.admin({ userId: id })
        const { data } = await api.succeed('GET', '/user/online_status')
        if (data.online !== isOnline)
          found.push(`node ${index} says that user ${id} is ${data.online ? 'on' : 'off'}line`)
      }
    return found
  }

  /** Nodes that say that they are not well. */
  async #degraded(): Promise<string[]> {
    const found: string[] = []
    for (const { index, process } of this.cluster.nodes) {
      const answer = await fetch(`${process.url}/readyz`)
      const { status, degraded = [] } = (await answer.json()) as {
        status: string
        degraded?: readonly string[]
      }
      // The nodes have no common store for files, of which nothing is sent.
      const faults = degraded.filter((word) => word !== 'files')
      if (status !== 'ready' || faults.length > 0)
        found.push(`node ${index} is ${status} ${faults.join()}`)
    }
    return found
  }

  /** Of the crowd, the table of sessions has one open session per connected user, on a live node. */
  async #sessionsTable(): Promise<string[]> {
    const users = [...this.crowd.people, ...this.crowd.absent].map(({ id }) => id)
    const rows = await this.#query(`select s.user_id, n.lease is not null as lives from sessions s
      left join nodes n on n.node_id = s.node_id and n.lease = s.lease and n.ended_at is null
      where s.app_id = '${appId}' and s.closed_at is null and s.user_id in (${users.join()})
      order by s.user_id`)
    const stored = rows.map(({ user_id, lives }) => `${user_id}${lives ? '' : ' of a dead node'}`)
    const right = this.crowd.people.map(({ id }) => String(id)).sort()
    return stored.join() === right.join()
      ? []
      : [`the table of sessions has ${stored.join()} instead of ${right.join()}`]
  }

  async #query(statement: string): Promise<SqlRow[]> {
    await using sql = await openSql({ dataDir: '', databaseUrl: this.cluster.database.url })
    return await sql.run(statement)
  }

  /**
   * Lists the conversations that have no event or no push of any message that was their newest since the
   * faults: users continue to send, and the push of a message may be left to a later one.
   * @param newest the texts that were the newest of their conversation, of all calls since the faults
   */
  async #behind(newest: Map<Place, Set<string>>): Promise<string[]> {
    const found: string[] = []
    for (const place of this.crowd.places) {
      const [{ api }] = place.connected as readonly [Person]
      const { data } = await api.succeed<Json>('POST', '/message/history', {
        body: { log: place.log, limit: 1 },
      })
      const text: string | undefined = data.messages[0]?.content
      if (text === undefined) continue
      const texts = (newest.get(place) ?? new Set()).add(text)
      newest.set(place, texts)
      const either = `${[...texts].join(' or ')} of ${place.name}`
      if (![...texts].some((each) => this.#withEvent.has(each)))
        found.push(`${either} has no event`)
      for (const { deviceToken } of place.absent)
        if (![...texts].some((each) => this.#withPush.has(`${deviceToken} ${each}`)))
          found.push(`${either} has no push to ${deviceToken}`)
    }
    return found
  }

  /** Sends to each conversation, and waits until all others have it. */
  async #probe(): Promise<void> {
    for (const place of this.crowd.places) {
      const [sender, ...others] = place.connected as readonly [Person, ...Person[]]
      const listening = others.map((person) => this.#received(person, place))
      const begun = performance.now()
      const text = await this.work.sendOverHttp('probe', sender, place)
      for (const [index, listener] of listening.entries()) {
        const tookMs = await listener(text, begun)
        if (tookMs === null)
          this.faults.push(
            `${text} did not reach user ${others[index]?.id} of ${place.name} within ${deliveryMs} ms`,
          )
        else this.deliveries.push(tookMs)
      }
    }
  }

  /** @returns waits for a text, and gives the time from `begun` until its event; null: it did not come */
  #received(person: Person, place: Place) {
    const times = new Map<string, number>()
    const end = person.app.client.on('message.stored', ({ text }) => {
      times.set(text, performance.now())
    })
    return async (text: string, begun: number): Promise<number | null> => {
      const patience = {
        what: `${text} of ${place.name}`,
        timeoutMs: deliveryMs,
        everyMs: 5,
      }
      await waitFor(() => times.has(text), patience).catch(() => {})
      end()
      const time = times.get(text)
      return time === undefined ? null : time - begun
    }
  }

  /** Sends of clients whose event they missed: what a client shows equals the conversation now. */
  #settlePending(lists: ReadonlyMap<string, readonly Placed[]>): void {
    const places = new Map(
      [...lists].flatMap(([conversation, messages]) =>
        messages.map(({ text }) => [text, conversation] as const),
      ),
    )
    for (const { app, pending } of this.crowd.people)
      for (const [text, begun] of pending) {
        const conversation = places.get(text)
        const mayBeLost = this.cluster.losses.some(({ killedAt }) => begun <= killedAt)
        if (conversation !== undefined)
          this.history.record(text, 'ok', 'send', { conversation, text })
        else if (!mayBeLost) this.faults.push(`${text} of ${app.name} was never stored`)
      }
  }

  async #finalLists(): Promise<Map<string, Placed[]>> {
    const lists = new Map<string, Placed[]>()
    for (const { name, log, connected } of this.crowd.places) {
      const [{ api }] = connected as readonly [Person]
      const messages: Placed[] = []
      for (let before_seq = 0; ; ) {
        const { data } = await api.succeed<Json>('POST', '/message/history', {
          body: { log, before_seq, limit: 100 },
        })
        for (const { seq, content } of data.messages) messages.push({ seq, text: content })
        before_seq = data.from_seq
        if (before_seq <= 1) break
      }
      lists.set(name, messages.reverse())
    }
    return lists
  }

  /** Each message to an absent device has a task, also where the push of a later one stands for it. */
  async #withoutTask(): Promise<string[]> {
    const found: string[] = []
    for (const { log, name } of this.crowd.places.filter(({ absent }) => absent.length > 0)) {
      const rows = await this.#query(`select m.content from messages m
        where m.app_id = '${appId}' and m.low_id = ${log.low_id} and m.high_id = ${log.high_id}
        and not exists (select 1 from push_tasks t
          where t.app_id = m.app_id and t.msg_id = m.msg_id) order by m.seq`)
      for (const { content } of rows) found.push(`${content} of ${name} has no push task`)
    }
    return found
  }

  async #checkData(): Promise<string[]> {
    const settings = { HERMOD_DATA_DIR: this.cluster.nodes[0]?.dataDir }
    const found: string[] = []
    if (this.cluster.losses.length > 0) {
      const { out, err } = await runHermod(['check'], settings)
      if (!out.includes('lost_history')) found.push(`hermod check has no loss: ${out}${err}`)
      await runHermod(['check', '--acknowledge'], settings)
    }
    const { code, out, err } = await runHermod(['check'], settings)
    if (code !== 0) found.push(`hermod check ended with ${code}: ${out}${err}`)
    return found
  }
}
