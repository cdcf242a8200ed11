import { describe, expect, it } from 'vitest'
import { type FileLink, linkedFileId, linkText, readLinkText } from './file-links.js'

const key = Buffer.alloc(32, 5)
const link: FileLink = {
  appId: 'shop',
  fileId: '7d0c5tzmv4fhq2n8r1xk3apwbe',
  recipient: { type: 'group', id: 1536692975726657 },
  makerId: 1536692975726656,
  createdAt: 1_800_000_000_000,
  expiresAt: 2_115_360_000_000,
}
/** It stands in messages as this, so every later version has to read it. */
const text =
  'WyJzaG9wIiwiN2QwYzV0em12NGZocTJuOHIxeGszYXB3YmUiLDIsMTUzNjY5Mjk3NTcyNjY1NywxNTM2NjkyOTc1NzI2NjU2LDE4MDAwMDAwMDAwMDAsMjExNTM2MDAwMDAwMF0' +
  'yMQwQ_6FzbJkaSWVjczloSaDYmtLneU_BttW3mcLFFg'

describe('the text of a link', () => {
  it('is the same for ever', () => {
    expect(linkText(key, link)).toBe(text)
    expect(readLinkText(key, text)).toEqual(link)
  })

  it('is nothing under another key, and still tells which file it is about', () => {
    expect(readLinkText(Buffer.alloc(32, 6), text)).toBeNull()
    expect(linkedFileId('shop', text)).toBe(link.fileId)
    expect(linkedFileId('elsewhere', text)).toBeNull()
  })
})
