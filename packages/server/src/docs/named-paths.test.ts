import { expect, it } from 'vitest'
import { missingPaths, namedPaths } from './named-paths.js'

it('paths of a page are files and folders in backticks, each once', () => {
  const page =
    'See `db/locking.ts`, `db/`, `db/locking.ts` and `packages/server/test/walk.test.ts`.'
  expect(namedPaths(page)).toEqual(['db/locking.ts', 'db/', 'packages/server/test/walk.test.ts'])
})

it('other text in backticks is no path of a page', () => {
  const page = '`POST /group/kick`, `<x>-store.ts`, `domain/**/*-store`, `npm run docs`, `tx`'
  expect(namedPaths(page)).toEqual([])
})

it('a path that does not exist is reported with its page', () => {
  expect(missingPaths('guide.md', '`a/b.ts` and `a/c.ts`', (path) => path === 'a/b.ts')).toEqual([
    'guide.md names a/c.ts, which does not exist',
  ])
})
