#!/usr/bin/env node
/**
 * Plants faults, one at a time, and checks whether a test notices: each is a small change of the
 * code, built and tested in a copy of the tree. A surviving fault is a rule without a test, or a
 * change without effect.
 *
 *   npm run mutate -- --count 100 --seed 7 --only domain/login
 */
import { readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { API } from 'typescript/unstable/sync'
import { CopiedTree } from './mutate/copied-tree.mjs'
import { faultsIn } from './mutate/faults.mjs'
import { integrationTestsOf } from './mutate/related-tests.mjs'

const usage = `Usage: npm run mutate -- [options]
  --count <n>    how many faults (default 100)
  --seed <n>     which ones; the same seed picks the same ones from the same code (default 1)
  --skip <n>     leaves out the first ones of the sample: the rest of a run that was ended (default 0)
  --only <path>  only files whose path below packages/server/src begins so; may be repeated
  --fault <text> only faults of which the list says this, such as those that survived; may be repeated
  --quick        without PostgreSQL: for a first look, as what it finds is found, and the rest is to be tried without it
  --list         say which faults would be planted, and plant none`

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const sources = join(root, 'packages/server/src')
const folders = ['domain/', 'pipeline/', 'db/', 'edge/', 'http/']
const minuteMs = 60_000
const buildTimeoutMs = 5 * minuteMs
const testTimeoutMs = 15 * minuteMs
/** Runs of tests that are known to pass without a fault. */
const green = new Set()

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    skip: { type: 'string', default: '0' },
    only: { type: 'string', multiple: true, default: [] },
    fault: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(usage)
  process.exit()
}

const count = Number(values.count)
const skip = Number(values.skip)
const faults = sample(allFaults(), skip + count, Number(values.seed)).slice(skip)
for (const fault of values.list ? faults : []) console.log(describe(fault))
if (!values.list) await tryAll()

/** Returns every possible fault, in the order of the files. */
function allFaults() {
  const api = new API({ cwd: root })
  try {
    const config = join(root, 'packages/server/tsconfig.json')
    const { program } = api.updateSnapshot({ openProjects: [config] }).getProjects()[0]
    const files = program.getSourceFileNames().filter(isMeant).sort()
    return files.flatMap((name) => {
      const source = program.getSourceFile(name)
      const path = relative(sources, name)
      return faultsIn(source)
        .map((fault) => ({ ...fault, path, source: source.text }))
        .filter(isAskedFor)
    })
  } finally {
    api.close()
  }
}

function isMeant(name) {
  const path = relative(sources, name)
  const { only } = values
  return (
    folders.some((folder) => path.startsWith(folder)) &&
    !path.endsWith('.test.ts') &&
    (only.length === 0 || only.some((beginning) => path.startsWith(beginning)))
  )
}

function isAskedFor(fault) {
  const { fault: texts } = values
  return texts.length === 0 || texts.some((text) => describe(fault).includes(text))
}

/** Takes a sample without repetitions; the same seed gives the same sample (mulberry32). */
function sample(all, count, seed) {
  let state = seed >>> 0
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const left = [...all]
  const picked = []
  while (picked.length < count && left.length > 0)
    picked.push(...left.splice(Math.floor(random() * left.length), 1))
  return picked
}

function describe({ path, source, start, end, text, operator }) {
  const before = source.slice(0, start)
  const line = before.split('\n').length
  const shown = (code) => code.replace(/\s+/g, ' ').slice(0, 100)
  return `${path}:${line} ${operator}: ${shown(source.slice(start, end))} → ${shown(text)}`
}

async function tryAll() {
  const tree = new CopiedTree(root)
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      tree.remove()
      process.exit(1)
    })
  try {
    await requireBuild(tree)
    const counts = { 'killed by a test': 0, 'killed by the compiler': 0, unclear: 0, survived: 0 }
    const survivors = []
    for (const [index, fault] of faults.entries()) {
      const { outcome, why } = await tryOne(tree, fault)
      counts[outcome]++
      if (outcome === 'survived') survivors.push(fault)
      console.log(`${skip + index + 1} ${outcome}: ${describe(fault)}`)
      if (why) console.log(`    ${why}`)
    }
    console.log(`\n${faults.length} faults, seed ${values.seed}: ${JSON.stringify(counts)}`)
    if (survivors.length > 0) console.log('survived:')
    for (const fault of survivors) console.log(`  ${describe(fault)}`)
  } finally {
    tree.remove()
  }
}

async function requireBuild(tree) {
  const { code, output } = await build(tree)
  if (code !== 0) throw new Error(`the tree does not build as it is:\n${output}`)
}

/** @returns {Promise<{ outcome: string, why?: string }>} why: the test that failed */
async function tryOne(tree, fault) {
  const { path, source, start, end, text } = fault
  const file = join('packages/server/src', path)
  tree.write(file, source.slice(0, start) + text + source.slice(end))
  try {
    if ((await build(tree)).code !== 0) return { outcome: 'killed by the compiler' }
    for (const run of testRunsOf(path)) {
      const failure = await failureOf(tree, run)
      if (failure === null) continue
      tree.write(file, source)
      const own = await failureWithoutFault(tree, run, failure)
      return own === null
        ? { outcome: 'killed by a test', why: failure.what }
        : { outcome: 'unclear', why: `fails without the fault: ${own.what}` }
    }
    return { outcome: 'survived' }
  } finally {
    tree.write(file, source)
  }
}

/**
 * Quick tests come first, since they find most faults before PostgreSQL runs.
 *
 * @returns {{ tests: string[], backend: string }[]} none without tests
 */
function testRunsOf(path) {
  const integration = (backend) => ({ tests: integrationTestsOf(path, backend), backend })
  return [
    { tests: unitTestsOf(path), backend: 'sqlite' },
    integration('sqlite'),
    integration('postgres'),
  ].filter((run) => run.tests.length > 0 && !(values.quick && run.backend === 'postgres'))
}

/**
 * Returns the tests in the folder of a file: the one of its name, and the others, which may reach
 * it through another file.
 */
function unitTestsOf(path) {
  const folder = dirname(path)
  return readdirSync(join(sources, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('packages/server/src', folder, name))
}

/**
 * Checks that tests pass without a fault, since failing tests would kill every fault. After a
 * time-out the check is repeated, because the machine may be the reason.
 *
 * @returns {Promise<{ what: string } | null>} null: they pass
 */
async function failureWithoutFault(tree, { tests, backend }, { file, isLate }) {
  const run = { tests: file === null ? tests : [file], backend }
  const key = JSON.stringify(run)
  if (green.has(key) && !isLate) return null
  await requireBuild(tree)
  const failure = await failureOf(tree, run)
  if (failure === null) green.add(key)
  return failure
}

function build(tree) {
  return tree.run(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-b'],
    buildTimeoutMs,
  )
}

/**
 * @returns {Promise<{ what: string, file: string | null, isLate: boolean } | null>} the first test
 * that fails, and its file if there is
 *   one; null: they pass
 */
async function failureOf(tree, { tests, backend }) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--bail=1', '--reporter=dot', ...tests]
  const env = { ...process.env, NO_COLOR: '1', HERMOD_TEST_BACKENDS: backend }
  const { code, output } = await tree.run(process.execPath, args, testTimeoutMs, env)
  if (code === 0) return null
  const what = /^ *FAIL .*$/m.exec(output)?.[0].trim() ?? 'no test: the run itself'
  const file = tests.find((test) => what.includes(test)) ?? null
  return { what, file, isLate: code === null || /timed out/i.test(output) }
}
