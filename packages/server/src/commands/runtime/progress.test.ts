import { PassThrough } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { openProgress } from './progress.js'

/** A stream that counts as a terminal, or not. */
function terminal(isTTY: boolean) {
  const out = Object.assign(new PassThrough(), { isTTY, columns: 80 })
  let written = ''
  out.on('data', (chunk) => {
    written += chunk
  })
  return { out, text: () => written }
}

it('a terminal gets a bar; until the total is known it stays at its beginning, with a count', async () => {
  const { out, text } = terminal(true)
  const progress = await openProgress(out, 0)
  try {
    progress.show(3, 'reading')
    await vi.waitUntil(() => text().includes(' 0% reading (3)'))
    progress.show(1, 'copying', 4)
    await vi.waitUntil(() => text().includes(' 25% copying'))
  } finally {
    progress.close()
  }
})

it.each([true, false])(
  'lines have no characters that a terminal obeys (terminal: %s)',
  async (isTTY) => {
    const { out, text } = terminal(isTTY)
    const progress = await openProgress(out, 1)
    try {
      progress.print('line 1 (x\u009b2J): no')
      await vi.waitUntil(() => text().includes('line 1 (x\\u009b2J): no\n'))
    } finally {
      progress.close()
    }
  },
)

it('a file gets nothing', async () => {
  const { out, text } = terminal(false)
  const progress = await openProgress(out, 4)
  progress.show(1, 'copying')
  progress.close()
  expect(text()).toBe('')
})
