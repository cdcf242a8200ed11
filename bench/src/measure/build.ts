/** The measured builds: the databases of their servers, and their data for the scenarios. */
import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  freePort,
  PostgresCluster,
  type ServerOptions,
  type ServerProcess,
  startServer,
} from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { makeBroadcastReaders, makeCrowd } from '../population/broadcasts.js'
import { makeGroups } from '../population/groups.js'
import { createConversations, makeUsers } from '../population/people.js'
import {
  type BroadcastReaders,
  type Crowd,
  type GroupFillFigures,
  type GroupWorld,
  type Population,
  transactionCounter,
} from '../population/population.js'
import { type DatabaseName, sendersOf } from '../scenarios/scenario.js'

/** A build of the service. */
export interface Build {
  readonly name: 'this' | 'other'
  /** Its `hermod` script. */
  readonly command: string
}

/** This build, then the one to compare with, if any. */
export type Builds = readonly [own: Build, ...others: Build[]]

/** A running server of a build, with the figures to measure. */
export interface MeasuredBuild extends Usage, Pick<StoredServer, 'restart'> {
  readonly database: DatabaseName
  readonly port: number
  readonly population: Population
}

const script = 'packages/server/bin/hermod.js'
const busyTimeoutMs = 10_000

/**
 * Returns this benchmark's build, and the build to compare it with.
 * @throws Error when that build is missing
 */
export function findBuilds(against: string | null): Builds {
  const checkout = resolve(import.meta.dirname, '../../..')
  const own: Build = { name: 'this', command: resolve(checkout, script) }
  if (against === null) return [own]
  const built = resolve(against, 'packages/server/dist/main.js')
  if (!existsSync(built))
    throw new Error(`${built} is missing: run npm ci and npm run build in ${against}`)
  return [own, { name: 'other', command: resolve(against, script) }]
}

/** Source of the servers' databases. */
export interface Storage extends AsyncDisposable {
  readonly name: DatabaseName
  /** Starts a server of the build on a new, empty database. @param env further settings */
  start(build: Build, env?: ServerOptions['env']): Promise<StoredServer>
  cpuMs(): number
}

/** A server's data, accessible without the server. */
interface StoredData {
  databaseBytes(): Promise<number>
  /** Size of the write-ahead log; with PostgreSQL that of all databases together. */
  walBytes(): Promise<number>
  /**
   * Runs a statement on a separate database connection, for data that no call can make or return.
   * @returns its rows
   */
  sql(statement: string): Promise<Rows>
  /** Brings freshly filled data into the state of old data: analyzed and written back. */
  settle(): Promise<void>
}

type Rows = Readonly<Record<string, unknown>>[]

interface OwnedData extends StoredData, AsyncDisposable {}

/** A server and its data. */
export interface StoredServer extends StoredData, AsyncDisposable {
  /** Changes with a restart. */
  readonly process: ServerProcess
  /** Ends the process and starts another one with the same data and address. */
  restart(): Promise<void>
}

/** Creates the storage of servers with the embedded database. */
export function sqliteStorage(): Storage {
  return {
    name: 'sqlite',
    async start({ command }, env = {}) {
      return startStored({ command, env }, ({ dataDir }) => {
        const bytes = async (file: string) =>
          statSync(join(dataDir, file), { throwIfNoEntry: false })?.size ?? 0
        let connection: InstanceType<typeof DatabaseSync> | undefined
        return {
          databaseBytes: () => bytes('hermod.db'),
          walBytes: () => bytes('hermod.db-wal'),
          sql: async (statement) => {
            connection ??= new DatabaseSync(join(dataDir, 'hermod.db'), { timeout: busyTimeoutMs })
            return connection.prepare(statement).all() as Rows
          },
          // The server does this in steps all the time.
          settle: async () => {},
          [Symbol.asyncDispose]: async () => connection?.close(),
        }
      })
    },
    cpuMs: () => 0,
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Starts a PostgreSQL with default settings, and thus durable commits. */
export async function postgresStorage(): Promise<Storage> {
  const cluster = await PostgresCluster.start()
  return {
    name: 'postgres',
    async start({ command }, env = {}) {
      const database = await cluster.createDatabase()
      return startStored({ command, database, env }, () => {
        let connection: Promise<pg.Client> | undefined
        const sql = async (statement: string): Promise<Rows> => {
          connection ??= connect(database.url)
          return (await (await connection).query<Rows[number]>(statement)).rows
        }
        return {
          databaseBytes: () => database.sizeBytes(),
          walBytes: () => cluster.walBytes(),
          sql,
          async settle() {
            await sql('vacuum (analyze)')
            await sql('checkpoint')
          },
          [Symbol.asyncDispose]: async () => (await connection)?.end(),
        }
      })
    },
    cpuMs: () => cluster.cpuMs(),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

async function startStored(
  options: ServerOptions,
  dataOf: (server: ServerProcess) => OwnedData,
): Promise<StoredServer> {
  let server = await startServer({ ...options, port: await freePort() })
  const data = dataOf(server)
  return {
    ...data,
    get process() {
      return server
    },
    async restart() {
      await server.stop()
      server = await server.startAgain()
    },
    async [Symbol.asyncDispose]() {
      await data[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** A running server of each build; they end together. */
export class Servers implements AsyncDisposable {
  readonly all: StoredServer[] = []

  static async start(storage: Storage, builds: readonly Build[]): Promise<Servers> {
    const servers = new Servers()
    try {
      for (const build of builds) servers.all.push(await storage.start(build))
      return servers
    } catch (error) {
      await servers[Symbol.asyncDispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.all) await server[Symbol.asyncDispose]()
  }
}

/** Data to fill a server with before the scenarios run. */
export interface FillOptions {
  readonly conversations: boolean
  readonly groupSize: number
  readonly crowdSize: number
  /** Reports progress. */
  onProgress(text: string): void
}

/** A started build with its population. */
export interface FilledBuild extends MeasuredBuild {
  /** Null until a scenario has requested groups. */
  groupFill(): Promise<GroupFillFigures> | null
}

/**
 * Fills a server with users, with conversations if needed, and with groups when a scenario first
 * requests them.
 */
export async function populate(
  server: StoredServer,
  storage: Storage,
  options: FillOptions,
): Promise<FilledBuild> {
  const { appId, api, operatorToken } = server.process
  const users = await makeUsers(api)
  const transactionIds = transactionCounter()
  const people = {
    appId,
    api,
    operator: api.as(operatorToken),
    users,
    groupSize: options.groupSize,
    crowdSize: options.crowdSize,
    transactionIds,
  }
  let groups: Promise<GroupWorld> | null = null
  let broadcasts: Promise<BroadcastReaders> | null = null
  let crowd: Promise<Crowd> | null = null
  const population: Population = {
    ...people,
    groups: () => {
      groups ??= makeGroups(people, options.onProgress)
      return groups
    },
    broadcasts: () => {
      broadcasts ??= makeBroadcastReaders(people, options.onProgress)
      return broadcasts
    },
    crowd: () => {
      crowd ??= makeCrowd(people, options.onProgress)
      return crowd
    },
  }
  const port = portOf(server)
  if (options.conversations)
    await createConversations(port, {
      ...sendersOf(appId, users),
      firstTransaction: transactionIds(1_000_000),
    })
  return {
    ...usageOf(server, storage),
    restart: () => server.restart(),
    database: storage.name,
    port,
    population,
    groupFill: () => groups?.then(({ figures }) => figures) ?? null,
  }
}

/** Returns the port of a server. */
export function portOf({ process }: Pick<StoredServer, 'process'>): number {
  return Number(new URL(process.url).port)
}

/** Resource usage of a server. */
export interface Usage {
  serverCpuMs(): number
  /** 0 for the embedded database. */
  databaseCpuMs(): number
  rssBytes(): number
}

/** Returns the counters of a server and its database. */
export function usageOf(server: Pick<StoredServer, 'process'>, storage: Storage): Usage {
  return {
    serverCpuMs: () => server.process.cpuMs(),
    databaseCpuMs: () => storage.cpuMs(),
    rssBytes: () => server.process.rssBytes(),
  }
}
