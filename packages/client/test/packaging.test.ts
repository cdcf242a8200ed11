/** The entries of the package: their sizes and what a bundler takes into them. */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type OutputChunk, rolldown } from 'rolldown'
import { expect, it } from 'vitest'

const packageFolder = join(import.meta.dirname, '..')
const packages = join(packageFolder, '..')

/** The sizes of the entries in KB, minified and gzipped, as README.md states them. */
const sizes = { index: 57, 'core/core': 27, 'react/index': 0.6, node: 55 }

/** Bundles an entry with all that it imports, but for what an app has already. */
async function bundle(entry: keyof typeof sizes): Promise<OutputChunk> {
  const isNode = entry === 'node'
  const build = await rolldown({
    input: join(packageFolder, 'dist', `${entry}.js`),
    platform: isNode ? 'node' : 'browser',
    external: isNode ? [/^node:/, 'ws'] : ['react'],
    logLevel: 'warn',
    // A bundler for browsers leaves out what it cannot resolve: here that is a failure.
    onLog: (_level, log) => {
      // An app that is bundled has no use for it; frameworks read the file itself.
      if (log.code === 'MODULE_LEVEL_DIRECTIVE') return
      throw new Error(log.message)
    },
  })
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false })
  await build.close()
  const [chunk, ...others] = output
  expect(others).toEqual([])
  return chunk
}

const modulesOf = ({ moduleIds }: OutputChunk) => moduleIds.map((id) => relative(packages, id))

it.each(Object.entries(sizes))(
  'client package: the entry %s has the %f KB of README.md, and at most 2 % more',
  async (entry, size) => {
    const { code } = await bundle(entry as keyof typeof sizes)
    const { length } = gzipSync(code, { level: 9 })
    if (process.env.HERMOD_SHOW_FIGURES)
      console.log(`${entry}: ${code.length} bytes, ${length} gzipped`)
    expect(length).toBeLessThanOrEqual(size * 1000 * 1.02)
  },
)

it('client package: README.md states the sizes of the entries', () => {
  const text = readFileSync(join(packageFolder, 'README.md'), 'utf8')
  const stated = [
    `| ${sizes.index} KB, of which the core has ${sizes['core/core']} |`,
    ...[sizes.node, sizes['react/index']].map((size) => `| ${size} KB |`),
  ]
  expect(stated.filter((each) => !text.includes(each))).toEqual([])
})

it('client package: the entry for browsers has no module of Node, of the protocol or of another package', async () => {
  const chunk = await bundle('index')
  expect(chunk.imports).toEqual([])
  const modules = modulesOf(chunk)
  expect(modules.filter((each) => !each.startsWith('client/dist/'))).toEqual([])
  expect(modules.filter((each) => /\/node|\/react\//.test(each))).toEqual([])
  expect(modules).toContain('client/dist/stores/indexed-db-store.js')
})

it('client package: the entry for React has the hooks alone', async () => {
  const chunk = await bundle('react/index')
  expect(chunk.imports).toEqual(['react'])
  expect(modulesOf(chunk)).toEqual(['client/dist/react/index.js'])
})

it('client package: the entry for React is for the client side of frameworks that ask', () => {
  const text = readFileSync(join(packageFolder, 'dist/react/index.js'), 'utf8')
  expect(text).toMatch(/^['"]use client['"]/)
})

it('client package: the entry for Node imports ws and no module for browsers', async () => {
  const chunk = await bundle('node')
  expect(chunk.imports.filter((each) => !each.startsWith('node:'))).toEqual(['ws'])
  expect(modulesOf(chunk).filter((each) => /\/browser\/|indexed-db/.test(each))).toEqual([])
})

it('client package: an app that uses one function of it bundles nothing else', async () => {
  const input = 'virtual:app'
  const code = `export { ClientError } from ${JSON.stringify(join(packageFolder, 'dist/index.js'))}`
  const build = await rolldown({
    input,
    platform: 'browser',
    plugins: [
      {
        name: 'app',
        resolveId: (id) => (id === input ? id : null),
        load: (id) => (id === input ? code : null),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm' })
  await build.close()
  const used = Object.entries(output[0].modules).filter(
    ([, { renderedLength }]) => renderedLength > 0,
  )
  expect(used.map(([id]) => relative(packages, id))).toEqual(['client/dist/errors.js'])
})
