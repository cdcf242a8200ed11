/** Exports and imports that are killed again and again lose no row and double none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backend, Child, isFullRun, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Database } from '../../dist/db/database.js'
import { migrate } from '../../dist/db/migrations/migrate.js'
import { openDialect } from '../support/database/database-place.js'
import { callHermod, hermodEnvironment, hermodScript } from '../support/hermod-command.js'
import { Random } from '../support/random.js'
import { digestOf, Installation, succeed } from '../support/transfer/installations.js'
import { fillMessages } from '../support/transfer/filled-tables.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
/** HERMOD_TEST_KILLS sets another number. */
const kills = Number(process.env.HERMOD_TEST_KILLS ?? (isFullRun ? 10 : 1))
const messages = isFullRun ? 100_000 : 20_000
const [sqlite] = testBackends() as [Backend]

describe.each(testBackends())('kills on $name', (backend) => {
  it('an export and an import that are killed end with equal digests', {
    timeout: 60_000 + kills * 30_000,
  }, async () => {
    const random = new Random(seed)
    await using source = await Installation.create(sqlite)
    source.makeFolder()
    {
      await using database = new Database(openDialect(source))
      await migrate(database)
      await fillMessages(database, messages)
    }
    const digest = await digestOf((...args) => source.hermod(...args))
    const args = ['export', '--move', '--to', source.exportFolder, '--json']
    const exports = await killedRuns(args, source, random)
    expect(existsSync(join(source.exportFolder, 'COMPLETE'))).toBe(true)
    await using there = await Installation.create(backend)
    const importArgs = ['import', source.exportFolder, '--json']
    const imports = await killedRuns(importArgs, there, random, async () => {
      const { code, err } = await there.hermod('check')
      if (code === 1) return expect(err).toMatch(/unfinished import|no data folder/)
      // The kill came before the first row or after the last one.
      const { apps } = await digestOf((...each) => there.hermod(...each))
      expect([undefined, digest.apps]).toContainEqual(apps)
    })
    expect(await digestOf((...each) => there.hermod(...each))).toEqual(digest)
    console.log(`${backend.name}: seed ${seed}, ${exports} exports and ${imports} imports killed`)
  })
})

/**
 * Runs a command that is killed at random moments, and then to its end.
 * @returns the number of runs that were killed before their end
 */
async function killedRuns(
  args: readonly string[],
  { settings }: Installation,
  random: Random,
  afterKill: () => Promise<void> = async () => {},
): Promise<number> {
  let killed = 0
  for (let attempt = 1; killed < kills && attempt <= 3 * kills; attempt++) {
    const child = new Child([process.execPath, hermodScript, ...args], {
      env: hermodEnvironment(settings),
    })
    await Promise.race([child.exited, sleep(random.integer(150, 1_500))])
    if (child.exit) break
    child.killTree()
    await child.exited
    killed++
    await afterKill()
  }
  await succeed(callHermod(args, settings)).catch((error: Error) => {
    // The run that nothing killed was complete already.
    if (!/complete export already|is not empty/.test(error.message)) throw error
  })
  return killed
}
