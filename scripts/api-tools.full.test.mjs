/** Linters and generated clients on the description of the API. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const timeoutMs = 600_000

test('description of the API: linters find no error, generated clients work', {
  timeout: timeoutMs,
}, async () => {
  const script = fileURLToPath(new URL('api-tools.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  expect(stdout.match(/: ok$/gm)).toHaveLength(8)
})
