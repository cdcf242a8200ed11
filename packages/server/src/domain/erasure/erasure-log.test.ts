import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { erasuresFile } from '../../backup/target.js'
import { appendErasure, type ErasureLine, readErasures } from './erasure-log.js'

it('an erasure after a line that a crash has cut is read, and lines that are no erasures are counted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-erasures-'))
  const line = {
    app_id: 'a',
    user_id: 1,
    at: 5,
    messages: 'delete',
    reason: 'wanted',
  } as ErasureLine
  try {
    await appendErasure(folder, line)
    appendFileSync(join(folder, erasuresFile), '{"app_id":"a","us')
    await appendErasure(folder, { ...line, at: 6 })
    appendFileSync(join(folder, erasuresFile), `${JSON.stringify({ ...line, messages: 'x' })}\n`)
    const { erasures, unreadable } = await readErasures(folder)
    expect(erasures.map(({ at }) => at)).toEqual([5, 6])
    expect(unreadable).toBe(2)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
