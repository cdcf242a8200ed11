/** The examples of the API description, recorded anew. */
import { fileURLToPath } from 'node:url'
import type { OperationExamples } from '@hermod/protocol/openapi'
import { anyBackend } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { recordExamples } from '../support/examples/recording.js'

const path = fileURLToPath(
  new URL('../../../protocol/assets/openapi-examples.json', import.meta.url),
)

/** A line for each part, so that a diff shows what changed. */
function fileText(examples: OperationExamples): string {
  const entries = Object.entries(examples).map(([id, example]) => {
    const parts = Object.entries(example).map(
      ([part, value]) => `    ${JSON.stringify(part)}: ${JSON.stringify(value)}`,
    )
    return `  ${JSON.stringify(id)}: {\n${parts.join(',\n')}\n  }`
  })
  return `{\n${entries.join(',\n')}\n}\n`
}

// Backups and erasures take their time; the shapes of the examples are checked in any run.
it('examples of the API description: are what the service answers now', async () => {
  const [backend] = anyBackend()
  if (backend === undefined) throw new Error('no database')
  await expect(fileText(await recordExamples(backend))).toMatchFileSnapshot(path)
})
