import { expect, it } from 'vitest'
import { anchorOf, brokenLinks } from './links.js'

const paths = ['docs/a.md', 'docs/guides/b.md', 'docs/images/c.png']

function broken(text: string): string[] {
  const pages = {
    'docs/a.md': '# A\n\n## Data `x_y` (1)\n\n## Data `x_y` (1)\n',
    'docs/guides/b.md': text,
  }
  return brokenLinks(pages, (path) => paths.includes(path))
}

it('anchors have the words of the heading in small letters, also those of links', () => {
  expect(anchorOf('`/user/list`, the [first_page](b.md) (1)')).toBe('userlist-the-first_page-1')
})

it('links to files, to headings and to other sites are not reported', () => {
  const text =
    '# B\n[1](../a.md) [2](../a.md#data-x_y-1) [3](../a.md#data-x_y-1-1) [4](#b) [5](../images/c.png) [6](https://example.com/x.md#y)'
  expect(broken(text)).toEqual([])
})

it('links to missing files and headings are reported with their page, those in blocks of code are not', () => {
  expect(broken('[1](c.md) [2](../a.md#other) [3](#a)\n```\n[4](d.md)\n```\n')).toEqual([
    'docs/guides/b.md links to c.md, which does not exist',
    'docs/guides/b.md links to ../a.md#other, which does not exist',
    'docs/guides/b.md links to #a, which does not exist',
  ])
})
