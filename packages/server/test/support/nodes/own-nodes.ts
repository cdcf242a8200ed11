import { type Backend, type ServerProcess, startServer } from '@hermod/testkit'
import { afterAll, beforeAll } from 'vitest'
import { sharedKey, sharedTokens } from '../shared-settings.js'

/**
 * Starts nodes on one database of PostgreSQL for the tests of the suite alone. The list is filled before
 * the first of them.
 */
export function ownNodes(backend: Backend, count = 2): readonly ServerProcess[] {
  const nodes: ServerProcess[] = []
  let database: Awaited<ReturnType<typeof backend.createDatabase>> | undefined
  beforeAll(async () => {
    database = await backend.createDatabase()
    const options = {
      ...sharedTokens,
      databaseUrl: database.url as string,
      env: { HERMOD_CHECK_ANSWERS: 'on', ...sharedKey },
    }
    while (nodes.length < count) nodes.push(await startServer(options))
  })
  afterAll(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
  })
  return nodes
}
