#!/usr/bin/env node
/**
 * Runs every test: unit, and the built server on SQLite and on every other installed database and
 * file store. Reports skipped parts in a line. With HERMOD_TEST_BACKENDS=all a missing one is a
 * failure. With HERMOD_TEST_FULL=on every suite runs on every database, and property suites and
 * attacks take longer. The last line counts the tests.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { emptyMemoryDisk, findChromium, findPostgres, findPython } = await import(
  '../packages/testkit/dist/index.js'
)
const { hasSwift } = await import('../packages/testkit/dist/s3/index.js')
const postgres = findPostgres()
if (!postgres && process.env.HERMOD_TEST_BACKENDS !== 'all') {
  console.log(
    'left out: everything on PostgreSQL, because no PostgreSQL 15 or newer is installed (its server programs are enough)',
  )
}
if (!hasSwift() && process.env.HERMOD_TEST_BACKENDS !== 'all') {
  console.log(
    "left out: everything on S3, because OpenStack Swift is not installed (Debian's swift-proxy, swift-account, swift-container and swift-object are enough)",
  )
}
if (!findChromium() && process.env.HERMOD_TEST_BACKENDS !== 'all') {
  console.log('left out: everything in a browser, because no Chromium is installed')
}
if (!findPython(['websockets', 'aiohttp']) && process.env.HERMOD_TEST_BACKENDS !== 'all') {
  console.log(
    "left out: WebSocket clients in Python, because their modules are not installed (Debian's python3-websockets and python3-aiohttp are enough)",
  )
}
if (process.env.HERMOD_TEST_FULL === 'on')
  for (const [name, command] of [
    ['Go', 'go'],
    ['Java', 'java'],
  ])
    if (spawnSync(command, ['-version'], { stdio: 'ignore' }).error)
      console.log(`left out: the webhook receiver in ${name}, because ${command} is not installed`)

const folder = mkdtempSync(join(tmpdir(), 'hermod-test-'))
const report = join(folder, 'report.json')
const vitest = join(
  dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
  'vitest.mjs',
)
const args = [
  vitest,
  'run',
  '--reporter=default',
  '--reporter=./scripts/failures-reporter.mjs',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
]
emptyMemoryDisk()
const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
const counts = readReport()
emptyMemoryDisk()
rmSync(folder, { recursive: true, force: true })
if (counts) {
  const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`
  console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
}
process.exitCode = status === 0 && counts?.failed === 0 ? 0 : 1

function readReport() {
  try {
    const {
      numPassedTests: passed,
      numFailedTests: failed,
      numPendingTests: pending,
      numTodoTests: todo,
    } = JSON.parse(readFileSync(report, 'utf8'))
    return { passed, failed, skipped: pending + todo }
  } catch {
    return null
  }
}
