#!/usr/bin/env node
/**
 * Makes the fixture of a release: a small world on both databases, in
 * `packages/server/test/fixtures/releases/<version>/`, which every later build must open. Run it
 * once on the commit of the release, after `npm run build`, and commit the folder:
 *
 *     node scripts/release-fixture.mjs
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = join(root, 'packages/server/test/fixtures/releases', version)
if (existsSync(folder)) {
  console.error(`${folder} exists; the fixture of a release is never made again`)
  process.exit(1)
}
const vitest = join(
  dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
  'vitest.mjs',
)
const test = 'packages/server/test/database/releases.test.ts'
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'integration', test], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, HERMOD_RELEASE_FIXTURE: version, HERMOD_TEST_BACKENDS: 'all' },
})
// Half of one would be taken for a whole one.
if (status !== 0) rmSync(folder, { recursive: true, force: true })
process.exitCode = status ?? 1
