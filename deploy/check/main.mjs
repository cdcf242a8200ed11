#!/usr/bin/env node
/**
 * Checks the files of deploy/ with the programs that read them, and runs them:
 *
 *     npm run deploy:check                 all parts
 *     npm run deploy:check -- files        one or several of them
 *
 * A part whose programs are missing is left out, and says so.
 */
import { composeParts } from './compose.mjs'
import { fileChecks } from './files.mjs'
import { imageChecks } from './image.mjs'
import { manifestChecks } from './manifests.mjs'
import { LeftOut } from './tools.mjs'

/** In this order: the composed services run the image. */
const parts = {
  files: fileChecks,
  manifests: manifestChecks,
  image: imageChecks,
  compose: composeParts,
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) {
  console.error(`unknown part ${unknown.join(', ')}; parts: ${Object.keys(parts).join(', ')}`)
  process.exit(2)
}
let failed = 0
for (const [name, checks] of Object.entries(parts))
  if (chosen.length === 0 || chosen.includes(name))
    for (const [title, check] of checks) await run(`${name}: ${title}`, check)
if (failed > 0) process.exit(1)

/** Prints the outcome of a check, how long it took, and its notes. */
async function run(title, check) {
  const startedAt = performance.now()
  try {
    const note = await check()
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`ok: ${title} (${seconds} s)${note ? `; ${note}` : ''}`)
  } catch (error) {
    if (error instanceof LeftOut) return console.log(`left out: ${title}, because ${error.message}`)
    failed++
    console.log(`FAILED: ${title}: ${error.message}`)
  }
}
