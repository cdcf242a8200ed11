/** The pages that a reader follows in a shell: every block is run as it stands there, in the order of the page. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isFullRun } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { blocksOf, programOf } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { GuideShell } from '../support/guides/guide-shell.js'
import { missingLines } from '../support/guides/shown-lines.js'

const root = resolve(import.meta.dirname, '../../../..')
const blocks = blocksRunBy(import.meta.filename)
const pages = [...new Set(blocks.map(({ page }) => page))]

/** Pages that take longer than a second or two. */
const long: readonly string[] = []

/** Codes of refusals in an output. */
function refusals(output: string): string[] {
  return [...output.matchAll(/^\{"code":(\d+)/gm)].map(([, code = '']) => code)
}

describe('pages with commands', () => {
  for (const page of pages) {
    if (long.includes(page) && !isFullRun) continue

    it(`${page}: each block runs, prints what the page shows, and is refused only as the page says`, async () => {
      const text = readFileSync(resolve(root, page), 'utf8')
      await using shell = await GuideShell.start({ env: { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' } })
      for (const block of blocksOf(page, text))
        if (block.file !== undefined) shell.write(block.file, programOf(block))
      let output = ''
      for (const block of blocks.filter((each) => each.page === page && !each.file)) {
        if (block.language === 'sh') output = await shell.run(block)
        else expect.soft(missingLines(block.text, output), `${page}:${block.line}`).toEqual([])
        if (block.language !== 'sh') continue
        for (const [, word] of block.text.matchAll(/&& echo ([\w ]+)$/gm))
          expect.soft(output.split('\n'), `${page}:${block.line}`).toContain(word)
        for (const code of refusals(output))
          if (code !== '200') expect.soft(text, `${page}:${block.line}: ${output}`).toContain(code)
      }
    })
  }
})
