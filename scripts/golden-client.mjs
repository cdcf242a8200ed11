#!/usr/bin/env node
/**
 * Packs the entry for Node of the built client into one file, as the fixture of
 * `packages/client/test/golden-client.test.ts`. Run it on the revision whose client is to be kept.
 */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const client = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages/client')
const build = await rolldown({
  input: join(client, 'dist/node.js'),
  platform: 'node',
  external: [/^node:/, 'ws'],
  logLevel: 'warn',
})
await build.write({
  file: join(client, 'test/fixtures/golden-client.js'),
  format: 'esm',
  minify: true,
  codeSplitting: false,
})
await build.close()
