/** The demo on several nodes: three processes on one PostgreSQL, and a page that kills them. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '@hermod/server/dist/config/config.js'
import { startService } from '@hermod/server/dist/context/server/server.js'
import { Lifecycle } from '@hermod/server/dist/lib/lifecycle.js'
import { createLog } from '@hermod/server/dist/observability/log.js'
import { findPostgres, freePort, isEmptyDatabase, PostgresCluster } from '@hermod/testkit'
import { startAssistant } from '../assistant/assistant.js'
import {
  appId,
  type RunningDemo,
  makeFolder,
  pageFolder,
  removeFolder,
  requirePage,
} from '../demo.js'
import { DemoClock } from '../demo-clock.js'
import { DemoServer } from '../demo-server.js'
import { createWorld, type World } from '../world/world.js'
import { DemoNode } from './demo-node.js'
import { servicePath, startFront } from './front.js'

const nodeCount = 3

export interface ClusterDemoOptions {
  /** 0: any free port. */
  readonly port: number
  /** A postgres:// URL of an empty database; absent: a temporary PostgreSQL. */
  readonly databaseUrl?: string
  /** Called with what happens to nodes and sides. */
  readonly report?: (text: string) => void
}

/**
 * Starts the demo on 127.0.0.1. Settings of the environment do not apply.
 * @throws Error when there is no PostgreSQL, or its database is not empty
 */
export function startClusterDemo({
  port: given,
  databaseUrl: givenUrl,
  report = () => {},
}: ClusterDemoOptions): Promise<RunningDemo> {
  requirePage()
  return Lifecycle.start(async (parts) => {
    const databaseUrl = givenUrl ?? (await startPostgres(parts))
    await requireEmpty(databaseUrl)
    const folder = parts.add(makeFolder(), removeFolder)
    const port = given === 0 ? await freePort() : given
    const settings = clusterSettings({ port, databaseUrl, filesDir: join(folder, 'files') })
    mkdirSync(settings.HERMOD_FILES_DIR, { mode: 0o700 })
    const nodes: DemoNode[] = []
    for (let number = 1; number <= nodeCount; number++) {
      const dataDir = join(folder, `node-${number}`)
      nodes.push(new DemoNode({ port: await freePort(), dataDir, settings }))
    }
    const { users, assistant } = await prepare({
      ...settings,
      HERMOD_DATA_DIR: join(folder, 'node-1'),
    })
    const session = JSON.stringify({
      appId,
      hasNodes: true,
      users: users.map((user, side) => ({ ...user, servicePath: servicePath(side) })),
    })
    parts.add(nodes, (all) => Promise.all(all.map((node) => node.stop())))
    await Promise.all(nodes.map((node) => node.start()))
    const sides = users.map(({ name }) => name)
    const front = { port, folder: pageFolder, nodes, sides, session, report }
    parts.add(await startFront(front), (stop) => stop())
    // The last node is that of no side, so it is seldom killed.
    const url = `http://127.0.0.1:${nodes.at(-1)?.port}`
    parts.add(await startAssistant({ url, appId, ...assistant }), (each) => each.close())
    const nodeDir = join(folder, `node-${nodeCount}`)
    return { url: `http://127.0.0.1:${port}/demo`, nodeDir, stop: () => parts.stop() }
  })
}

async function startPostgres(parts: Lifecycle): Promise<string> {
  if (findPostgres() === null)
    throw new Error(
      'demo --cluster needs PostgreSQL 15 or newer, and none was found; install it, or name an empty database with --database postgres://…',
    )
  const cluster = parts.add(await PostgresCluster.start(), (each) => each[Symbol.asyncDispose]())
  return (await cluster.createDatabase()).url
}

/** @throws Error when the database has tables */
async function requireEmpty(databaseUrl: string): Promise<void> {
  // The start of the service tells why a database cannot be reached.
  const isEmpty = await isEmptyDatabase(databaseUrl).catch(() => true)
  if (!isEmpty)
    throw new Error('the database of --database is not empty; name an empty one for the demo')
}

interface ClusterAddresses {
  readonly port: number
  readonly databaseUrl: string
  readonly filesDir: string
}

function clusterSettings({ port, databaseUrl, filesDir }: ClusterAddresses) {
  const origin = `http://127.0.0.1:${port}`
  return {
    HERMOD_HOST: '127.0.0.1',
    HERMOD_DATABASE_URL: databaseUrl,
    HERMOD_SECRET_KEY: randomBytes(32).toString('hex'),
    HERMOD_PUBLIC_URL: `${origin}${servicePath(0)}`,
    HERMOD_FILES_DIR: filesDir,
    HERMOD_FILES_SHARED: 'on',
    HERMOD_RATE_LIMIT: 'off',
    HERMOD_CORS_ORIGINS: `${origin},http://localhost:${port}`,
    HERMOD_BOOTSTRAP_APP_ID: appId,
    HERMOD_LOG_LEVEL: 'error',
  }
}

/** Fills the database by a node of this process, whose clock can be late. @returns its users */
async function prepare(settings: Record<string, string>): Promise<World> {
  const port = await freePort()
  // Until the nodes run, this one takes the uploads.
  const own = { HERMOD_PORT: String(port), HERMOD_PUBLIC_URL: `http://127.0.0.1:${port}` }
  const loaded = loadConfig({ PATH: process.env.PATH, ...settings, ...own })
  const clock = new DemoClock()
  const service = await startService(loaded, createLog('error', process.stderr), { clock })
  try {
    if (service.first === null) throw new Error('the database of the demo is not empty')
    return await createWorld(new DemoServer(service.url, service.first), clock)
  } finally {
    await service.stop()
  }
}
