/** `npm run bench`: the rates of the service beside those of a bare echo. See the README for the method. */
import { parseArgs } from 'node:util'
import { describeMachine } from './machine.js'
import { type Effort, measure, type Row } from './measure.js'
import { formatReport, type Report } from './report.js'
import { type Scenario, scenarios } from './scenarios.js'
import { measureStartup, populate, postgresStorage, type StartupFigures, type Storage, sqliteStorage } from './subjects.js'

const usage = `Usage: npm run bench -- [options]

  --seconds N       measured time of each run, default 8
  --rounds N        how often echo and server take turns, default 2
  --only NAME       sqlite or postgres; default: both when PostgreSQL 15 or newer is found
  --scenario NAMES  ${scenarios.map(({ name }) => name).join(', ')}; several with commas; default: all
  --json            the report as JSON
`

interface Settings extends Effort {
  readonly only: string | null
  readonly chosen: readonly Scenario[]
  readonly json: boolean
}

class UsageError extends Error {}

function readSettings(args: readonly string[]): Settings | null {
  const { seconds, rounds, only, scenario, json, help } = parse(args)
  if (help) return null
  if (only !== undefined && only !== 'sqlite' && only !== 'postgres') throw new UsageError('--only must be sqlite or postgres')
  return {
    seconds: positive('--seconds', seconds),
    rounds: positive('--rounds', rounds),
    only: only ?? null,
    chosen: chooseScenarios(scenario),
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

function chooseScenarios(text: string): readonly Scenario[] {
  const names = text.split(',')
  const unknown = names.find((name) => name !== 'all' && !scenarios.some((scenario) => scenario.name === name))
  if (unknown !== undefined) throw new UsageError(`--scenario does not know ${unknown}`)
  return scenarios.filter(({ name }) => names.includes('all') || names.includes(name))
}

async function run(settings: Settings): Promise<Report> {
  const machine = describeMachine()
  const notes: string[] = []
  const startups: StartupFigures[] = []
  const rows: Row[] = []
  if (machine.dataInMemory) notes.push('the temporary folder is in memory: set TMPDIR to a folder on disk for figures about durable writes')
  for (const openStorage of storages(settings.only, machine.postgres, notes)) {
    await using storage = await openStorage()
    progress(`${storage.name}: start-up`)
    startups.push(await measureStartup(storage))
    rows.push(...(await measureAll(storage, settings)))
  }
  return { machine, effort: { seconds: settings.seconds, rounds: settings.rounds }, startups, rows, notes }
}

function storages(only: string | null, postgres: string | null, notes: string[]): (() => Storage | Promise<Storage>)[] {
  if (only === 'sqlite') return [sqliteStorage]
  if (only === 'postgres') return [postgresStorage]
  if (postgres !== null) return [sqliteStorage, postgresStorage]
  notes.push('PostgreSQL 15 or newer was not found and is left out')
  return [sqliteStorage]
}

async function measureAll(storage: Storage, { chosen, ...effort }: Settings): Promise<Row[]> {
  await using server = await storage.start()
  progress(`${storage.name}: filling`)
  const subject = await populate(
    server,
    storage,
    chosen.some(({ needsConversations }) => needsConversations),
  )
  const rows: Row[] = []
  for (const scenario of chosen) {
    progress(`${storage.name}: ${scenario.what}`)
    rows.push(await measure(scenario, subject, effort))
  }
  return rows
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
  process.stdout.write(`${settings.json ? JSON.stringify(report, null, 2) : formatReport(report)}\n`)
  return report.rows.some(({ errors }) => errors > 0) ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${usage}` : `bench: ${(error as Error).stack}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
