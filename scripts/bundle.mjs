#!/usr/bin/env node
/**
 * The last step of a build: bundles modules that are loaded together into few files. A process
 * takes longer to find, read and link hundreds of modules than to run their code, and keeps data
 * about each in memory. First it bundles each library of very many files into our one module that
 * stands for it, then the command with all our modules that it loads into
 * `packages/server/dist/bundle`. Without this step everything works the same, but starts slowly. At
 * last it makes the page of `hermod demo` from the example examples/chat. Bundles have the licences of
 * the packages in them beside them.
 */
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const server = join(root, 'packages/server/dist')
const bundle = join(server, 'bundle')
const example = join(root, 'examples/chat')
const demo = join(root, 'packages/demo/dist')

/**
 * Modules that stand for a library, as the compiler emits them; no other module imports the
 * library.
 */
export const standIns = new Map([
  ['@sinclair/typebox', 'packages/protocol/dist/typebox.js'],
  ['kysely', 'packages/server/dist/db/kysely.js'],
  ['prom-client', 'packages/server/dist/observability/prom-client.js'],
])

/**
 * Modules that the command loads by name instead of an import, see lib/system/late-loader.ts;
 * `main` is the command.
 */
export const entries = ['main', 'blobs/s3/s3-store', 'push/providers/providers']

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [library, standIn] of standIns) await bundleLibrary(library, join(root, standIn))
  if (existsSync(join(server, 'main.js'))) await bundleCommand()
  if (existsSync(join(demo, 'command.js'))) await bundlePage()
}

async function bundleLibrary(library, file) {
  if (!existsSync(file) || !readFileSync(file, 'utf8').includes(`from '${library}'`)) return
  const { build } = await import('rolldown')
  const output = { file, minify: true }
  writeLicenses(
    await build({ input: file, platform: 'node', logLevel: 'warn', output }),
    licensesBeside(file),
  )
}

async function bundleCommand() {
  const { build } = await import('rolldown')
  const made = `${bundle}.new`
  const built = await build({
    input: Object.fromEntries(entries.map((name) => [name, join(server, `${name}.js`)])),
    platform: 'node',
    logLevel: 'warn',
    // Keeps everything: code without an apparent effect may throw.
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
  writeLicenses(built, join(made, 'licenses.txt'))
  rmSync(bundle, { recursive: true, force: true })
  renameSync(made, bundle)
}

/** The page of `hermod demo`: its script in one file, and its other files as they are. */
async function bundlePage() {
  const { build } = await import('rolldown')
  const page = join(demo, 'page')
  const built = await build({
    input: { chat: join(example, 'dist/main.js') },
    platform: 'browser',
    logLevel: 'warn',
    // The 'use client' of the client has no meaning in a bundle.
    onLog: (level, log, next) => log.code === 'MODULE_LEVEL_DIRECTIVE' || next(level, log),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    output: { dir: page, cleanDir: true, entryFileNames: '[name].js', minify: true },
  })
  writeLicenses(built, join(page, 'licenses.txt'))
  for (const name of ['index.html', 'icon.svg', 'styles'])
    cpSync(join(example, name), join(page, name), { recursive: true })
}

/** Licences ask for their text beside each copy of the code. */
function writeLicenses({ output }, path) {
  const texts = output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap(licensesOf))
  writeFileSync(path, [...new Set(texts)].sort().join('\n'))
}

/** @returns the licence of the package of a module, or those of the packages that are bundled in it */
function licensesOf(module) {
  const [folder, name] = /^.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(module) ?? []
  if (folder === undefined) {
    const beside = licensesBeside(module)
    return existsSync(beside) ? [readFileSync(beside, 'utf8')] : []
  }
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  if (file === undefined) throw new Error(`${name} is bundled, and has no file with its licence`)
  return [`${name}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`]
}

function licensesBeside(module) {
  return module.replace(/\.js$/, '.licenses.txt')
}

/**
 * Modules still know their own address, by which threads, procedures and assets are found.
 * Late-loaded modules use the modules of the bundle, so that no class exists twice.
 */
function keepAddress(code, id) {
  if (!id.startsWith(server) || !code.includes('import.meta.url')) return null
  const path = relative(server, id)
  const address = (folder) => `new URL('${folder}${path}', distFolder).href`
  return code
    .replaceAll('lateLoader(import.meta.url)', `lateLoader(${address('bundle/')})`)
    .replaceAll('import.meta.url', address(''))
}

/**
 * A text of one byte per character takes half the memory, and one other character would double that
 * of its whole file.
 */
function escapeText(_, files) {
  for (const file of Object.values(files))
    file.code = file.code?.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
}
