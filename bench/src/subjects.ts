/** The servers that are measured: on an empty folder for the start-up figures, and filled for the scenarios. */
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresCluster, type ServerProcess, startServer } from '@hermod/testkit'
import { createConversations, createUsers } from './fill.js'
import { createGroups, type GroupFillFigures, type GroupWorld } from './group-fill.js'
import { median, type Subject } from './measure.js'
import { type DatabaseName, identityOf, type Population } from './scenario.js'

export interface StartupFigures {
  readonly database: DatabaseName
  /** From the start of the process to the first 200 of /readyz, on an empty folder. */
  readonly readyMs: number
  readonly slowestReadyMs: number
  /** Resident memory some seconds after the start, before the first request. */
  readonly idleRssBytes: number
  /** What was missed; empty: nothing. */
  readonly missed: readonly string[]
}

export const readyTargetMs = 1000
export const idleTargetBytes = 120 * 1e6
const starts = 5
const idleMs = 3000

/** Where servers get their databases from. */
export interface Storage extends AsyncDisposable {
  readonly name: DatabaseName
  /** Starts a server on an empty database. */
  start(): Promise<ServerProcess>
  cpuMs(): number
}

export function sqliteStorage(): Storage {
  return {
    name: 'sqlite',
    start: () => startServer(),
    cpuMs: () => 0,
    [Symbol.asyncDispose]: async () => {},
  }
}

/** A PostgreSQL with its default settings, so with durable commits. */
export async function postgresStorage(): Promise<Storage> {
  const cluster = await PostgresCluster.start()
  return {
    name: 'postgres',
    start: async () => startServer({ database: await cluster.createDatabase() }),
    cpuMs: () => cluster.cpuMs(),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

export async function measureStartup(storage: Storage): Promise<StartupFigures> {
  const readyTimes: number[] = []
  let idleRssBytes = Number.NaN
  while (readyTimes.length < starts) {
    await using server = await storage.start()
    readyTimes.push(server.startupMs)
    if (readyTimes.length < starts) continue
    await sleep(idleMs)
    idleRssBytes = server.rssBytes()
  }
  const readyMs = median(readyTimes)
  return {
    database: storage.name,
    readyMs,
    slowestReadyMs: Math.max(...readyTimes),
    idleRssBytes,
    missed: [
      ...(readyMs <= readyTargetMs ? [] : ['ready']),
      ...(idleRssBytes <= idleTargetBytes ? [] : ['idle memory']),
    ],
  }
}

/** What a server is filled with before the scenarios run. */
export interface FillOptions {
  readonly conversations: boolean
  readonly groupSize: number
  /** Says what goes on. */
  tell(text: string): void
}

export interface FilledSubject extends Subject {
  /** Null while no scenario has asked for groups. */
  groupFill(): Promise<GroupFillFigures> | null
}

/** Fills a server with users, with conversations when they are needed, and with groups once a scenario asks for them. */
export async function populate(
  server: ServerProcess,
  storage: Storage,
  options: FillOptions,
): Promise<FilledSubject> {
  const { appId, api, operatorToken } = server
  const users = await createUsers(api)
  const transactionIds = transactionCounter()
  const people = {
    appId,
    api,
    operator: api.as(operatorToken),
    users,
    groupSize: options.groupSize,
    transactionIds,
  }
  let groups: Promise<GroupWorld> | null = null
  const population: Population = {
    ...people,
    groups: () => {
      groups ??= createGroups(people, options.tell)
      return groups
    },
  }
  const port = Number(new URL(server.url).port)
  if (options.conversations)
    await createConversations(port, {
      ...identityOf(appId, users),
      firstTransaction: transactionIds(1_000_000),
    })
  return {
    database: storage.name,
    port,
    population,
    groupFill: () => groups?.then(({ figures }) => figures) ?? null,
    serverCpuMs: () => server.cpuMs(),
    databaseCpuMs: () => storage.cpuMs(),
    rssBytes: () => server.rssBytes(),
  }
}

/** IDs below 2^53 with the same number of digits throughout. */
function transactionCounter(): Population['transactionIds'] {
  let next = 1_000_000_000_000_000
  return (count) => {
    next += count
    return next - count
  }
}
