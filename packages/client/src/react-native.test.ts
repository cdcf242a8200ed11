import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** What React Native lacks, or has in part; a page and Node have modules of their own. */
const missing =
  /\.(toSorted|toReversed|toSpliced|with)\(|\bnew URL\(|URLSearchParams|structuredClone|randomUUID|AbortSignal\.(any|timeout)/

it('client: nothing outside of the modules for browsers and Node uses what React Native lacks', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.ts$/.test(name) && !/\.test\.ts$|^(browser|node|tabs)\/|indexed-db/.test(name),
  )
  const found = files.flatMap((name) =>
    readFileSync(join(import.meta.dirname, name), 'utf8')
      .split('\n')
      .filter((line) => missing.test(line) && !line.trim().startsWith('//'))
      .map((line) => `${name}: ${line.trim()}`),
  )
  expect(files.length).toBeGreaterThan(80)
  expect(found).toEqual([])
})
