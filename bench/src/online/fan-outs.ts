/** Messages to the group of all, who are all connected. */
import { inTurn } from '../measure/statistics.js'
import type { FanOutOrder } from '../realtime/swarm.js'
import { Row, type Run, type Turn } from './rows.js'
import { type BareParty, type Side, withCpu } from './sides.js'

/** Turns of a round. */
const turnsOfRound = 2
const warmUpSeconds = 1

/** The rows of fan-outs; runs are added to them round by round. */
export class FanOuts {
  readonly single = new Row('messages to all', 'delivery')
  readonly burst = new Row('messages to all, ten at once', 'delivery')
  readonly rows: readonly Row[] = [this.single, this.burst]

  constructor(
    private readonly sides: readonly Side[],
    private readonly bare: BareParty | null,
  ) {}

  async measure(round: number, seconds: number): Promise<void> {
    const { bare } = this
    for (const side of this.sides) {
      await side.open()
      await this.#run(side, { burst: 1, seconds: warmUpSeconds })
    }
    if (bare)
      await bare.of.swarms.run('bare', 'open', { port: bare.port, appId: '' }, bare.of.app.logins)
    const length = seconds / 2 / turnsOfRound
    for (let turn = 0; turn < turnsOfRound; turn++)
      for (const [row, burst] of [
        [this.single, 1],
        [this.burst, 10],
      ] as const) {
        const parties = [...(bare ? [bare] : []), ...inTurn(this.sides, round + turn)]
        const runs: [string, Run][] = []
        for (const each of parties)
          runs.push([each.party, await this.#run(each, { burst, seconds: length })])
        row.add(round, Object.fromEntries(runs) as Turn)
      }
    await bare?.of.swarms.run('bare', 'close')
    for (const side of this.sides) await side.close()
  }

  async #run(
    measured: Side | BareParty,
    order: Pick<FanOutOrder, 'burst' | 'seconds'>,
  ): Promise<Run> {
    const [swarm, { swarms, app }, groupId] =
      'of' in measured
        ? (['bare', measured.of, null] as const)
        : (['service', measured, measured.app.groupId] as const)
    const { result, cpu } = await withCpu(measured, () =>
      swarms.run(swarm, 'fanOut', { ...order, groupId, window: 2 }),
    )
    const { messages, messagesPerSecond, toAll } = result
    return {
      count: messages * app.logins.length,
      perSecond: messagesPerSecond,
      cpu,
      errors: 0,
      p50Ms: toAll.p50Ms,
      p99Ms: toAll.p99Ms,
    }
  }
}
