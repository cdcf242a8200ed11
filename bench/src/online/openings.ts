/** Openings of devices: from connecting until the device is in sync. */
import type { DeviceLogin } from '../realtime/device.js'
import { makeRealtimeApp } from '../realtime/realtime-population.js'
import type { ReturnResult } from '../realtime/swarm.js'
import { inTurn, median, sum } from '../measure/statistics.js'
import { mapParts } from '../measure/thread-cpu.js'
import { Row, type Run, type Turn } from './rows.js'
import { type BareParty, type Measured, type Side, withCpu } from './sides.js'

/** Turns of a round, each of as many devices; the first one is not measured. */
const turnsOfRound = 5
/** Later openings of a turn, which are short. */
const repeats = 3

const kinds = ['first', 'back', 'again'] as const
type Kind = (typeof kinds)[number]

/** The rows of openings; runs are added to them round by round. */
export class Openings {
  /** Opening of a device that the service has never seen. */
  readonly first = new Row('first opening', 'opening')
  /** After a cut, from the position that the device has. */
  readonly back = new Row('opening after a cut', 'opening')
  /** Opening of the same device when it has lost its data. */
  readonly again = new Row('opening from nothing', 'opening')
  /** A connection to the bare server, with one exchange. */
  readonly bareRow = new Row('connection with an exchange', 'opening')
  readonly rows: readonly Row[] = [...kinds.map((kind) => this[kind]), this.bareRow]

  private constructor(
    private readonly sides: readonly Side[],
    private readonly bare: BareParty | null,
    /** The new devices of each round, by the side. */
    private readonly logins: ReadonlyMap<Side, readonly (readonly DeviceLogin[])[]>,
  ) {}

  /** Adds users without devices for each round. */
  static async prepare(
    sides: readonly Side[],
    bare: BareParty | null,
    rounds: number,
  ): Promise<Openings> {
    const logins = new Map<Side, DeviceLogin[][]>()
    for (const side of sides) {
      const { server, app } = side
      const lists: DeviceLogin[][] = []
      for (let round = 0; round < rounds; round++) {
        const users = await makeRealtimeApp(server, app.logins.length, `new${round}`)
        lists.push([...users.logins])
      }
      await server.settle()
      logins.set(side, lists)
    }
    return new Openings(sides, bare, logins)
  }

  async measure(round: number): Promise<void> {
    for (const side of this.sides) await side.close()
    for (let turn = 0; turn < turnsOfRound; turn++) {
      const isMeasured = turn > 0
      if (this.bare) {
        const run = await openBare(this.bare, turn)
        if (isMeasured) this.bareRow.add(round, { bare: run })
      }
      const runs: [string, Readonly<Record<Kind, Run>>][] = []
      for (const side of inTurn(this.sides, round + turn)) {
        const all = this.logins.get(side)?.[round] ?? []
        runs.push([side.party, await openEach(side, partOf(all, turn))])
      }
      for (const kind of isMeasured ? kinds : []) {
        const turnOf = runs.map(([party, of]) => [party, of[kind]])
        this[kind].add(round, Object.fromEntries(turnOf) as Turn)
      }
    }
  }
}

function partOf(logins: readonly DeviceLogin[], turn: number): readonly DeviceLogin[] {
  const size = Math.floor(logins.length / turnsOfRound)
  return logins.slice(turn * size, (turn + 1) * size)
}

async function openEach(
  side: Side,
  logins: readonly DeviceLogin[],
): Promise<Readonly<Record<Kind, Run>>> {
  const { swarms, address } = side
  const count = logins.length
  const first = await runOf(side, count, () => swarms.run('service', 'open', address, logins))
  const back: Run[] = []
  const again: Run[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    await swarms.run('service', 'cutAll')
    await side.quiet()
    back.push(await runOf(side, count, () => swarms.run('service', 'comeBack')))
    await side.close()
    again.push(await runOf(side, count, () => swarms.run('service', 'open', address, logins)))
  }
  await side.close()
  return { first, back: together(back), again: together(again) }
}

function together(runs: readonly Run[]): Run {
  return {
    count: sum(runs.map(({ count }) => count)),
    perSecond: median(runs.map(({ perSecond }) => perSecond)),
    cpu: mapParts((part) => sum(runs.map(({ cpu }) => cpu[part]))),
    errors: 0,
  }
}

async function openBare(bare: BareParty, turn: number): Promise<Run> {
  const { swarms, app } = bare.of
  const logins = partOf(app.logins, turn)
  const address = { port: bare.port, appId: '' }
  const run = await runOf(bare, logins.length, () => swarms.run('bare', 'open', address, logins))
  await swarms.run('bare', 'close')
  return run
}

async function runOf(
  measured: Measured,
  count: number,
  open: () => Promise<ReturnResult>,
): Promise<Run> {
  const { result, cpu } = await withCpu(measured, open)
  return { count, perSecond: count / (result.ms / 1_000), cpu, errors: 0 }
}
