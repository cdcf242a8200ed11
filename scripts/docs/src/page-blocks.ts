/** The blocks of all pages of the repository. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Block, blocksOf } from './blocks.js'

const root = resolve(import.meta.dirname, '../../..')
const tops = ['bench', 'deploy', 'docs', 'examples', 'packages', '.']
const foreign = /(^|\/)(node_modules|dist)\//

function pagePaths(): string[] {
  return tops.flatMap((top) =>
    readdirSync(join(root, top), { recursive: top !== '.', encoding: 'utf8' })
      .map((path) => join(top, path).replaceAll('\\', '/'))
      .filter((path) => path.endsWith('.md') && !foreign.test(path)),
  )
}

/** Returns the blocks of all pages in the order of the pages. */
export function allBlocks(): Block[] {
  return pagePaths()
    .sort()
    .flatMap((path) => blocksOf(path, readFileSync(join(root, path), 'utf8')))
}

/**
 * Returns the blocks that are marked for a test.
 * @param test the absolute path of the test
 */
export function blocksRunBy(test: string): Block[] {
  const path = test.slice(root.length + 1).replaceAll('\\', '/')
  return allBlocks().filter((block) => block.test === path)
}
