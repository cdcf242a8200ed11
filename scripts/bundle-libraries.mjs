#!/usr/bin/env node
/**
 * The last step of a build: puts each library of very many files into the one module of ours that stands for it, because a process takes
 * longer to find and read hundreds of files than to run what is in them. Without this step everything works the same, but starts slowly.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The modules that stand for a library, as the compiler leaves them: they name it, and nothing else does. */
export const standIns = new Map([
  ['@sinclair/typebox', 'packages/protocol/dist/typebox.js'],
  ['kysely', 'packages/server/dist/db/kysely.js'],
  ['prom-client', 'packages/server/dist/observability/prom-client.js'],
])

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleAll()

async function bundleAll() {
  for (const [library, standIn] of standIns) {
    const file = join(root, standIn)
    if (existsSync(file) && readFileSync(file, 'utf8').includes(`from '${library}'`))
      await bundle(file)
  }
}

async function bundle(file) {
  const { build } = await import('rolldown')
  await build({ input: file, platform: 'node', logLevel: 'warn', output: { file, minify: true } })
}
