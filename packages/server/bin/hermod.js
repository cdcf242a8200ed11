#!/usr/bin/env node
// The hermod command. In a checkout it first builds what is missing or older than its sources; an
// installed package has no sources.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const packageFolder = dirname(dirname(fileURLToPath(import.meta.url)))
const main = join(packageFolder, 'dist', 'main.js')
// The same in few files, which starts faster; see scripts/bundle.mjs.
const bundle = join(packageFolder, 'dist', 'bundle', 'main.js')

const longestBuildMs = 600_000
const sqliteBusy = 5

const isCheckout = existsSync(join(packageFolder, 'src'))
// The demo is a package of its own, built on this one.
const built = process.argv[2] === 'demo' ? join(dirname(packageFolder), 'demo') : packageFolder
// Tests start many processes of one build.
const isTested = process.env.VITEST === 'true'
if (!isCheckout || isTested || (await buildWhenStale())) {
  const { run } = await import(isBundleNewest() ? bundle : main)
  await run(process.argv.slice(2))
} else {
  process.exitCode = 1
}

/** @returns {Promise<boolean>} false: nothing that could be started */
async function buildWhenStale() {
  const projects = [...projectsBelow(built)]
  if (isCurrent(projects)) return true
  const compiler = findCompiler()
  if (compiler === null) {
    const state = isComplete(projects) ? 'older than its sources' : 'missing'
    process.stderr.write(
      `hermod: the build is ${state} and TypeScript is not installed; run npm ci --include=dev in the checkout (NODE_ENV=production leaves it out)\n`,
    )
    return isComplete(projects)
  }
  return alone(() => isCurrent(projects) || build(compiler, projects))
}

function isComplete(projects) {
  return projects.every((project) => existsSync(join(project, 'dist'))) && existsSync(main)
}

function isCurrent(projects) {
  return (
    isComplete(projects) && projects.every((project) => newestSource(project) <= builtAt(project))
  )
}

/** Runs work of one process at a time. @returns {Promise<boolean>} false: this process may not build */
async function alone(work) {
  const lock = await lockBuild()
  if (lock === null) return false
  try {
    return work()
  } finally {
    lock.close()
  }
}

/** The lock of SQLite ends with its process, however that ends. */
async function lockBuild() {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  try {
    const lock = new DatabaseSync(join(packageFolder, '.building'), { timeout: 0 })
    // Nothing is ever written.
    const begin = 'pragma journal_mode = memory; begin exclusive'
    try {
      lock.exec(begin)
    } catch (error) {
      if (error.errcode !== sqliteBusy) throw error
      process.stderr.write('hermod: another process builds; waiting …\n')
      lock.exec(`pragma busy_timeout = ${longestBuildMs}; ${begin}`)
    }
    return lock
  } catch ({ message }) {
    process.stderr.write(
      `hermod: the build is missing or older than its sources, and ${packageFolder} cannot be locked for a new one (${message}); run npm run build as the owner of the checkout\n`,
    )
    return null
  }
}

/** False too when the compiler alone has run. */
function isBundleNewest() {
  const bundledAt = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const newestBuild = isCheckout ? Math.max(...[...projectsBelow(packageFolder)].map(builtAt)) : 0
  return bundledAt > newestBuild
}

/** The project and, through its references, all that it is built from. */
function projectsBelow(project, found = new Set()) {
  if (found.has(project)) return found
  found.add(project)
  const { references = [] } = JSON.parse(readFileSync(join(project, 'tsconfig.json'), 'utf8'))
  for (const { path } of references) projectsBelow(resolve(project, path), found)
  return found
}

/** Folders count as well, so that a deleted source is seen. */
function newestSource(project) {
  const folders = [join(project, 'src')]
  let newest = statSync(join(project, 'tsconfig.json')).mtimeMs
  for (const folder of folders) {
    newest = Math.max(newest, statSync(folder).mtimeMs)
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (!entry.name.endsWith('.test.ts')) newest = Math.max(newest, statSync(path).mtimeMs)
    }
  }
  return newest
}

/**
 * The compiler leaves its own record untouched when nothing changed in substance, hence the stamp
 * beside it.
 */
function recordsOf(project) {
  return [join(project, 'dist', '.built'), join(project, 'tsconfig.tsbuildinfo')]
}

function builtAt(project) {
  return Math.max(
    ...recordsOf(project).map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0),
  )
}

function removeRecords(projects) {
  for (const record of projects.flatMap(recordsOf)) rmSync(record, { force: true })
}

function findCompiler() {
  try {
    const manifest = createRequire(import.meta.url).resolve('typescript/package.json')
    return join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc)
  } catch {
    return null
  }
}

function build(compiler, projects) {
  process.stderr.write('hermod: building …\n')
  const startedAt = new Date()
  // The compiler trusts its own records and does not notice that the output is gone. Projects that are
  // complete stay as they are, since a service may be running on them.
  removeRecords(projects.filter((project) => !existsSync(join(project, 'dist'))))
  if (!existsSync(main)) removeRecords([packageFolder])
  const args = [compiler, '-b', built]
  // The compiler's output goes to stderr: stdout belongs to the command.
  const { status, error } = spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    // The compiler has left output of the faulty sources; without the records the next start builds again.
    removeRecords(projects)
    process.stderr.write(
      `hermod: the build failed${error ? `: ${error.message}` : '; its faults are named above'}\n`,
    )
    return false
  }
  makeBundle()
  for (const project of projects) {
    const [stamp] = recordsOf(project)
    writeFileSync(stamp, '')
    utimesSync(stamp, startedAt, startedAt)
  }
  process.stderr.write('hermod: built\n')
  return true
}

/** Makes starts faster and changes nothing else, so that a failure of it is told and no more. */
function makeBundle() {
  const script = join(packageFolder, '..', '..', 'scripts', 'bundle.mjs')
  spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] })
}
