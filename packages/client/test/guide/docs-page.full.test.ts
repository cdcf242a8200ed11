/** The calls in TypeScript that the page /docs shows. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type Operation, operations } from '@hermod/protocol'
import { openApiDocument, referenceSections } from '@hermod/protocol/openapi'
import { expect, it } from 'vitest'
import { openApiExamples } from '../../../server/dist/http/routes/openapi-examples.js'
import { clientCall, fetchCall } from '../../../server/dist/http/routes/reference/calls.js'
import { GuideFolder } from './programs.js'

const document = openApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set(operations.map(({ id }) => id)),
  examples: openApiExamples(),
})

const beginning = `import { createClient } from '@hermod/client'
declare const url: string, appId: string, token: string, adminToken: string, operatorToken: string
declare const file: Blob
const client = createClient({ url, appId, token: () => token })
`

/** A module with a function for each call. */
function allCalls(): string {
  const definitions = new Map<string, Operation>(operations.map((each) => [each.id, each]))
  const described = referenceSections(document).flatMap((section) => section.operations)
  const calls = described.flatMap((each) => {
    const operation = definitions.get(each.id)
    if (operation === undefined) throw new Error(`no operation ${each.id}`)
    return [fetchCall(each, operation), clientCall(each, operation) ?? '']
  })
  return calls.map((call, index) => `export async function f${index}() {\n${call}\n}\n`).join('')
}

// The compiler needs some seconds.
it('compile, those of the client with the types of each operation', () => {
  using folder = new GuideFolder()
  folder.write('package.json', '{"type":"module"}')
  folder.write('calls.ts', beginning + allCalls())
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom'],
    types: [],
  }
  folder.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['calls.ts'] }))
  const compiler = join(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler], { cwd: folder.path, encoding: 'utf8' })
  expect(stdout).toBe('')
})
