/** The first notification of docs/guides/push.md, with the simulated gateways in another terminal. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { GuideShell } from '../support/guides/guide-shell.js'

const all = blocksRunBy(import.meta.filename)
const blocks = all.filter(({ language }) => language === 'sh')
const tasks = all.filter(({ language, text }) => language === 'json' && text.includes('audience'))
/** Texts of blocks, and what their last line prints in the end. */
const results: readonly (readonly [string, RegExp])[] = [
  ['Are you there?', /The gateway accepted it/],
  ['"title\\":\\"News', /"vendor_h_sent":1/],
  ['dead-phone', /The token was taken from the device/],
  ['Good news', /"vendor_h_received":1/],
]
const simulator = 'npx hermod push-simulator'

it('push guide: a notification, a dead token and a receipt, as the simulated phone and the counts show', async () => {
  await using shell = await GuideShell.start()
  const certificate = join(shell.folder.path, 'simulator/vendor_h.json')
  const start = async (text: string) => {
    await shell.interrupt()
    const block = { page: 'docs/guides/push.md', line: 0, language: 'sh', text }
    await shell.serve(block, /vendor_x/)
    await waitFor(() => existsSync(certificate), { what: certificate, timeoutMs: 20_000 })
  }
  const found: string[] = []
  for (const block of blocks) {
    if (block.text.startsWith(simulator)) {
      await start(block.text)
      continue
    }
    const output = await shell.run(block)
    if (output.startsWith(simulator)) await start(output)
    const awaited = results.find(([text]) => block.text.includes(text))?.[1]
    const again = { ...block, text: block.text.trimEnd().split('\n').at(-1) ?? '' }
    if (!awaited) continue
    found.push(block.text)
    await waitFor(async () => awaited.test(await shell.run(again)), {
      what: `${awaited} in ${block.page}:${block.line}`,
      timeoutMs: 30_000,
    })
  }
  expect(found).toHaveLength(results.length)

  expect(tasks).toHaveLength(4)
  for (const { text } of tasks)
    await shell.server.api.admin().succeed('POST', '/push/notify', { body: JSON.parse(text) })
})
