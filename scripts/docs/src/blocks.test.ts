import { expect, it } from 'vitest'
import { badBlocks, blocksOf, listedBlocks, programOf } from './blocks.js'

const page = `<!-- run: a.test.ts -->
# Title

\`\`\`sh
one
\`\`\`

<!-- not run: needs a network -->
\`\`\`sh
two
\`\`\`

1. A step

   <!-- file: users.csv -->
   \`\`\`csv
   a,b
   \`\`\`

\`\`\`js
// c.mjs
three
\`\`\`
`

function problems(text: string): string[] {
  return badBlocks(blocksOf('p.md', text), (path) => path === 'a.test.ts')
}

it('a block has the marks before it, or those before the first heading of its page', () => {
  const blocks = blocksOf('p.md', page)
  expect(blocks.map(({ line, test, reason, file }) => [line, test, reason, file])).toEqual([
    [5, 'a.test.ts', undefined, undefined],
    [10, undefined, 'needs a network', undefined],
    [17, 'a.test.ts', undefined, 'users.csv'],
    [21, 'a.test.ts', undefined, 'c.mjs'],
  ])
  expect(blocks.map(programOf)).toEqual(['one\n', 'two\n', 'a,b\n', 'three\n'])
  expect(problems(page)).toEqual([])
})

it('a mark is for the next block alone, and not for one after a text', () => {
  const text = '# T\n<!-- not run: why -->\ntext\n```sh\n```\n'
  expect(problems(text)).toEqual([expect.stringContaining('p.md:5: this block has no mark')])
})

it('blocks without a mark, with two, and with a missing test are reported, samples are not', () => {
  const block = '```sh\n```\n'
  expect(problems(`# T\n${block}\`\`\`json\n\`\`\`\n`)).toHaveLength(1)
  expect(problems(`# T\n<!-- run: b.test.ts -->\n${block}`)).toEqual([
    'p.md:4: this block names the test b.test.ts, which does not exist',
  ])
  const both = `# T\n<!-- run: a.test.ts -->\n<!-- not run: why -->\n${block}`
  expect(problems(both)).toEqual(['p.md:5: this block has two marks, run and not run'])
})

it('the list has the blocks of a page by what runs them', () => {
  expect(listedBlocks(blocksOf('p.md', page))).toBe(
    'p.md\n  not run: needs a network\n    1: sh 10\np.md\n  run: a.test.ts\n    2: sh 5, js 21\n',
  )
})
