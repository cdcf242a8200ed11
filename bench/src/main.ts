/** `npm run bench`: the rates of the service beside those of a bare echo. See the README for the method. */
import { parseArgs } from 'node:util'
import { describeMachine } from './machine.js'
import { type Effort, measure, type Row } from './measure.js'
import { formatReport, type GroupFill, type Report } from './report.js'
import { type Scenario, setOf } from './scenario.js'
import { scenarios } from './scenarios.js'
import {
  measureStartup,
  populate,
  postgresStorage,
  type StartupFigures,
  type Storage,
  sqliteStorage,
} from './subjects.js'

const sets = [...new Set(scenarios.map(setOf))]

const usage = `Usage: npm run bench -- [options]

  --seconds N       measured time of each run, default 8
  --rounds N        how often echo and server take turns, default 2
  --only NAME       sqlite or postgres; default: both when PostgreSQL 15 or newer is found
  --scenario NAMES  ${sets.join(', ')};
                    several with commas; default: all
  --members N       size of the large group, default 100000
  --json            the report as JSON
`

interface Settings extends Effort {
  readonly only: string | null
  /** What is measured together, in its order. */
  readonly chosen: readonly (readonly Scenario[])[]
  readonly groupSize: number
  readonly json: boolean
}

class UsageError extends Error {}

function readSettings(args: readonly string[]): Settings | null {
  const { seconds, rounds, only, scenario, members, json, help } = parse(args)
  if (help) return null
  if (only !== undefined && only !== 'sqlite' && only !== 'postgres')
    throw new UsageError('--only must be sqlite or postgres')
  return {
    seconds: positive('--seconds', seconds),
    rounds: positive('--rounds', rounds),
    only: only ?? null,
    chosen: chooseScenarios(scenario),
    groupSize: positive('--members', members),
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

async function run(settings: Settings): Promise<Report> {
  const machine = describeMachine()
  const notes: string[] = []
  const startups: StartupFigures[] = []
  const rows: Row[] = []
  const groupFills: GroupFill[] = []
  if (machine.dataInMemory)
    notes.push(
      'the temporary folder is in memory: set TMPDIR to a folder on disk for figures about durable writes',
    )
  for (const openStorage of storages(settings.only, machine.postgres, notes)) {
    await using storage = await openStorage()
    progress(`${storage.name}: start-up`)
    startups.push(await measureStartup(storage))
    const measured = await measureAll(storage, settings)
    rows.push(...measured.rows)
    groupFills.push(...measured.groupFills)
  }
  return {
    machine,
    effort: { seconds: settings.seconds, rounds: settings.rounds },
    startups,
    rows,
    groupFills,
    notes,
  }
}

function storages(
  only: string | null,
  postgres: string | null,
  notes: string[],
): (() => Storage | Promise<Storage>)[] {
  if (only === 'sqlite') return [sqliteStorage]
  if (only === 'postgres') return [postgresStorage]
  if (postgres !== null) return [sqliteStorage, postgresStorage]
  notes.push('PostgreSQL 15 or newer was not found and is left out')
  return [sqliteStorage]
}

async function measureAll(
  storage: Storage,
  { chosen, groupSize, ...effort }: Settings,
): Promise<Pick<Report, 'rows' | 'groupFills'>> {
  await using server = await storage.start()
  const tell = (text: string) => progress(`${storage.name}: ${text}`)
  tell('filling')
  const conversations = chosen.flat().some(({ needsConversations }) => needsConversations)
  const subject = await populate(server, storage, { conversations, groupSize, tell })
  const rows: Row[] = []
  for (const set of chosen) {
    for (const { what } of set) tell(what)
    rows.push(...(await measure(set, subject, effort)))
  }
  const figures = await subject.groupFill()
  return { rows, groupFills: figures ? [{ database: storage.name, ...figures }] : [] }
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** A missed target is a finding and no failure; an answer that is wrong is one. */
async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2))
  if (settings === null) {
    process.stdout.write(usage)
    return 0
  }
  const report = await run(settings)
  process.stdout.write(
    `${settings.json ? JSON.stringify(report, null, 2) : formatReport(report)}\n`,
  )
  return report.rows.some(({ errors }) => errors > 0) ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(
    error instanceof UsageError
      ? `${error.message}\n\n${usage}`
      : `bench: ${(error as Error).stack}\n`,
  )
  process.exitCode = error instanceof UsageError ? 2 : 1
}
