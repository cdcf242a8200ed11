import { type LoadOrder, type LoadResult, requestOnce } from '../load/load-run.js'
import { type LoadPlan, requestSource } from '../load/plan.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { MeasuredBuild } from './build.js'

const warmUpShare = 0.25

/**
 * A scenario on one build. Its runs take the requests of one plan, each from where the last one
 * ended.
 */
export class ScenarioRunner {
  /** The first request returned the sample. */
  #taken = 1

  /** @param sample an answer to one of its requests */
  constructor(
    readonly build: MeasuredBuild,
    readonly scenario: Scenario,
    private readonly plan: LoadPlan,
    readonly sample: string,
  ) {}

  static async prepare(scenario: Scenario, build: MeasuredBuild): Promise<ScenarioRunner> {
    const plan = await scenario.prepare(build.population)
    const first = requestSource(plan)()
    if (first === null) throw new Error('the scenario has no requests')
    return new ScenarioRunner(build, scenario, plan, await requestOnce(build.port, first))
  }

  /** Returns the next run's order, also for the echo. */
  order(seconds: number): LoadOrder {
    const { connections, failureText } = this.scenario
    return {
      port: this.build.port,
      connections,
      plan: this.plan,
      taken: this.#taken,
      measureMs: seconds * 1000,
      warmUpMs: seconds * 1000 * warmUpShare,
      // A page with fewer entries than the sample is incomplete; IDs and names differ by a few
      // digits only.
      minBodyBytes: this.sample.length / 2,
      failureText,
    }
  }

  async run(seconds: number, load: (order: LoadOrder) => Promise<LoadResult>): Promise<LoadResult> {
    const result = await load(this.order(seconds))
    this.#taken += result.taken
    return result
  }
}
