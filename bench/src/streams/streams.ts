/** Messages that are being written: appends, sends beside them, and first pieces at readers. */
import { type Builds, portOf, type Storage, type Usage, usageOf } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { type Beside, besideOf, inTurn, type Ratio, spreadOf } from '../measure/statistics.js'
import type { Latencies } from '../realtime/latencies.js'
import { createGroup, makeRealtimeApp, type RealtimeApp } from '../realtime/realtime-population.js'
import { RunningSwarms } from '../realtime/realtime-processes.js'
import type { AppendResult } from '../realtime/stream-load.js'
import type { SendResult } from '../realtime/swarm.js'
import type { DatabaseName } from '../scenarios/scenario.js'

/** Size of the set `streams`. */
export interface StreamsOptions {
  /** Connected devices; those of the first half write to those of the second. */
  readonly devices: number
}

/** Figures of the set `streams` on one database. */
export interface StreamsFigures extends StreamsOptions {
  readonly database: DatabaseName
  readonly errors: number
  /** Open streams beside the sends. */
  readonly streams: number
  /** Sends as fast as they are answered, by streams that are written beside them. */
  readonly sendsPerSecond: Beside
  /** Half of the rate without streams in the first round. */
  readonly halfLoad: number
  /** Median latency of the answers of sends at half load. */
  readonly sendP50Ms: Beside
  /** Median latency of appends, beside sends at half load. */
  readonly appendP50Ms: Ratio
  /** Rate of the appends and of the sends whose processor time is compared. */
  readonly costPerSecond: number
  /** Processor time of the service and of its database, microseconds; `beside` is that of an append. */
  readonly cpuUs: Beside
  /** Many streams without other calls, one result a round. */
  readonly many: readonly (AppendResult & { readonly streams: number })[]
  readonly firstDeltas: readonly { readonly what: string; readonly latency: Latencies }[]
}

const senders = 64
const besideStreams = 200
const manyStreams = 1_000
const appendsPerSecond = 5
const firstDeltaStreams = 40
const groupSizes = [50, 500]
const warmUpSeconds = 2

/** @param onProgress reports progress */
export async function measureStreams(
  storage: Storage,
  [build]: Builds,
  { devices, seconds, rounds }: StreamsOptions & Effort,
  onProgress: (text: string) => void,
): Promise<StreamsFigures[]> {
  await using server = await storage.start(build)
  using swarms = new RunningSwarms()
  onProgress(`streams: ${devices} users`)
  const app = await makeRealtimeApp(server, devices)
  await server.settle()
  const address = { port: portOf(server), appId: server.process.appId }
  await swarms.run('service', 'open', address, app.logins)
  const load = new Load(swarms, usageOf(server, storage), seconds)
  await load.warmUp()
  const sends = await measureSends(load, rounds, onProgress)
  onProgress(`streams: ${manyStreams}`)
  const many = []
  for (let round = 0; round < rounds; round++)
    many.push({ streams: manyStreams, ...(await load.append(manyStreams)) })
  onProgress('streams: first pieces')
  const firstDeltas = await measureFirstDeltas(swarms, app)
  const { errors } = load
  return [{ database: storage.name, devices, ...sends, many, firstDeltas, errors }]
}

/** The loads, each for some seconds, and the errors of all. */
class Load {
  errors = 0

  constructor(
    private readonly swarms: RunningSwarms,
    private readonly usage: Usage,
    private readonly seconds: number,
  ) {}

  /** Compiles what the loads run. */
  async warmUp(): Promise<void> {
    await this.swarms.run('service', 'oneToOne', { seconds: warmUpSeconds, devices: senders })
    await this.#withStreams(besideStreams, () =>
      this.swarms.run('service', 'appendToStreams', {
        seconds: warmUpSeconds,
        perSecond: appendsPerSecond,
      }),
    )
  }

  /** @param perSecond absent: as fast as they are answered */
  async send(perSecond?: number): Promise<SendResult> {
    return this.#checked(await this.swarms.run('service', 'oneToOne', this.#sends(perSecond)))
  }

  async append(streams: number): Promise<AppendResult> {
    return this.#checked(
      await this.#withStreams(streams, () =>
        this.swarms.run('service', 'appendToStreams', this.#appends),
      ),
    )
  }

  async sendBesideStreams(
    perSecond?: number,
  ): Promise<{ readonly sends: SendResult; readonly appends: AppendResult }> {
    const results = await this.#withStreams(besideStreams, () =>
      this.swarms.run('service', 'besideStreams', this.#sends(perSecond), this.#appends),
    )
    this.#checked(results.sends)
    this.#checked(results.appends)
    return results
  }

  /** Processor time of service and database for a send, and for an append, at the same rate. */
  async cpuUsOf(what: 'send' | 'append'): Promise<number> {
    if (what === 'send') return this.#cpuUs(() => this.send(besideStreams * appendsPerSecond))
    return this.#withStreams(besideStreams, () =>
      this.#cpuUs(() => this.swarms.run('service', 'appendToStreams', this.#appends)),
    )
  }

  async #cpuUs(run: () => Promise<SendResult | AppendResult>): Promise<number> {
    const { usage } = this
    const used = () => usage.serverCpuMs() + usage.databaseCpuMs()
    const before = used()
    const { perSecond } = this.#checked(await run())
    return ((used() - before) * 1_000) / (perSecond * this.seconds)
  }

  async #withStreams<T>(count: number, run: () => Promise<T>): Promise<T> {
    await this.swarms.run('service', 'beginStreams', count)
    const result = await run()
    await this.swarms.run('service', 'endStreams')
    return result
  }

  #checked<T extends { readonly errors: number }>(result: T): T {
    this.errors += result.errors
    return result
  }

  #sends(perSecond?: number) {
    const { seconds } = this
    return { seconds, devices: senders, ...(perSecond !== undefined && { perSecond }) }
  }

  get #appends() {
    return { seconds: this.seconds, perSecond: appendsPerSecond }
  }
}

type SendFigures = Omit<StreamsFigures, 'database' | 'devices' | 'many' | 'firstDeltas' | 'errors'>

/** Sends without and beside streams, in turns. */
async function measureSends(
  load: Load,
  rounds: number,
  onProgress: (text: string) => void,
): Promise<SendFigures> {
  const rates = { alone: [] as number[], beside: [] as number[] }
  const latencies = { alone: [] as number[], beside: [] as number[], appends: [] as number[] }
  const cpuUs = { alone: [] as number[], beside: [] as number[] }
  const halfLoad = () => (rates.alone[0] ?? 0) / 2
  const turns: readonly (() => Promise<unknown>)[] = [
    async () => latencies.alone.push((await load.send(halfLoad())).answer.p50Ms),
    async () => {
      const { sends, appends } = await load.sendBesideStreams(halfLoad())
      latencies.beside.push(sends.answer.p50Ms)
      latencies.appends.push(appends.latency.p50Ms)
    },
    async () => cpuUs.alone.push(await load.cpuUsOf('send')),
    async () => cpuUs.beside.push(await load.cpuUsOf('append')),
    async () => rates.beside.push((await load.sendBesideStreams()).sends.perSecond),
  ]
  for (let round = 0; round < rounds; round++) {
    onProgress(`streams: ${besideStreams} beside sends, round ${round + 1}`)
    rates.alone.push((await load.send()).perSecond)
    for (const turn of inTurn(turns, round)) await turn()
  }
  return {
    streams: besideStreams,
    sendsPerSecond: besideOf(rates),
    halfLoad: halfLoad(),
    sendP50Ms: besideOf(latencies),
    appendP50Ms: spreadOf(latencies.appends),
    costPerSecond: besideStreams * appendsPerSecond,
    cpuUs: besideOf(cpuUs),
  }
}

async function measureFirstDeltas(
  swarms: RunningSwarms,
  { api, logins }: RealtimeApp,
): Promise<StreamsFigures['firstDeltas']> {
  const streams = firstDeltaStreams
  const direct = await swarms.run('service', 'firstDeltas', { streams, group: null })
  const figures = [{ what: 'at a reader', latency: direct }]
  for (const members of groupSizes) {
    const ids = logins.slice(0, members).map(({ userId }) => userId)
    const group = { id: await createGroup(api, ids, members), members }
    const latency = await swarms.run('service', 'firstDeltas', { streams, group })
    figures.push({ what: `at all of a group of ${members}`, latency })
  }
  return figures
}
