/** Bundles of the client: the sizes of its entries, and the page of the benchmark. */
import { readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type RolldownOptions, rolldown } from 'rolldown'

/** An entry of the package, bundled and minified as an app does. */
export interface EntrySize {
  /** The name by which apps import it; `@hermod/client/core`: the core alone, which no app imports. */
  readonly entry: string
  readonly gzippedBytes: number
  readonly minifiedBytes: number
  /** Its modules by size, the largest first. */
  readonly modules: readonly { readonly name: string; readonly bytes: number }[]
}

const checkout = resolve(import.meta.dirname, '../../..')
const clientFolder = join(checkout, 'packages/client')

/**
 * Measures each entry, and the core alone. What apps have anyway (React, ws, the entry for browsers) is
 * left out.
 */
export async function entrySizes(): Promise<EntrySize[]> {
  const { exports } = JSON.parse(readFileSync(join(clientFolder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly default?: string }>>
  }
  const sizes = [await sizeOf('core', './dist/core/core.js')]
  for (const [entry, { default: file }] of Object.entries(exports))
    if (file?.endsWith('.js')) sizes.push(await sizeOf(entry, file))
  return sizes
}

async function sizeOf(entry: string, file: string): Promise<EntrySize> {
  const folder = join(clientFolder, 'dist', 'react') + sep
  const isReact = entry === './react'
  const { code, modules } = await bundle({
    input: join(clientFolder, file),
    platform: entry === './node' ? 'node' : 'browser',
    external: (id, importer) =>
      /^(react|ws$|node:)/.test(id) ||
      (isReact && importer !== undefined && !resolve(importer, '..', id).startsWith(folder)),
  })
  return {
    entry: join('@hermod/client', entry),
    gzippedBytes: gzipSync(code, { level: 9 }).length,
    minifiedBytes: Buffer.byteLength(code),
    modules: Object.entries(modules)
      .map(([id, { renderedLength }]) => ({ name: relative(checkout, id), bytes: renderedLength }))
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => b.bytes - a.bytes),
  }
}

/** @returns the script of the benchmark's page with the client */
export async function bundlePage(): Promise<string> {
  const input = join(import.meta.dirname, 'page.js')
  return (await bundle({ input, platform: 'browser' })).code
}

async function bundle(options: RolldownOptions) {
  const build = await rolldown({ ...options, logLevel: 'warn' })
  try {
    const { output } = await build.generate({ format: 'esm', minify: true, comments: false })
    return output[0]
  } finally {
    await build.close()
  }
}
