/** The pages that a reader follows in a shell: each block is run as it is, in the order of the page. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { freePort, isFullRun } from '@hermod/testkit'
import { describe, it } from 'vitest'
import { type Block, blocksOf, programOf } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { GuideShell } from '../support/guides/guide-shell.js'
import { missingLines } from '../support/guides/shown-lines.js'

const root = resolve(import.meta.dirname, '../../../..')
const blocks = blocksRunBy(import.meta.filename)
const pages = [...new Set(blocks.map(({ page }) => page))]

/** The page of `npm test`, which also sends, reads, kills and fetches; the full run has all. */
const short = ['README.md']

/** @returns what a block printed that the page does not say */
function surprises(block: Block, output: string, page: string): string[] {
  const place = `${block.page}:${block.line}`
  const lines = output.split('\n')
  const promised = [...block.text.matchAll(/&& echo ([\w ]+)$/gm)].map(([, word = '']) => word)
  return [
    ...promised
      .filter((word) => !lines.includes(word))
      .map((word) => `${place} printed no line "${word}"`),
    ...lines
      .filter((line) => !page.includes(/^\{"code":(?!200)(\d+)/.exec(line)?.[1] ?? ''))
      .map((line) => `${place} was refused, which the page does not say: ${line}`),
  ]
}

describe('pages with commands', () => {
  for (const page of pages) {
    if (!isFullRun && !short.includes(page)) continue

    it(`${page}: each block runs, prints what the page shows, and is refused only as the page says`, async () => {
      const text = readFileSync(resolve(root, page), 'utf8')
      await using shell = await GuideShell.start({
        env: { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' },
        replace: { 3000: String(await freePort()) },
      })
      for (const block of blocksOf(page, text))
        if (block.file !== undefined) shell.write(block.file, programOf(block))
      const found: string[] = []
      let output = ''
      for (const block of blocks.filter((each) => each.page === page && !each.file)) {
        if (block.language === 'sh') {
          output = await shell.run(block)
          found.push(...surprises(block, output, text))
        } else if (block.language === 'json')
          for (const line of missingLines(block.text, output))
            found.push(`${page}:${block.line} shows what was not printed: ${line}\n${output}`)
      }
      if (found.length > 0) throw new Error(found.join('\n'))
    })
  }
})
