#!/usr/bin/env node
/**
 * The last step of a build: puts what is loaded together into few files, because a process takes longer to find, read and link hundreds
 * of modules than to run what is in them, and keeps something of each in memory. First each library of very many files, into the one
 * module of ours that stands for it; then the command, with all that it loads of our own, into `packages/server/dist/bundle`. Without
 * this step everything works the same, but starts slowly.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const server = join(root, 'packages/server/dist')
const bundle = join(server, 'bundle')

/** The modules that stand for a library, as the compiler leaves them: they name it, and nothing else does. */
export const standIns = new Map([
  ['@sinclair/typebox', 'packages/protocol/dist/typebox.js'],
  ['kysely', 'packages/server/dist/db/kysely.js'],
  ['prom-client', 'packages/server/dist/observability/prom-client.js'],
])

/** What the command loads by name and not by an import, see lib/system/late-loader.ts; `main` is the command. */
export const entries = ['main', 'blobs/s3/s3-store', 'push/providers/providers']

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [library, standIn] of standIns) await bundleLibrary(library, join(root, standIn))
  if (existsSync(join(server, 'main.js'))) await bundleCommand()
}

async function bundleLibrary(library, file) {
  if (!existsSync(file) || !readFileSync(file, 'utf8').includes(`from '${library}'`)) return
  const { build } = await import('rolldown')
  await build({ input: file, platform: 'node', logLevel: 'warn', output: { file, minify: true } })
}

async function bundleCommand() {
  const { build } = await import('rolldown')
  const made = `${bundle}.new`
  await build({
    input: Object.fromEntries(entries.map((name) => [name, join(server, `${name}.js`)])),
    platform: 'node',
    logLevel: 'warn',
    // Nothing is left out: what looks as if it had no effect may be there for what it throws.
    treeshake: false,
    external: (id) => !/^[./]|^@hermod\/protocol/.test(id),
    plugins: [{ name: 'hermod', transform: keepAddress, generateBundle: escapeText }],
    output: {
      dir: made,
      cleanDir: true,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      intro: ({ fileName }) =>
        `const distFolder = new URL('${'../'.repeat(fileName.split('/').length)}', import.meta.url)`,
      comments: false,
      minify: false,
    },
  })
  rmSync(bundle, { recursive: true, force: true })
  renameSync(made, bundle)
}

/**
 * Modules go on to know their own address, since threads, procedures and assets are found by it. What loads late finds the modules of the
 * bundle, so that no class is there twice.
 */
function keepAddress(code, id) {
  if (!id.startsWith(server) || !code.includes('import.meta.url')) return null
  const path = relative(server, id)
  const address = (folder) => `new URL('${folder}${path}', distFolder).href`
  return code
    .replaceAll('lateLoader(import.meta.url)', `lateLoader(${address('bundle/')})`)
    .replaceAll('import.meta.url', address(''))
}

/** Text of one byte a character takes half the memory, and one other character would double that of its whole file. */
function escapeText(_, files) {
  for (const file of Object.values(files))
    file.code = file.code?.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
}
