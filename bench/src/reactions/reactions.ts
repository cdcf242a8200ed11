/** Reactions of many users to one message of a large group, and sends beside them. */
import { type Builds, portOf, type Storage } from '../measure/build.js'
import type { Effort } from '../measure/measure.js'
import { type Beside, besideOf } from '../measure/statistics.js'
import type { ReactionResult } from '../realtime/reaction-load.js'
import { makeRealtimeApp } from '../realtime/realtime-population.js'
import { RunningSwarms } from '../realtime/realtime-processes.js'
import type { SendResult } from '../realtime/swarm.js'
import type { DatabaseName } from '../scenarios/scenario.js'

/** Size of the set `reactions`. */
export interface ReactionsOptions {
  /** Connected devices, all members of one group. */
  readonly devices: number
}

/** Figures of the set `reactions` on one database. */
export interface ReactionsFigures extends ReactionsOptions {
  readonly database: DatabaseName
  readonly errors: number
  /** One result for each round, without other calls. */
  readonly rounds: readonly ReactionResult[]
  /** Sends from device to device as fast as they are answered, without reactions and beside them. */
  readonly sendsPerSecond: Beside
  /** Half of the rate without reactions in the first round. */
  readonly halfLoad: number
  /** Median latency of the answers of sends at half load. */
  readonly sendP50Ms: Beside
}

const senders = 64
const reactingUsers = 1_000
/** About as long as the reactions take. */
const sendSeconds = 2

/** @param onProgress reports progress */
export async function measureReactions(
  storage: Storage,
  [build]: Builds,
  { devices, rounds }: ReactionsOptions & Effort,
  onProgress: (text: string) => void,
): Promise<ReactionsFigures[]> {
  await using server = await storage.start(build)
  using swarms = new RunningSwarms()
  onProgress(`reactions: ${devices} users`)
  const app = await makeRealtimeApp(server, devices)
  await server.settle()
  const address = { port: portOf(server), appId: server.process.appId }
  await swarms.run('service', 'open', address, app.logins)
  const results: ReactionResult[] = []
  const rates = { alone: [] as number[], beside: [] as number[] }
  const latencies = { alone: [] as number[], beside: [] as number[] }
  const halfLoad = () => (rates.alone[0] ?? 0) / 2
  let errors = 0
  const measure = async (
    figures: typeof rates,
    perSecond: number | undefined,
    figure: (sends: SendResult) => number,
  ) => {
    const order = { seconds: sendSeconds, devices: senders, ...(perSecond && { perSecond }) }
    const alone = await swarms.run('service', 'oneToOne', order)
    const beside = await swarms.run('service', 'besideReactions', order, app.groupId, reactingUsers)
    errors += alone.errors + beside.errors
    figures.alone.push(figure(alone))
    figures.beside.push(figure(beside))
  }
  // The first calls compile the service.
  await swarms.run('service', 'oneToOne', { seconds: sendSeconds, devices: senders })
  for (let round = 0; round < rounds; round++) {
    onProgress(`reactions: round ${round + 1}`)
    results.push(await swarms.run('service', 'react', app.groupId, reactingUsers))
    await measure(rates, undefined, ({ perSecond }) => perSecond)
    await measure(latencies, halfLoad(), ({ answer }) => answer.p50Ms)
  }
  const sends = { sendsPerSecond: besideOf(rates), sendP50Ms: besideOf(latencies) }
  return [
    { database: storage.name, devices, errors, rounds: results, halfLoad: halfLoad(), ...sends },
  ]
}
