import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const guides = resolve(import.meta.dirname, '../../../../docs/guides')

/** Returns the only code block of a language in a guide. */
export function guideBlock(guide: string, language: string): string {
  const text = readFileSync(resolve(guides, guide), 'utf8')
  const blocks = [...text.matchAll(/^```(\S+)\n([\s\S]*?)^```$/gm)].filter(
    ([, name]) => name === language,
  )
  if (blocks.length !== 1) throw new Error(`${guide} has ${blocks.length} blocks of ${language}`)
  return blocks[0]?.[2] ?? ''
}
