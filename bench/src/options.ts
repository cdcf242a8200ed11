import { parseArgs } from 'node:util'
import type { Effort } from './measure/measure.js'
import { scenarios } from './scenarios/direct-scenarios.js'
import { type Scenario, setOf } from './scenarios/scenario.js'

const sets = [...new Set(scenarios.map(setOf))]

export const usage = `Usage: npm run bench -- [options]

  --seconds N       measured time of each run, default 8
  --rounds N        how often echo and server take turns, default 2
  --only NAME       sqlite or postgres; default: both when PostgreSQL 15 or newer is found
  --scenario NAMES  ${sets.join(', ')};
                    several with commas; default: all
  --against FOLDER  another build to measure in turns with this one: a checkout of any
                    commit after npm ci and npm run build
  --members N       size of the large group, default 100000
  --json            the report as JSON
`

export interface BenchOptions extends Effort {
  readonly only: string | null
  /** What is measured together, in its order. */
  readonly chosen: readonly (readonly Scenario[])[]
  readonly groupSize: number
  /** The checkout of another build to compare with. */
  readonly against: string | null
  readonly json: boolean
}

export class UsageError extends Error {}

/** @returns null: help is asked for */
export function parseOptions(args: readonly string[]): BenchOptions | null {
  const { seconds, rounds, only, scenario, members, against, json, help } = parse(args)
  if (help) return null
  if (only !== undefined && only !== 'sqlite' && only !== 'postgres')
    throw new UsageError('--only must be sqlite or postgres')
  return {
    seconds: positive('--seconds', seconds),
    rounds: positive('--rounds', rounds),
    only: only ?? null,
    chosen: chooseScenarios(scenario),
    groupSize: positive('--members', members),
    against: against ?? null,
    json,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seconds: { type: 'string', default: '8' },
        rounds: { type: 'string', default: '2' },
        only: { type: 'string' },
        scenario: { type: 'string', default: 'all' },
        members: { type: 'string', default: '100000' },
        against: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new UsageError(`${name} must be a whole number above 0`)
}

function chooseScenarios(text: string): readonly (readonly Scenario[])[] {
  const names = text.split(',')
  const unknown = names.find((name) => name !== 'all' && !sets.includes(name))
  if (unknown !== undefined) throw new UsageError(`--scenario does not know ${unknown}`)
  const chosen = sets.filter((set) => names.includes('all') || names.includes(set))
  return chosen.map((set) => scenarios.filter((scenario) => setOf(scenario) === set))
}
