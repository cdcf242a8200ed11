/** Sends over HTTP with no user and with all users connected. */
import { setTimeout as sleep } from 'node:timers/promises'
import { requestOnce, type LoadOrder, type LoadResult } from '../load/load-run.js'
import { requestSource } from '../load/plan.js'
import { type Echo, LoadProcess, startEcho } from '../load/processes.js'
import { inTurn } from '../measure/statistics.js'
import { cpuTimesBetween } from '../measure/thread-cpu.js'
import { Row, type Run, type Turn } from './rows.js'
import { bareParty, type Measured, type Side, withCpu } from './sides.js'

const connections = 64
/** The users that are connected. */
const states = ['none', 'all'] as const
type State = (typeof states)[number]
const stateNames: Readonly<Record<State, string>> = {
  none: 'no user connected',
  all: 'all users connected',
}

/** A rate of sends, null for as many as are answered, and its share of the time of a run. */
const rates = [
  { name: 'at saturation', perSecond: null, share: 3 / 4 },
  { name: 'at 1,000/s', perSecond: 1_000, share: 1 / 2 },
  { name: 'at 100/s', perSecond: 100, share: 3 / 4 },
] as const
type Rate = (typeof rates)[number]

/** Alternations of the states in a round. */
const turnsOfRound = 2
/** Alternations of two builds in a run of a load. */
const slicesOfRun = 4
const pacedSecondsMin = 1
const warmUpSeconds = 3
const idleSeconds = 1

/** The rows of sends; runs are added to them round by round. */
export class Sends implements Disposable {
  readonly rows: readonly Row[]
  readonly #rows: Readonly<Record<State, readonly Row[]>>
  readonly #idle: Readonly<Record<State, Row>>
  readonly #process = new LoadProcess()

  private constructor(
    private readonly sides: readonly Side[],
    /** null beside another build */
    private readonly echo: Echo | null,
  ) {
    const rowsOf = (state: State) =>
      rates.map(({ name }) => new Row(`sends ${name}, ${stateNames[state]}`, 'message'))
    this.#rows = { none: rowsOf('none'), all: rowsOf('all') }
    this.#idle = {
      none: new Row(`idle, ${stateNames.none}`, 'second'),
      all: new Row(`idle, ${stateNames.all}`, 'second'),
    }
    this.rows = [...Object.values(this.#rows).flat(), ...Object.values(this.#idle)]
  }

  static async prepare(sides: readonly Side[]): Promise<Sends> {
    const [own] = sides as [Side]
    const { port, plan } = orderOf(own, 1, null)
    const request = requestSource(plan, own.taken++)() ?? ''
    const echo = sides.length === 1 ? await startEcho(await requestOnce(port, request)) : null
    return new Sends(sides, echo)
  }

  /** Sends at saturation. */
  get saturated(): Readonly<Record<State, Row>> {
    const [none, all] = states.map((state) => this.#rows[state][0]) as [Row, Row]
    return { none, all }
  }

  /** Starts all conversations, and compiles what the loads run in services that have just started. */
  async warmUp(): Promise<void> {
    for (const side of this.sides) {
      await this.#load(side, orderOf(side, warmUpSeconds, null))
      await side.open()
      await this.#load(side, orderOf(side, warmUpSeconds, null))
      await side.close()
    }
  }

  async measure(round: number, seconds: number): Promise<void> {
    for (let turn = 0; turn < turnsOfRound; turn++)
      for (const state of inTurn(states, turn)) {
        for (const side of this.sides) await (state === 'none' ? side.close() : side.open())
        for (const [index, rate] of rates.entries()) {
          const row = this.#rows[state][index] as Row
          for (const each of await this.#turns(rate, state, { turn: round + turn, seconds }))
            row.add(round, each)
        }
        this.#idle[state].add(round, await this.#idleTurn())
      }
  }

  async #turns(
    { perSecond, share }: Rate,
    state: State,
    { turn, seconds }: { readonly turn: number; readonly seconds: number },
  ): Promise<Turn[]> {
    const slices = this.sides.length > 1 ? slicesOfRun : 1
    const atLeast = perSecond === null ? 0 : pacedSecondsMin
    const length = Math.max(atLeast, (seconds * share) / turnsOfRound) / slices
    const turns: Turn[] = []
    for (let slice = 0; slice < slices; slice++) {
      const runs: [string, Run][] = []
      // At a fixed rate the echo is the same in both states.
      if (this.echo && (perSecond === null || state === 'none')) {
        const order = orderOf(this.sides[0] as Side, length, perSecond)
        const run = await this.#run(bareParty(this.echo), { ...order, port: this.echo.port })
        runs.push(['bare', run])
      }
      for (const side of inTurn(this.sides, turn + slice)) {
        const run = await this.#runOn(side, orderOf(side, length, perSecond), state)
        runs.push([side.party, run])
      }
      turns.push(Object.fromEntries(runs))
    }
    return turns
  }

  async #runOn(side: Side, order: LoadOrder, state: State): Promise<Run> {
    if (state === 'none') return this.#run(side, order)
    await side.swarms.run('service', 'beginTiming')
    const run = await this.#run(side, order)
    const { count, p50Ms } = await side.swarms.run('service', 'endTiming')
    return { ...run, deliveryP50Ms: p50Ms, deliveries: count / run.sent }
  }

  /**
   * Runs a load. At a fixed rate the processor time is that of the measured time; at saturation it is
   * that of the whole run until all is done, so that deferred work counts.
   */
  async #run(measured: Measured, order: LoadOrder): Promise<Run & { readonly sent: number }> {
    const isPaced = order.perSecond !== undefined
    let [before, after] = [measured.cpu(), measured.cpu()]
    const events = {
      measuring: () => {
        before = measured.cpu()
      },
      measured: () => {
        after = measured.cpu()
      },
    }
    const { result: load, cpu } = await withCpu(measured, () => this.#load(measured, order, events))
    const { succeeded, succeededInAll, seconds, errors, errorSamples, p50Ms, p99Ms } = load
    return {
      count: isPaced ? succeeded : succeededInAll,
      perSecond: succeeded / seconds,
      cpu: isPaced ? cpuTimesBetween(before, after) : cpu,
      errors,
      errorSamples,
      p50Ms,
      p99Ms,
      sent: succeededInAll,
    }
  }

  async #load(
    measured: Measured | Side,
    order: LoadOrder,
    events?: Parameters<LoadProcess['run']>[1],
  ): Promise<LoadResult> {
    const result = await this.#process.run(order, events)
    if ('taken' in measured) measured.taken += result.taken
    return result
  }

  async #idleTurn(): Promise<Turn> {
    const runs: [string, Run][] = []
    for (const side of this.sides) {
      const before = side.cpu()
      await sleep(idleSeconds * 1_000)
      const cpu = cpuTimesBetween(before, side.cpu())
      runs.push([side.party, { count: idleSeconds, perSecond: Number.NaN, cpu, errors: 0 }])
    }
    return Object.fromEntries(runs)
  }

  [Symbol.dispose](): void {
    this.#process[Symbol.dispose]()
    this.echo?.[Symbol.dispose]()
  }
}

/** Sends of all users in turn, each to one other user. */
function orderOf(
  { app: { logins }, address, taken }: Side,
  seconds: number,
  perSecond: number | null,
): LoadOrder {
  return {
    port: address.port,
    connections,
    plan: {
      kind: 'send',
      appId: address.appId,
      users: logins.map(({ userId, token }) => ({ id: userId, token })),
      offsets: [[Math.floor(logins.length / 2)]],
      firstTransaction: 1,
      isTimed: true,
    },
    taken,
    warmUpMs: seconds * 250,
    measureMs: seconds * 1_000,
    ...(perSecond !== null && { perSecond }),
    minBodyBytes: 0,
  }
}
