/**
 * What others build on says what its signature cannot: every export of the contract, the client,
 * the ports and the settings has a docstring.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const packages = fileURLToPath(new URL('../packages/', import.meta.url))

const folders = ['protocol/src/', 'client/src/', 'server/src/config/']
const ports = [
  'blobs/blob-store',
  'bus/bus',
  'media/media',
  'outbox/consumer',
  'push/certificate',
  'push/core-channel',
  'push/notification',
  'push/outcomes',
  'push/port',
].map((port) => `server/src/${port}.ts`)

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|function|class|interface|type|enum) (\w+)/

/** @returns the names that a source exports without a docstring right above */
function undocumented(source: string): string[] {
  const lines = source.split('\n')
  return lines.flatMap((line, index) => {
    const name = declaration.exec(line)?.[1]
    const above = lines.slice(0, index).findLast((each) => !each.startsWith('// biome-ignore'))
    return name === undefined || above?.endsWith('*/') ? [] : [name]
  })
}

it('exports of the contract, the client, the ports and the settings have docstrings', () => {
  const files = folders.flatMap((folder) =>
    readdirSync(packages + folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
      .map((name) => folder + name),
  )
  const found = [...files, ...ports].flatMap((file) =>
    undocumented(readFileSync(packages + file, 'utf8')).map((name) => `${file}: ${name}`),
  )
  expect(files.length).toBeGreaterThan(50)
  expect(found).toEqual([])
})

it('an export without a docstring is found', () => {
  const source = `/** One. */
export const one = 1

export const two = 2
/** Three. */

export async function three() {}
/**
 * Four.
 */
export interface Four {}
const five = 5`
  expect(undocumented(source)).toEqual(['two', 'three'])
})
