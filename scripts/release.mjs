#!/usr/bin/env node
/**
 * Checks a release as its users get it, and prints what a publisher types; publishes nothing.
 *
 *     npm run release -- --check
 *
 * Writes the packages as npm ships them and their list of components (SBOM) into `release/`.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { contentFaults, staleFaults } from './release/contents.mjs'
import { descriptionFaults } from './release/description.mjs'
import { installFaults } from './release/install.mjs'
import { instructions } from './release/instructions.mjs'
import { componentFaults } from './release/licenses.mjs'
import { packAll, readWorkspace, root } from './release/packages.mjs'
import { resolutionFaults } from './release/resolution.mjs'
import { versionFaults } from './release/versions.mjs'

if (!isCheck()) {
  console.error(
    'npm run release -- --check packs every package, checks it as its users get it, and prints what a publisher types. It publishes nothing.',
  )
  process.exit(2)
}
const folder = join(root, 'release')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
const workspace = readWorkspace()
const faults = []
await step('versions, changelog, fixture', () => versionFaults(workspace))
await step('API description', descriptionFaults)
const packed = await step('packages', () => packAll(workspace, folder))
await step('contents', () => [...packed.flatMap(contentFaults), ...packed.flatMap(staleFaults)])
await step('publint, attw', () => resolutionFaults(packed))
await step('components and licences', () => componentFaults(folder))
await step('installed in an empty folder', () => installFaults(packed))
for (const fault of faults) console.error(`FAILED: ${fault}`)
if (faults.length > 0) process.exit(1)
console.log(instructions({ workspace, packed }))

function isCheck() {
  try {
    return parseArgs({ options: { check: { type: 'boolean', default: false } } }).values.check
  } catch ({ message }) {
    console.error(message)
    return false
  }
}

/** Prints how long a step took, and its notes. Collects its faults, which are texts. */
async function step(name, work) {
  const startedAt = performance.now()
  const result = await work()
  const found = result.filter((each) => typeof each === 'string')
  faults.push(...found)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const notes = result.flatMap(({ note = [] }) => note)
  console.log(
    [`${found.length === 0 ? 'ok' : 'FAILED'}: ${name} (${seconds} s)`, ...notes].join('; '),
  )
  return result
}
