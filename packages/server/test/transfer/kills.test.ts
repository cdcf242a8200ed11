/** Exports and imports that are killed again and again lose no row and double none. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backend, Child, isFullRun, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { callHermod, hermodEnvironment, hermodScript } from '../support/hermod-command.js'
import { Random } from '../support/random.js'
import { rewriteManifest } from '../support/transfer/changed-exports.js'
import {
  digestOf,
  Installation,
  portableDigest,
  succeed,
} from '../support/transfer/installations.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
/** The killed exports, and the killed imports, on each database. HERMOD_TEST_KILLS sets another number. */
const kills = Number(process.env.HERMOD_TEST_KILLS ?? (isFullRun ? 6 : 1))
const messages = isFullRun ? 15_000 : 5_000

/** In the usual run each database has one of the kinds. */
const kindsOf = ({ name }: Backend) =>
  isFullRun ? ['move', 'portable'] : [name === 'sqlite' ? 'move' : 'portable']
const killsOfKind = Math.ceil(isFullRun ? kills / 2 : kills)

describe.each(testBackends())('kills on $name', (backend) => {
  it.each(kindsOf(backend))(
    'an export and an import of the kind %s that are killed end with equal digests',
    {
      timeout: 60_000 + killsOfKind * 30_000,
    },
    async (kind) => {
      const digestOfKind = (place: Installation) =>
        kind === 'portable' ? portableDigest(place) : digestOf((...args) => place.hermod(...args))
      const random = new Random(seed)
      await using source = await Installation.withMessages(messages)
      const digest = await digestOfKind(source)
      const { exportFolder } = source
      const exportArgs = ['export', `--${kind}`, '--to', exportFolder, '--json']
      await killedRuns(exportArgs, () => source, {
        random,
        async afterKill() {
          const checked = await source.hermod('import', exportFolder, '--check')
          const isComplete = existsSync(join(exportFolder, 'COMPLETE'))
          expect(checked.err).toMatch(isComplete ? isDone : /no complete/)
        },
        begin: async () => rmSync(exportFolder, { recursive: true }),
      })
      let there = await Installation.create(backend)
      try {
        await killedRuns(['import', exportFolder, '--json'], () => there, {
          random,
          async afterKill() {
            const { err } = await there.hermod('nodes')
            if (/unfinished import|no data folder/.test(err)) return
            // A service would start: the kill came before the first row or after the last one.
            const found = await digestOfKind(there)
            expect([undefined, digest.apps]).toContainEqual(found.apps)
            if (found.apps) expect(found).toEqual(digest)
          },
          async begin() {
            await there[Symbol.asyncDispose]()
            there = await Installation.create(backend)
          },
        })
        expect(await digestOfKind(there)).toEqual(digest)
      } finally {
        await there[Symbol.asyncDispose]()
      }
      console.log(
        `${backend.name}, ${kind}: seed ${seed}, ${killsOfKind} exports and as many imports killed`,
      )
    },
  )

  // An undo that is stopped continues: portable.test.ts.
  if (isFullRun)
    it('an undo that is killed ends without a row of the imported application', {
      timeout: 60_000 + killsOfKind * 30_000,
    }, async () => {
      await using source = await Installation.withMessages(messages)
      const { exportFolder } = source
      await succeed(source.hermod('export', '--to', exportFolder, '--json'))
      writeFileSync(join(exportFolder, 'lines/erasures.ndjson'), '[]\n')
      rewriteManifest(exportFolder)
      await using there = await Installation.create(backend)
      const begin = async () => {
        const { err } = await there.hermod('import', exportFolder)
        expect(err).toContain('line 1 of lines/erasures.ndjson is no object')
      }
      await begin()
      await killedRuns(['import', '--undo', '--json'], () => there, {
        random: new Random(seed),
        async afterKill() {
          const { err } = await there.hermod('nodes')
          if (!/unfinished import/.test(err)) expect(await portableDigest(there)).toEqual({})
        },
        begin,
      })
      expect(await portableDigest(there)).toEqual({})
      expect((await there.hermod('import', '--undo')).err).toContain('has no unfinished import')
    })
})

/** The failure of a run after a kill that came after the end of the work. */
const isDone = /complete export already|is not empty|of the export already|has no unfinished import/

interface KilledRuns {
  readonly random: Random
  /** Checks what a killed run has left. */
  afterKill(): Promise<void>
  /** Makes place for a new run, after one that was complete before its kill. */
  begin(): Promise<void>
}

/** Runs a command that is killed at random moments, and then to its end. */
async function killedRuns(
  args: readonly string[],
  place: () => Installation,
  { random, afterKill, begin }: KilledRuns,
): Promise<void> {
  for (let killed = 0; killed < killsOfKind; ) {
    const child = new Child([process.execPath, hermodScript, ...args], {
      env: hermodEnvironment(place().settings),
    })
    await Promise.race([child.exited, sleep(random.integer(150, 1_500))])
    if (child.exit) {
      if (child.exit.code !== 0) expect(child.output()).toMatch(isDone)
      await begin()
      continue
    }
    child.killTree()
    await child.exited
    killed++
    await afterKill()
  }
  await succeed(callHermod(args, place().settings)).catch((error: Error) => {
    if (!isDone.test(error.message)) throw error
  })
}
