import { expect, it } from 'vitest'
import { commentedFiles, missingCommentedFiles, missingPaths, namedPaths } from './named-paths.js'

it('paths of a page are files and folders in backticks, each once', () => {
  const page =
    'See `db/locking.ts`, `db/`, `db/locking.ts` and `packages/server/test/service/walk.test.ts`.'
  expect(namedPaths(page)).toEqual([
    'db/locking.ts',
    'db/',
    'packages/server/test/service/walk.test.ts',
  ])
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

it('files that comments of a source name are found with and without their folders, and nothing else of the source', () => {
  const source = [
    '/** See db/locking.ts and',
    ' * docs/decisions/028-broadcasts.md; every <x>-store.ts. */',
    "import { a } from './other.ts'",
    "const url = 'https://example.com/page.md'",
    'run() // as in model.ts, unlike https://example.com/page.md',
  ].join('\n')
  expect(commentedFiles(source)).toEqual([
    'db/locking.ts',
    'docs/decisions/028-broadcasts.md',
    'model.ts',
  ])
})

it('a file that a comment names by the end of its path exists, another one is reported', () => {
  const sources = [{ path: 'a.ts', text: '// db/locking.ts, locking.ts, old/locking.ts' }]
  expect(missingCommentedFiles(sources, ['src/db/locking.ts'])).toEqual([
    'a.ts names old/locking.ts in a comment, which does not exist',
  ])
})

it('a file that a comment names from its own folder is looked for there and nowhere else', () => {
  const files = ['src/db/a.ts', 'src/db/locking.ts', 'src/model.ts', 'docs/guide.md']
  const text = '// ./locking.ts, ../model.ts, ../../docs/guide.md; ./model.ts, ../locking.ts'
  expect(missingCommentedFiles([{ path: 'src/db/a.ts', text }], files)).toEqual([
    'src/db/a.ts names ./model.ts in a comment, which does not exist',
    'src/db/a.ts names ../locking.ts in a comment, which does not exist',
  ])
})

it('a file that a comment names outside the repository is reported', () => {
  const sources = [{ path: 'src/a.ts', text: '// ../../notes/plan.md' }]
  expect(missingCommentedFiles(sources, ['notes/plan.md'])).toEqual([
    'src/a.ts names ../../notes/plan.md in a comment, which is outside the repository',
  ])
})
